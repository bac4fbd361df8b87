"""Several processes that serve one port: started, watched, started again, stopped together.

The process that calls `Workers.run` serves nothing itself. It talks to each worker through two
pipes: the worker's standard input holds its plan and ends when the parent does, its standard output
says when it answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agent.errors import WorkersError

MAX_FAILURES: Final = 5
"""Workers that end soon after their start, one after the other, before all are given up. Chosen by
us: with the pauses between them 7.5 s, in which a database has had time to come back."""
PAUSE_SECONDS: Final = 0.5
"""Before the start after the first failure; doubled with each further one."""
SETTLED_SECONDS: Final = 10.0
"""A worker that ends sooner after it answered, or before, counts as a failure. Chosen by us."""
STOPS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""The last one comes when the terminal closes."""
READY: Final = b"ready\n"
WRONG_USAGE: Final = 2
"""Exit code of a worker whose settings make no sense: another start would not help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """What every worker is started with."""

    count: int
    command: Sequence[str]
    plan: Callable[[int], Any]
    """Number of a worker, from 1 -> what is handed to it, which it takes with `received`."""
    files: Sequence[int]
    """File descriptors that it inherits under the same number."""
    environment: Mapping[str, str]
    stop_seconds: float
    """How long a worker may take to stop in order; then it is killed."""
    pause_seconds: float = PAUSE_SECONDS


class Workers:
    """The workers of one service. For one event loop.

    Args:
        crew: How they are started.
        begun: Called once, when all of them answer.
        stopping: Called once, when they are told to stop.
        died: Told the process id of each worker that has ended.
        tell: Takes a line for whoever looks after the service.
    """

    def __init__(
        self,
        crew: Crew,
        *,
        begun: Callable[[], None],
        stopping: Callable[[], None],
        died: Callable[[int], None],
        tell: Callable[[str], None],
    ) -> None:
        self._crew = crew
        self._begun = begun
        self._stopping = stopping
        self._died = died
        self._tell = tell
        self._running: set[asyncio.subprocess.Process] = set()
        self._ready: set[int] = set()
        """Numbers of the workers that have ever answered."""
        self._failures = 0
        self._has_given_up = False
        self._stopped = asyncio.Event()

    async def run(self) -> None:
        """Keep all workers running until SIGTERM, SIGINT or SIGHUP; then each finishes its turns.

        SIGHUP that is ignored, as `nohup` has it, stays ignored.

        Raises:
            WorkersError: They kept ending soon after their start.
        """
        loop = asyncio.get_running_loop()
        is_kept = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        stops = [each for each in STOPS if not (is_kept and each is signal.SIGHUP)]
        for told in stops:
            loop.add_signal_handler(told, self._stop)
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(1, self._crew.count + 1):
                    group.create_task(self._keep(number))
        finally:
            for told in stops:
                loop.remove_signal_handler(told)
        if self._has_given_up:
            raise WorkersError()

    def _stop(self) -> None:
        if self._stopped.is_set():
            return
        self._stopped.set()
        self._stopping()
        for process in self._running:
            _send(process, signal.SIGTERM)
        asyncio.get_running_loop().call_later(self._crew.stop_seconds, self._kill)

    def _kill(self) -> None:
        for process in self._running:
            self._tell(f"Process {process.pid} did not stop in time and is killed")
            _send(process, signal.SIGKILL)

    async def _keep(self, number: int) -> None:
        """Keep one worker running."""
        while not self._stopped.is_set():
            process = await self._start(number)
            is_ready, since = await self._answers(process, number), time.monotonic()
            code = await process.wait()
            self._running.discard(process)
            self._died(process.pid)
            if self._stopped.is_set():
                return
            has_settled = is_ready and time.monotonic() - since >= SETTLED_SECONDS
            await self._again(number, process.pid, code, has_settled=has_settled)

    async def _start(self, number: int) -> asyncio.subprocess.Process:
        crew = self._crew
        process = await asyncio.create_subprocess_exec(
            *crew.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=crew.environment,
            pass_fds=tuple(crew.files),
            process_group=0,  # a terminal's Ctrl-C reaches it through us alone
        )
        self._running.add(process)
        if self._stopped.is_set():  # meanwhile
            _send(process, signal.SIGTERM)
        assert process.stdin is not None
        with contextlib.suppress(ConnectionError):
            process.stdin.write(pickle.dumps(crew.plan(number)))
            await process.stdin.drain()
        return process

    async def _answers(self, process: asyncio.subprocess.Process, number: int) -> bool:
        """Wait until a worker answers; return False when it ended before."""
        assert process.stdout is not None
        is_ready = await process.stdout.readline() == READY
        is_first = len(self._ready) < self._crew.count
        if is_ready:
            self._ready.add(number)
        if is_first and len(self._ready) == self._crew.count:
            self._begun()
        return is_ready

    async def _again(self, number: int, pid: int, code: int, *, has_settled: bool) -> None:
        """Say that a worker ended and wait before it is started again, or give all of them up."""
        self._failures = 0 if has_settled else self._failures + 1
        ended = f"Worker {number} (process {pid}) {_how(code)}"
        if code == WRONG_USAGE or self._failures >= MAX_FAILURES:
            self._tell(f"{ended}; all are stopped")
            self._has_given_up = True
            self._stop()
            return
        pause = self._crew.pause_seconds * 2 ** (self._failures - 1) if self._failures else 0.0
        self._tell(f"{ended}; it is started again in {pause:g} s")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._stopped.wait()


def _send(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(number)


def _how(code: int) -> str:
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"


def received() -> Any:
    """Return the plan of this process, which is a worker."""
    return pickle.load(sys.stdin.buffer)


def is_ready() -> None:
    """Say that this worker answers, and stop it in order when its parent is gone.

    In the event loop that serves.
    """
    os.write(sys.stdout.fileno(), READY)
    loop, line = asyncio.get_running_loop(), sys.stdin.fileno()

    def gone() -> None:
        loop.remove_reader(line)
        os.kill(os.getpid(), signal.SIGTERM)

    loop.add_reader(line, gone)
