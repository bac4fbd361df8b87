"""One process of the service: everything that it is put together from, and how it is opened."""

from __future__ import annotations

import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click
from fastapi import FastAPI
from starlette.types import ASGIApp

from agent.api import create_app
from agent.compose import Composition
from agent.conversing import Conversing
from agent.faults.catalogue import Injection
from agent.gameday import GameDay
from agent.http.buckets import SharedBuckets
from agent.http.callers import Callers
from agent.http.configured import callers_of, limits_of
from agent.memory.housekeeping import Housekeeping
from agent.memory.memory import Memory
from agent.memory.opening import open_memory
from agent.server import Service, is_loopback, run
from agent.service import SupportAgent
from agent.settings import NO_RECORDS, Settings
from telemetry.callers import CallersTrace
from telemetry.records import open_reader
from telemetry.records.database import parse_address
from telemetry.synthetic import synthetic_turns

ANYONE: Final = (
    "LOOPSCOPE_API_KEYS is not set: everyone who reaches this address may ask, and all are one "
    "anonymous caller with one list of conversations"
)
NO_CONSOLE: Final = (
    "The console is not installed, so / has no pages. For them: pip install 'loopscope[console]'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one process serves."""

    settings: Settings
    injection: Injection | None = None
    is_healthy: bool = False
    """Whether a fault waits for its signal."""
    is_quiet: bool = False
    """Whether another process says what holds for all."""
    rates: Path | None = None
    """File in which workers count together how often each caller asks."""


def serve_here(plan: Plan, listening: socket.socket, begun: Callable[[], None]) -> None:
    """Serve in this process until SIGTERM or SIGINT.

    Args:
        plan: What is served.
        listening: Where.
        begun: Called in the event loop when the service answers.

    Raises:
        AgentError: The settings make no sense together, or what they name cannot be opened.
    """
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    settings = plan.settings
    callers = callers_of(settings)
    composition = Composition(settings)
    summary = composition.set_up_export().summary
    if not plan.is_quiet:
        click.echo(summary, err=True)
    if settings.records != NO_RECORDS:
        composition.keep_records(settings.records)
        if not plan.is_quiet:
            click.echo(f"turns are kept in {parse_address(settings.records).url}", err=True)

    @asynccontextmanager
    async def opened() -> AsyncIterator[Service]:
        async with open_memory(settings.memory) as memory, AsyncExitStack() as pages:
            asked = answering(composition, plan)
            service = await _service(
                plan, composition, memory=memory, asked=asked, callers=callers, pages=pages
            )
            house = Housekeeping(
                memory,
                days=settings.memory_days,
                measured=composition.count_conversations,
            )
            await pages.enter_async_context(house.kept())
            if not (plan.is_quiet or callers.are_known or is_loopback(listening)):
                click.echo(ANYONE, err=True)
            begun()
            yield service

    run(opened, [listening])


def answering(composition: Composition, plan: Plan) -> GameDay | SupportAgent:
    """Return what answers, put together before the port is told, so that its series are there.

    What the first rewrite needs is made by then too: it takes a second, in which no one is served.
    """
    _ = composition.drift
    if plan.injection is None:
        return composition.default_agent
    return GameDay(composition, plan.settings, plan.injection, is_on=not plan.is_healthy)


async def _service(
    plan: Plan,
    composition: Composition,
    *,
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
        notes=memory.notes,
        buckets=SharedBuckets(plan.rates) if plan.rates else None,
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
