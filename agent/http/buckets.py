"""When each caller may ask again: in this process, or in a file that the workers share."""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

SLOTS: Final = 1 << 20
"""Places in a file; chosen by us: of 50 callers two share one in one service of 850. It takes disk
for callers who ask, a page of 4 KiB each."""
_TIME: Final = struct.Struct("d")

Change = Callable[[float], float]


class Buckets(Protocol):
    """A time for each caller: seconds on a clock that all who share it read."""

    def change(self, caller: str, change: Change) -> None:
        """Set a caller's time to what is made of it; 0 at first. An error leaves it."""


class LocalBuckets:
    """The times of one process; callers are few, and none is ever forgotten."""

    def __init__(self) -> None:
        self._times: dict[str, float] = {}

    def change(self, caller: str, change: Change) -> None:
        """Set a caller's time."""
        self._times[caller] = change(self._times.get(caller, 0.0))


class SharedBuckets:
    """The times of all processes of one machine that open the same file.

    Args:
        path: Of the file, made when it is not there.

    Raises:
        OSError: It cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.ftruncate(self._file, SLOTS * _TIME.size)  # no disk until it is written
        self._times = mmap.mmap(self._file, SLOTS * _TIME.size)

    def change(self, caller: str, change: Change) -> None:
        """Set a caller's time while no other process does; that takes microseconds."""
        digest = hashlib.sha256(caller.encode()).digest()
        place = int.from_bytes(digest[:8]) % SLOTS * _TIME.size
        fcntl.lockf(self._file, fcntl.LOCK_EX, _TIME.size, place)
        try:
            (before,) = _TIME.unpack_from(self._times, place)
            _TIME.pack_into(self._times, place, change(before))
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, _TIME.size, place)
