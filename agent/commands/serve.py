"""`loopscope serve`: the agent behind HTTP, with its metrics."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from typing import Final

import click
from fastapi import FastAPI
from starlette.types import ASGIApp

from agent.api import create_app
from agent.commands.options import agent_options
from agent.compose import Composition
from agent.conversing import Conversing
from agent.errors import FaultError
from agent.faults.catalogue import Injection, read_fault
from agent.gameday import GameDay
from agent.http.callers import Callers
from agent.http.configured import callers_of, limits_of
from agent.memory.memory import Memory
from agent.memory.opening import open_memory
from agent.server import Service, address, is_loopback, listen, run
from agent.service import SupportAgent
from agent.settings import NO_RECORDS, Settings
from telemetry.callers import CallersTrace
from telemetry.records import open_reader
from telemetry.synthetic import synthetic_turns

ANYONE: Final = (
    "LOOPSCOPE_API_KEYS is not set: everyone who reaches this address may ask, and all are one "
    "anonymous caller with one list of conversations"
)
NO_CONSOLE: Final = (
    "The console is not installed, so / has no pages. For them: pip install 'loopscope[console]'"
)


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="0 takes a free one.",
)
@click.option("--fault", metavar="NAME[:SHARE]", help="Serve with a fault; see `loopscope faults`.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the fault's choices.")
@click.option(
    "--start-healthy",
    is_flag=True,
    help="Start without the fault: SIGUSR1 switches it on, and off again.",
)
@agent_options
def serve(
    *, host: str, port: int, fault: str | None, seed: int, start_healthy: bool, settings: Settings
) -> None:
    """Answer questions at POST /ask; the console at /, /metrics, /healthz and /readyz beside it.

    One process: start one a core, each on a port of its own, for more.
    """
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    injection = read_fault(fault, seed=seed) if fault is not None else None
    if injection is not None and injection.fault.where == "traffic":
        raise FaultError(
            f"{injection.name} is a fault of the traffic",
            f"Give it to the traffic: `loopscope traffic --fault {injection.name}`.",
        )
    callers = callers_of(settings)
    with listen(host, port) as listening:
        composition = Composition(settings)
        click.echo(composition.set_up_export().summary, err=True)
        if settings.records != NO_RECORDS:
            composition.keep_records(settings.records)

        @asynccontextmanager
        async def opened() -> AsyncIterator[Service]:
            async with open_memory(settings.memory) as memory, AsyncExitStack() as pages:
                asked = _asked(composition, injection, is_healthy=start_healthy)
                service = await _service(composition, memory, asked, callers, pages)
                if not callers.are_known and not is_loopback(listening):
                    click.echo(ANYONE, err=True)
                click.echo(f"Loopscope answers at {address(listening)}")
                yield service

        run(opened, [listening])


def _asked(
    composition: Composition, injection: Injection | None, *, is_healthy: bool
) -> GameDay | SupportAgent:
    """Return what answers, put together before the port is told, so that its series are there."""
    if injection is None:
        return composition.default_agent
    return GameDay(composition, composition.settings, injection, is_on=not is_healthy)


async def _service(
    composition: Composition,
    memory: Memory,
    asked: GameDay | SupportAgent,
    callers: Callers,
    pages: AsyncExitStack,
) -> Service:
    """Return the service, with a fault to switch when one is given."""
    settings = composition.settings
    game_day = asked if isinstance(asked, GameDay) else None
    conversing = Conversing(
        asked.agent if isinstance(asked, GameDay) else lambda: asked,
        memory,
        turn_seconds=settings.turn_timeout_seconds,
    )
    app = create_app(
        conversing,
        composition.exposition,
        limits=limits_of(settings),
        callers=callers,
        feedback=composition.feedback(),
        checks={"index": composition.check_index},
        apart=synthetic_turns,
        around=CallersTrace,
    )
    served = await _with_console(app, composition, conversing, callers, pages)
    return Service(
        app=game_day.around(served) if game_day else served,
        stop=conversing.stop,
        switch=game_day.toggle if game_day else None,
    )


async def _with_console(
    app: FastAPI,
    composition: Composition,
    conversing: Conversing,
    callers: Callers,
    pages: AsyncExitStack,
) -> ASGIApp:
    """Return the service with its pages in front, where they are wanted and installed."""
    settings = composition.settings
    if settings.console == "off":
        return app
    if find_spec("nicegui") is None:
        click.echo(NO_CONSOLE, err=True)
        return app
    from agent.console.mount import Console  # takes a second to import
    from agent.console.sources import Sources

    sources = Sources(
        desk=app.state.desk,
        conversations=conversing,
        composition=composition,
        reader=open_reader(settings.records) if settings.records != NO_RECORDS else None,
        callers=callers,
        operators=frozenset(name.strip() for name in (settings.operators or "").split(",")) - {""},
    )
    console = Console(app, sources)
    await pages.enter_async_context(console.opened())
    return console
