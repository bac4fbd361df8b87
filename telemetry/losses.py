"""What telemetry could not deliver: how it is counted, and how it is said once."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final, TypeAlias

logger = logging.getLogger(__name__)

_COMPLAINT_SECONDS: Final = 60.0

Dropped: TypeAlias = Callable[[str, int], None]
"""Told of losses: the signal (`spans`, `events`, `records`) and how many items."""


Failed: TypeAlias = Callable[[str], None]
"""Told of a delivery that raised or has to be tried again: its signal."""


def ignore_drops(signal: str, count: int) -> None:
    """Count nothing: the default where nobody keeps the books."""


def ignore_failures(signal: str) -> None:
    """Count nothing: the default where nobody keeps the books."""


class LostError(Exception):
    """Items of a batch could not be delivered and will not be tried again."""

    def __init__(self, reason: str, count: int) -> None:
        self.count = count
        super().__init__(reason)


class TryAgainError(Exception):
    """Nothing of the batch was delivered; the same batch may be tried later."""


class Complaint:
    """Says a trouble once: one warning when it begins, and at most one a minute after that."""

    def __init__(self) -> None:
        self._open: set[str] = set()
        self._last = -_COMPLAINT_SECONDS

    def begin(self, signal: str, reason: str) -> None:
        """Warn, unless a trouble is already open or was a moment ago."""
        now = time.monotonic()
        if not self._open and now - self._last >= _COMPLAINT_SECONDS:
            self._last = now
            logger.warning("telemetry: %s are not delivered: %s", signal, reason)
        self._open.add(signal)

    def end(self, signal: str) -> None:
        """Note that deliveries work (again)."""
        if signal in self._open:
            self._open.discard(signal)
            logger.info("telemetry: %s are delivered again", signal)
