"""Locks that the processes of one machine share: each name is one byte of a file.

The system frees the locks of a process that ends, however it ends. Between two users of one
process they do not work: what runs at once in it waits in `agent.memory.memory.Memory`.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
from pathlib import Path
from typing import Final

_TAKEN: Final = (errno.EACCES, errno.EAGAIN)
"""What the system says of a byte that another process has locked (POSIX allows both)."""


class FileLocks:
    """The locks of one process. The file stays empty: bytes beyond its end can be locked too.

    Args:
        path: Of the file, made when it is not there and for its user alone. No other part of the
            process may open it: closing it anywhere frees every lock.

    Raises:
        OSError: It cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    async def take(self, name: str) -> bool:
        """Take a lock and return whether it was free; never waits."""
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte(name))
        except OSError as error:
            if error.errno in _TAKEN:
                return False
            raise
        return True

    def give_back(self, name: str) -> None:
        """Free a lock."""
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _byte(name))

    def close(self) -> None:
        """Free every lock."""
        os.close(self._file)


def _byte(name: str) -> int:
    """Return the place of a name: 62 bits of its hash, which every file system can address."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) >> 2
