"""Processes of a service, played by small scripts: started again, given up, stopped in order."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.errors import WorkersError
from agent.workers import MAX_FAILURES, Crew, Workers

HEAD = """
import os, pickle, signal, sys, time
folder, number = pickle.load(sys.stdin.buffer)
with open(f"{folder}/started", "a") as book: book.write(f"{number} {os.getpid()}\\n")
starts = open(f"{folder}/started").read().count(f"{number} ")
def ready(): os.write(1, b"ready\\n")
"""
STAYS = HEAD + "ready(); time.sleep(60)"
STAYS_STUBBORNLY = HEAD + "signal.signal(signal.SIGTERM, signal.SIG_IGN); ready(); time.sleep(60)"
LEAVES_ONCE = HEAD + "ready(); time.sleep(60 if starts > 1 or number > 1 else 0)"
NEVER_READY = HEAD + "sys.exit(3)"
READY_AND_GONE = HEAD + "ready(); sys.exit(1)"
WRONG_SETTINGS = HEAD + "sys.exit(2)"
PARENT_GONE = """
import asyncio
from agent.workers import is_ready, received
async def serve():
    is_ready()
    await asyncio.sleep(60)
print(received(), flush=True)
asyncio.run(serve())
"""


@dataclass
class Told:
    """What the workers told, in this order."""

    lines: list[str] = field(default_factory=list)
    died: list[int] = field(default_factory=list)
    began: asyncio.Event = field(default_factory=asyncio.Event)


def workers(code: str, folder: Path, told: Told, *, count: int = 2, **changes: float) -> Workers:
    crew = Crew(
        count=count,
        command=(sys.executable, "-S", "-c", code),
        plan=lambda number: (str(folder), number),
        files=(),
        environment=os.environ,
        **{"stop_seconds": 10.0, "pause_seconds": 0.01, **changes},
    )
    return Workers(
        crew,
        begun=told.began.set,
        stopping=lambda: told.lines.append("stopping"),
        died=told.died.append,
        tell=told.lines.append,
    )


def started(folder: Path) -> list[tuple[int, int]]:
    """Number and process of each worker that was ever started."""
    lines = (folder / "started").read_text().split()
    return list(zip(map(int, lines[::2]), map(int, lines[1::2]), strict=True))


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not is_so():
            await asyncio.sleep(0.01)


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_all_workers_end_in_order_when_the_parent_is_told_to(
    number: signal.Signals, tmp_path: Path
) -> None:
    told = Told()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # also where the tests run under `nohup`
    run = asyncio.create_task(workers(STAYS, tmp_path, told).run())
    await told.began.wait()
    os.kill(os.getpid(), number)
    await run
    processes = dict(started(tmp_path))

    assert sorted(processes) == [1, 2]
    assert sorted(told.died) == sorted(processes.values())
    assert not any(map(runs, processes.values()))
    assert told.lines == ["stopping"]


async def test_a_closed_terminal_stops_no_workers_where_that_is_ignored(tmp_path: Path) -> None:
    told = Told()
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        run = asyncio.create_task(workers(STAYS, tmp_path, told).run())
        await told.began.wait()
        os.kill(os.getpid(), signal.SIGHUP)
        await asyncio.sleep(0)
        lines = list(told.lines)
        os.kill(os.getpid(), signal.SIGTERM)
        await run
    finally:
        signal.signal(signal.SIGHUP, before)

    assert (lines, told.lines) == ([], ["stopping"])


async def test_a_worker_that_ends_is_told_of_and_started_again(tmp_path: Path) -> None:
    told = Told()
    run = asyncio.create_task(workers(LEAVES_ONCE, tmp_path, told).run())
    await told.began.wait()
    await until(lambda: [number for number, _ in started(tmp_path)].count(1) == 2)
    os.kill(os.getpid(), signal.SIGTERM)
    await run
    first = next(pid for number, pid in started(tmp_path) if number == 1)

    assert told.died[0] == first
    assert told.lines == [
        f"Worker 1 (process {first}) ended with code 0; it is started again in 0.01 s", "stopping",
    ]  # fmt: skip


async def test_a_killed_worker_is_started_again(tmp_path: Path) -> None:
    told = Told()
    run = asyncio.create_task(workers(STAYS, tmp_path, told, count=1).run())
    await told.began.wait()
    killed = started(tmp_path)[0][1]
    os.kill(killed, signal.SIGKILL)
    await until(lambda: len(started(tmp_path)) == 2)
    os.kill(os.getpid(), signal.SIGTERM)
    await run

    assert told.lines[0].startswith(f"Worker 1 (process {killed}) was ended by SIGKILL; it is st")


@pytest.mark.parametrize(
    ("code", "starts"),
    [
        pytest.param(NEVER_READY, MAX_FAILURES, id="that-never-answer"),
        pytest.param(READY_AND_GONE, MAX_FAILURES, id="that-answer-and-end-at-once"),
        pytest.param(WRONG_SETTINGS, 1, id="whose-settings-make-no-sense-at-once"),
    ],
)
async def test_workers_are_given_up(code: str, starts: int, tmp_path: Path) -> None:
    told = Told()
    with pytest.raises(WorkersError):
        await workers(code, tmp_path, told, count=1).run()
    pauses = [line.rpartition(" in ")[2] for line in told.lines if "started again" in line]

    assert len(started(tmp_path)) == starts
    assert pauses == ["0.01 s", "0.02 s", "0.04 s", "0.08 s"][: starts - 1]
    assert told.lines[-2].endswith("all are stopped")


async def test_the_others_are_stopped_when_one_is_given_up(tmp_path: Path) -> None:
    told = Told()
    one_fails = HEAD + "number == 2 or sys.exit(3); ready(); time.sleep(60)"
    with pytest.raises(WorkersError):
        await workers(one_fails, tmp_path, told).run()

    assert not any(runs(pid) for _, pid in started(tmp_path))


async def test_a_worker_that_does_not_stop_in_time_is_killed(tmp_path: Path) -> None:
    told = Told()
    run = asyncio.create_task(
        workers(STAYS_STUBBORNLY, tmp_path, told, count=1, stop_seconds=0.1).run()
    )
    await told.began.wait()
    os.kill(os.getpid(), signal.SIGTERM)
    await run
    pid = started(tmp_path)[0][1]

    assert told.lines == ["stopping", f"Process {pid} did not stop in time and is killed"]
    assert not runs(pid)


def test_a_worker_ends_when_its_parent_is_gone() -> None:
    worker = subprocess.Popen(
        [sys.executable, "-c", PARENT_GONE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(b"\x80\x04\x8c\x04plan\x94.")
        worker.stdin.flush()
        told = [worker.stdout.readline() for _ in range(2)]
        worker.stdin.close()
        code = worker.wait(30)
    finally:
        worker.kill()
        worker.wait()
        worker.stdout.close()

    assert (told, code) == ([b"plan\n", b"ready\n"], -signal.SIGTERM)
