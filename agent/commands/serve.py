"""`loopscope serve`: the agent behind HTTP, with its metrics."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import click

from agent.api import create_app
from agent.commands.options import agent_options
from agent.compose import Composition
from agent.conversing import Conversing
from agent.errors import FaultError
from agent.faults.catalogue import Injection, read_fault
from agent.gameday import GameDay
from agent.memory.memory import Memory
from agent.memory.opening import open_memory
from agent.server import Service, address, listen, run
from agent.settings import NO_RECORDS, Settings


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
    """Answer questions at POST /ask; /metrics, /healthz and /readyz beside it.

    One process: start one a core, each on a port of its own, for more.
    """
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    injection = read_fault(fault, seed=seed) if fault is not None else None
    if injection is not None and injection.fault.where == "traffic":
        raise FaultError(
            f"{injection.name} is a fault of the traffic",
            f"Give it to the traffic: `loopscope traffic --fault {injection.name}`.",
        )
    with listen(host, port) as listening:
        composition = Composition(settings)
        click.echo(composition.set_up_export().summary, err=True)
        if settings.records != NO_RECORDS:
            composition.keep_records(settings.records)

        @asynccontextmanager
        async def opened() -> AsyncIterator[Service]:
            async with open_memory(settings.memory) as memory:
                service = _service(composition, memory, injection, is_healthy=start_healthy)
                click.echo(f"Loopscope answers at {address(listening)}")
                yield service

        run(opened, [listening])


def _service(
    composition: Composition, memory: Memory, injection: Injection | None, *, is_healthy: bool
) -> Service:
    """Return the service, with a fault to switch when one is given."""
    settings = composition.settings
    game_day = None
    if injection is not None:
        game_day = GameDay(composition, settings, injection, is_on=not is_healthy)
    conversing = Conversing(
        game_day.agent if game_day else lambda: composition.default_agent,
        memory,
        turn_seconds=settings.turn_timeout_seconds,
    )
    app = create_app(conversing, composition.exposition)
    return Service(
        app=game_day.around(app) if game_day else app,
        stop=conversing.stop,
        switch=game_day.toggle if game_day else None,
    )
