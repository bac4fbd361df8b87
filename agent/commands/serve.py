"""`loopscope serve`: the agent behind HTTP, with its metrics, in one process or several."""

from __future__ import annotations

import asyncio
import math
import os
import socket
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import click

from agent.commands.options import agent_options
from agent.errors import FaultError, SettingsError
from agent.http.configured import callers_of
from agent.memory.opening import IN_PROCESS
from agent.server import FAREWELL_SECONDS, GRACE_SECONDS, address, listen
from agent.settings import Settings
from agent.workers import Crew, Workers

Run: TypeAlias = Callable[[socket.socket, Callable[[], None]], None]
"""Serves where it is told to, and says when it answers."""
MAX_WORKERS: Final = 64
"""Chosen by us: more cores than one machine of such a service has."""
WORKER: Final = (sys.executable, "-P", "-c", "from agent.cli import main; main()", "worker")
SPARE_SECONDS: Final = 2
"""How much longer than its turns and its callers' farewell a worker may take to stop."""


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="0 takes a free one.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, MAX_WORKERS),
    default=1,
    show_default=True,
    help="Processes that serve it; more than one need LOOPSCOPE_MEMORY.",
)
@click.option("--fault", metavar="NAME[:SHARE]", help="Serve with a fault; see `loopscope faults`.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the fault's choices.")
@click.option(
    "--start-healthy",
    is_flag=True,
    help="Start without the fault: SIGUSR1 switches it on, and off again.",
)
@agent_options
def serve(*, host: str, port: int, workers: int, settings: Settings, **fault: Any) -> None:
    """Answer questions at POST /ask; the console at /, /metrics, /healthz and /readyz beside it."""
    callers_of(settings)
    if workers > 1:
        _check_shared(settings, fault["fault"], workers)
        run: Run = partial(_serve_with, workers, settings)
    else:
        run = _alone(settings, **fault)
    with listen(host, port) as listening:
        run(listening, partial(click.echo, f"Loopscope answers at {address(listening)}"))


def _alone(settings: Settings, *, fault: str | None, seed: int, start_healthy: bool) -> Run:
    """Return what serves in this process."""
    from agent.faults.catalogue import read_fault  # these take long to import,
    from agent.serving import Plan, serve_here  # and the parent of workers needs none of it

    injection = read_fault(fault, seed=seed) if fault is not None else None
    if injection is not None and injection.fault.where == "traffic":
        raise FaultError(
            f"{injection.name} is a fault of the traffic",
            f"Give it to the traffic: `loopscope traffic --fault {injection.name}`.",
        )
    plan = Plan(settings=settings, injection=injection, is_healthy=start_healthy)
    return partial(serve_here, plan)


def _check_shared(settings: Settings, fault: str | None, workers: int) -> None:
    """Refuse what one process has for itself."""
    if settings.memory == IN_PROCESS:
        raise SettingsError(
            [f"memory got {IN_PROCESS!r} with --workers {workers}, expected: the path of a SQLite "
             "file or a PostgreSQL URL, since workers share no conversation in a process' memory"]
        )  # fmt: skip
    if fault is not None:
        raise FaultError(
            f"got {fault!r} with --workers {workers}, expected one process, whose fault one signal "
            "switches",
            "Leave out --workers.",
        )


def _serve_with(
    workers: int, settings: Settings, listening: socket.socket, begun: Callable[[], None]
) -> None:
    """Serve with several processes, which count in files of one folder."""
    from telemetry.exposition import MULTIPROCESS_VARIABLE, worker_died

    tell = partial(click.echo, err=True)
    if settings.console != "off":
        tell("The console is off: its pages live in one process. For it: --workers 1")
    own = os.environ.get(MULTIPROCESS_VARIABLE) or None
    with tempfile.TemporaryDirectory(prefix="loopscope-workers-", dir=own) as counters:
        rates = Path(counters, "rates")
        crew = Crew(
            count=workers,
            command=WORKER,
            plan=partial(_part, workers, settings, listening.fileno(), rates),
            files=[listening.fileno()],
            environment={**os.environ, MULTIPROCESS_VARIABLE: counters},
            stop_seconds=GRACE_SECONDS + FAREWELL_SECONDS + SPARE_SECONDS,
        )
        crewed = Workers(
            crew,
            begun=begun,
            stopping=listening.close,
            died=partial(worker_died, folder=counters),
            tell=tell,
        )
        asyncio.run(crewed.run())


def _part(
    workers: int, settings: Settings, file: int, rates: Path, number: int
) -> tuple[Settings, int, Path, bool]:
    """Return the plan of one worker: its part of the places, no console, and whether it is quiet.

    What the first one says at its start holds for all.
    """
    changes = {
        "console": "off",
        "max_turns": math.ceil(settings.max_turns / workers),
        "max_waiting": math.ceil(settings.max_waiting / workers),
    }
    return settings.model_copy(update=changes), file, rates, number > 1
