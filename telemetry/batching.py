"""A bounded queue that a daemon thread empties in batches: keeps export and records off a request.

`put` never blocks and never raises. What is lost is counted, whatever the reason: the queue was
full, the far side refused, or the time box at exit ran out. The thread starts with the first item,
in the process that puts it; after a fork the child has an empty queue and a thread of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

from telemetry.ending import before_child_ends
from telemetry.losses import (
    Complaint,
    Dropped,
    Failed,
    LostError,
    TryAgainError,
    ignore_drops,
    ignore_failures,
)

_T = TypeVar("_T")
_T_contra = TypeVar("_T_contra", contravariant=True)

EXIT_SECONDS: Final = 1.5
"""Time box for everything that is still queued when the process ends, all workers together.
Chosen by us so that a busy machine is done within 2 s; a plain SDK set-up holds it for 7 to 30 s
when the collector is dead."""
_LONGEST_PAUSE_SECONDS: Final = 30.0


class Outlet(Protocol[_T_contra]):
    """Where the batches go. Opened, used and closed in the worker's thread."""

    def send(self, batch: Sequence[_T_contra]) -> None:
        """Deliver a batch.

        Raises:
            LostError: Some items are lost.
            TryAgainError: The worker shall keep the batch and call again.
        """

    def hurry(self) -> None:
        """Retry nothing any more: the process is ending. Called from another thread."""

    def close(self) -> None:
        """Release what the outlet holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits:
    """How much is held and for how long."""

    capacity: int
    """Items queued at most; further ones are dropped and counted."""
    batch_size: int
    """Items handed to the outlet at a time."""
    interval_seconds: float
    """An item waits at most this long before its batch is sent."""


class BatchWorker(Generic[_T]):
    """One signal's queue, its thread and its losses.

    Args:
        signal: Label of the losses and of the thread.
        open_outlet: Called once in the thread, before the first batch.
        limits: Bounds of the queue.
        destination: What the outlet leads to, for messages.
        dropped: Told of each loss; must not block.
        failed: Told of each delivery that raised or has to be tried again; must not block.
        complaint: Shared by workers whose troubles have one cause.
        pause_seconds: First pause after `TryAgainError`; doubles up to 30 s.
    """

    def __init__(
        self,
        signal: str,
        open_outlet: Callable[[], Outlet[_T]],
        *,
        limits: BatchLimits,
        destination: str = "the far side",
        dropped: Dropped = ignore_drops,
        failed: Failed = ignore_failures,
        complaint: Complaint | None = None,
        pause_seconds: float = 0.5,
    ) -> None:
        self.signal = signal
        self._open_outlet = open_outlet
        self._limits = limits
        self._destination = destination
        self._dropped = dropped
        self._failed = failed
        self._complaint = complaint or Complaint()
        self._pause_seconds = pause_seconds
        self._inherited: list[object] = []
        self._reset()
        _WORKERS.add(self)
        reset = weakref.WeakMethod(self._reset_in_child)
        os.register_at_fork(after_in_child=lambda: (method := reset()) and method())

    def _reset(self) -> None:
        self._queue: deque[_T | threading.Event] = deque()
        self._lock = threading.RLock()  # a garbage collection may close a stream, which puts items
        self._wake = threading.Event()
        self._hurry = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._outlet: Outlet[_T] | None = None
        self._in_flight = 0
        self._gave_up = False

    def _reset_in_child(self) -> None:
        # Kept alive on purpose: closing a connection here would close the parent's.
        self._inherited.append(self._outlet)
        was_closing = self._closing.is_set()
        self._reset()
        if was_closing:
            self._closing.set()

    def put(self, item: _T, *, reserve: int = 0) -> bool:
        """Queue an item; False when it was dropped instead.

        Args:
            item: Held until delivered or given up.
            reserve: Places of the queue left for more important items.
        """
        size = len(self._queue)
        if size + reserve >= self._limits.capacity:
            self._lose(1, "the queue is full")
            return False
        if self._closing.is_set():
            self._lose(1, "the worker is closed")
            return False
        self._queue.append(item)
        if not self._wake.is_set():
            return self._rouse()
        if size + 1 >= self._limits.batch_size and not self._hurry.is_set():
            self._hurry.set()
        return True

    def flush(self, timeout_seconds: float) -> bool:
        """Wait until everything queued so far was delivered or counted as lost, or time is up."""
        if self._thread is None or not self._thread.is_alive():
            return not self._queue
        done = threading.Event()
        self._queue.append(done)
        self._hurry.set()
        return self._rouse() and done.wait(timeout_seconds)

    def close(self, timeout_seconds: float = EXIT_SECONDS) -> None:
        """Deliver what can be delivered in the time box, count the rest as lost, stop."""
        deadline = time.monotonic() + timeout_seconds
        self.begin_close()
        self.finish_close(deadline)

    def begin_close(self) -> None:
        """Take no more items and send the queued ones without retries; returns at once."""
        self._closing.set()
        self._hurry.set()
        self._wake.set()
        if self._outlet is not None:
            self._outlet.hurry()

    def finish_close(self, deadline: float) -> None:
        """Wait for the thread until `deadline` (monotonic seconds), then give up the rest."""
        with self._lock:
            thread = self._thread
        if thread is None or self._gave_up:
            return
        thread.join(max(0.0, deadline - time.monotonic()))
        with self._lock:
            if not thread.is_alive():
                return
            self._gave_up = True
            left = self._in_flight + _count(self._queue)
        self._lose(left, f"{self._destination} did not answer in time. Check the network.")

    def _rouse(self) -> bool:
        with self._lock:
            if self._thread is None:
                name = f"loopscope-{self.signal}"
                thread = threading.Thread(target=self._run, name=name, daemon=True)
                self._thread = thread  # a put from within `start` shall not make another
                try:
                    thread.start()
                except RuntimeError:  # the interpreter is shutting down
                    self._thread = None
                    self._dropped(self.signal, _count(self._queue))
                    self._queue.clear()
                    return False
                before_child_ends(close_all)
        self._wake.set()
        return True

    def _lose(self, count: int, reason: str) -> None:
        if count:
            self._dropped(self.signal, count)
            self._complaint.begin(self.signal, reason)

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._hurry.wait(self._limits.interval_seconds)
            self._wake.clear()
            self._hurry.clear()
            closing = self._closing.is_set()  # before draining: an item put meanwhile is still seen
            self._drain()
            if closing:
                break
        if self._outlet is not None:
            with contextlib.suppress(Exception):
                self._outlet.close()

    def _drain(self) -> None:
        while self._queue and not self._gave_up:
            batch, mark = self._take()
            if batch:
                self._deliver(batch)
            if mark is not None:
                mark.set()

    def _take(self) -> tuple[list[_T], threading.Event | None]:
        batch: list[_T] = []
        with self._lock:
            while self._queue and len(batch) < self._limits.batch_size:
                item = self._queue.popleft()
                if isinstance(item, threading.Event):
                    return batch, item
                batch.append(item)
                self._in_flight = len(batch)
        return batch, None

    def _deliver(self, batch: list[_T]) -> None:
        pause = self._pause_seconds
        while True:
            try:
                if self._outlet is None:
                    self._outlet = self._open_outlet()
                    if self._closing.is_set():
                        self._outlet.hurry()
                self._outlet.send(batch)
            except TryAgainError as error:
                self._failed(self.signal)
                if not self._closing.is_set():
                    self._complaint.begin(self.signal, f"{error}; held back, tried again")
                    self._closing.wait(pause)
                    pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
                    continue
                self._settle(len(batch), str(error))
            except LostError as error:
                self._settle(error.count, str(error))
            except Exception as error:  # noqa: BLE001 - telemetry never breaks the process
                self._failed(self.signal)
                self._settle(len(batch), f"{type(error).__name__} in the {self.signal} outlet")
            else:
                self._settle(0, "")
                self._complaint.end(self.signal)
            return

    def _settle(self, lost: int, reason: str) -> None:
        with self._lock:
            if self._gave_up:  # already counted by `finish_close`
                return
            self._in_flight = 0
        self._lose(lost, reason)


def _count(queue: deque[_T | threading.Event]) -> int:
    return sum(not isinstance(item, threading.Event) for item in list(queue))


_WORKERS: Final[weakref.WeakSet[BatchWorker[Any]]] = weakref.WeakSet()
"""Every living worker, so that all of them share one time box at exit."""


def close_all(
    workers: Iterable[BatchWorker[Any]] | None = None, *, timeout_seconds: float = EXIT_SECONDS
) -> None:
    """Close workers, by default every one of this process, within one time box."""
    deadline = time.monotonic() + timeout_seconds
    closing = list(_WORKERS if workers is None else workers)
    for worker in closing:
        worker.begin_close()
    for worker in closing:
        worker.finish_close(deadline)


atexit.register(close_all)
