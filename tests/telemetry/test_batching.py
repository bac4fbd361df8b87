from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from telemetry.batching import BatchLimits, BatchWorker, close_all
from telemetry.losses import LostError, TryAgainError

LIMITS = BatchLimits(capacity=100, batch_size=10, interval_seconds=0.01)
NEVER = BatchLimits(capacity=10, batch_size=100, interval_seconds=3600)


class Shelf:
    """An outlet that keeps what it is sent and can be told to misbehave."""

    def __init__(self, trouble: Callable[[int], None] = lambda call: None) -> None:
        self.items: list[int] = []
        self.batches: list[int] = []
        self.calls = 0
        self.closed = False
        self.hurried = False
        self._trouble = trouble

    def send(self, batch: Sequence[int]) -> None:
        self.calls += 1
        self._trouble(self.calls)
        self.items.extend(batch)
        self.batches.append(len(batch))

    def hurry(self) -> None:
        self.hurried = True

    def close(self) -> None:
        self.closed = True


class Books:
    def __init__(self) -> None:
        self.lost: Counter[str] = Counter()
        self.failed: list[str] = []

    def __call__(self, signal: str, count: int) -> None:
        self.lost[signal] += count


def make_worker(
    shelf: Shelf, books: Books | None = None, limits: BatchLimits = LIMITS, pause: float = 0.001
) -> BatchWorker[int]:
    books = books or Books()
    return BatchWorker(
        "records", lambda: shelf, limits=limits, dropped=books, failed=books.failed.append,
        pause_seconds=pause,
    )  # fmt: skip


def raising(error: Exception, times: int = 10**9) -> Callable[[int], None]:
    def trouble(call: int) -> None:
        if call <= times:
            raise error

    return trouble


def test_items_arrive_in_order_in_batches_of_the_given_size() -> None:
    shelf = Shelf()
    worker = make_worker(shelf)

    for item in range(95):
        worker.put(item)

    assert worker.flush(5)
    assert shelf.items == list(range(95))
    assert max(shelf.batches) <= 10
    worker.close()
    assert shelf.closed


def test_no_thread_before_the_first_item() -> None:
    before = threading.active_count()
    worker = make_worker(Shelf())

    assert threading.active_count() == before
    assert worker.flush(0)
    worker.close()
    assert threading.active_count() == before


def test_an_item_that_a_garbage_collection_puts_while_the_thread_starts_stops_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shelf = Shelf()
    worker = make_worker(shelf)
    started: list[str] = []
    start = threading.Thread.start

    def collect_first(thread: threading.Thread) -> None:
        started.append(thread.name)
        if started == ["putting", "loopscope-records"]:
            worker.put(1)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", collect_first)
    putting = threading.Thread(target=worker.put, args=(2,), name="putting", daemon=True)
    putting.start()
    putting.join(20)

    assert not putting.is_alive()
    assert worker.flush(5)
    assert (started[1:], sorted(shelf.items)) == (["loopscope-records"], [1, 2])
    worker.close()


def test_items_wait_no_longer_than_the_interval() -> None:
    arrived = threading.Event()
    worker = make_worker(Shelf(lambda call: arrived.set()))

    worker.put(1)

    assert arrived.wait(5)
    worker.close()


def test_a_full_batch_is_sent_before_the_interval_is_over() -> None:
    arrived = threading.Event()
    worker = make_worker(
        Shelf(lambda call: arrived.set()),
        limits=BatchLimits(capacity=100, batch_size=3, interval_seconds=3600),
    )

    for item in range(4):
        worker.put(item)

    assert arrived.wait(5)
    worker.close()


def test_a_full_queue_drops_the_newest_and_counts_it() -> None:
    shelf, books = Shelf(), Books()
    worker = make_worker(shelf, books, limits=NEVER)

    taken = [worker.put(item) for item in range(15)]

    assert taken == [True] * 10 + [False] * 5
    worker.close()
    assert shelf.items == list(range(10))
    assert books.lost == {"records": 5}


def test_reserved_places_are_left_for_important_items() -> None:
    books = Books()
    worker = make_worker(Shelf(), books, limits=NEVER)

    ordinary = [worker.put(item, reserve=2) for item in range(12)]
    important = [worker.put(item) for item in range(3)]

    assert sum(ordinary) == 8
    assert important == [True, True, False]
    worker.close()


@pytest.mark.parametrize(
    ("trouble", "lost", "failures"),
    [
        pytest.param(raising(LostError("refused", 4), times=1), 4, 0, id="some-lost"),
        pytest.param(raising(ValueError("a bug"), times=1), 10, 1, id="a-bug-loses-the-batch"),
        pytest.param(
            raising(TryAgainError("locked"), times=3), 0, 3, id="held-back-then-delivered"
        ),
    ],
)
def test_losses_and_failures_are_counted_and_the_worker_goes_on(
    trouble: Callable[[int], None], lost: int, failures: int
) -> None:
    shelf, books = Shelf(trouble), Books()
    worker = make_worker(shelf, books)

    for item in range(10):
        worker.put(item)
    assert worker.flush(5)
    worker.put(99)
    assert worker.flush(5)

    assert books.lost["records"] == lost
    assert books.failed == ["records"] * failures
    assert shelf.items[-1] == 99
    worker.close()


def test_everything_put_is_delivered_or_counted_under_load_from_many_threads() -> None:
    shelf, books = Shelf(), Books()
    worker = make_worker(shelf, books)

    def produce() -> None:
        for item in range(2_000):
            worker.put(item)

    threads = [threading.Thread(target=produce) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    worker.close()

    assert len(shelf.items) + books.lost["records"] == 8_000


def test_a_trouble_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    worker = make_worker(Shelf(raising(LostError("the collector said 404", 1))))

    with caplog.at_level(logging.WARNING):
        for item in range(5):
            worker.put(item)
            worker.flush(5)
        worker.close()

    assert [record.getMessage() for record in caplog.records] == [
        "telemetry: records are not delivered: the collector said 404"
    ]


def test_close_gives_up_after_its_time_box_and_counts_what_is_left() -> None:
    release = threading.Event()
    entered = threading.Event()

    def block(call: int) -> None:
        entered.set()
        release.wait(30)

    shelf, books = Shelf(block), Books()
    worker = make_worker(shelf, books)
    for item in range(25):
        worker.put(item)
    assert entered.wait(5)

    started = time.monotonic()
    worker.close(0.1)
    took = time.monotonic() - started

    assert took < 1
    assert shelf.hurried
    assert books.lost == {"records": 25}
    release.set()


def test_a_closing_worker_does_not_wait_for_a_retry() -> None:
    shelf, books = Shelf(raising(TryAgainError("locked"))), Books()
    worker = make_worker(shelf, books, pause=3600)
    worker.put(1)

    started = time.monotonic()
    worker.close(5)

    assert time.monotonic() - started < 2
    assert books.lost == {"records": 1}


def test_put_after_close_is_counted() -> None:
    books = Books()
    worker = make_worker(Shelf(), books)
    worker.close()

    assert worker.put(1) is False
    assert books.lost == {"records": 1}
    assert worker.flush(1)


def test_all_workers_share_one_time_box() -> None:
    release = threading.Event()
    workers = [make_worker(Shelf(lambda call: release.wait(30) and None)) for _ in range(5)]
    for worker in workers:
        worker.put(1)

    started = time.monotonic()
    close_all(workers, timeout_seconds=0.2)
    took = time.monotonic() - started

    assert took < 0.9
    release.set()


FORK = """
import os, sys, threading
sys.path.insert(0, "tests/telemetry")
from test_batching import Books, LIMITS, Shelf, make_worker
shelf = Shelf()
worker = make_worker(shelf)
worker.put(0)
worker.flush(5)
children = []
for child in (1, 2):
    pid = os.fork()
    if pid == 0:
        shelf.items.clear()
        worker.put(child)
        ok = worker.flush(5) and shelf.items == [child]
        sys.exit(0 if ok else 3)
    children.append(pid)
codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
worker.put(9)
assert worker.flush(5) and shelf.items == [0, 9], shelf.items
assert codes == [0, 0], codes
"""


def test_a_forked_child_has_a_queue_and_a_thread_of_its_own() -> None:
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK],
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
        env={**os.environ, "PYTHONPATH": "."},
    )

    assert (result.returncode, result.stderr) == (0, "")


EXIT = """
import threading
from telemetry.batching import BatchLimits, BatchWorker

class Outlet:
    def send(self, batch):
        {body}
    def hurry(self): pass
    def close(self): pass

worker = BatchWorker("spans", Outlet, limits=BatchLimits(capacity=9, batch_size=9,
    interval_seconds=3600), dropped=lambda signal, count: print("lost", count, flush=True))
worker.put("a")
"""


@pytest.mark.parametrize(
    ("body", "output", "most_seconds"),
    [
        pytest.param("print('sent', len(batch))", "sent 1\n", 2.0, id="queued-items-are-sent"),
        pytest.param("threading.Event().wait()", "lost 1\n", 4.0, id="a-hang-is-cut-off"),
    ],
)
def test_process_exit(body: str, output: str, most_seconds: float) -> None:
    started = time.monotonic()
    result = subprocess.run(
        [sys.executable, "-c", EXIT.format(body=body)],
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
        env={**os.environ, "PYTHONPATH": "."},
    )

    assert (result.returncode, result.stdout) == (0, output)
    assert time.monotonic() - started < most_seconds
