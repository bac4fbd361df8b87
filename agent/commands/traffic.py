"""`loopscope traffic`: questions at a steady mean rate, to a service or to an agent in process."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console

from agent.commands.options import agent_options
from agent.compose import Composition
from agent.errors import FaultError
from agent.faults.catalogue import Injection, read_fault
from agent.gameday import GameDay
from agent.settings import Settings
from agent.traffic.arrivals import Arrival, arrivals
from agent.traffic.load import MAX_IN_FLIGHT, Ask, Load
from agent.traffic.mix import DEFAULT_MIX, read_mix
from agent.traffic.report import print_tally
from agent.traffic.tally import Tally
from agent.traffic.targets import HttpTarget, InProcessTarget
from telemetry.durations import Duration
from telemetry.finite import FiniteRange

MAX_RATE = 1_000.0
"""Chosen by us: more than one Python process can send, and a typo does less harm."""


@click.command()
@click.option(
    "--url", help="Base address of a running service; without it, an agent in this process."
)
@click.option(
    "--rate",
    type=FiniteRange(0, MAX_RATE, min_open=True),
    default=1.0,
    show_default=True,
    help="Mean number of questions a second.",
)
@click.option(
    "--mix",
    "mix_file",
    type=click.Path(path_type=Path),
    default=DEFAULT_MIX,
    help="What is asked (YAML); default: the packaged mix for the handbook.",
)
@click.option(
    "--duration",
    type=Duration(0, min_open=True),
    help="How long, such as 10m; default: until it is stopped.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of questions and times.")
@click.option(
    "--max-in-flight",
    type=click.IntRange(1, 10_000),
    default=MAX_IN_FLIGHT,
    show_default=True,
    help="Questions under way at most; what comes due beyond is counted as unsent.",
)
@click.option(
    "--fault",
    metavar="NAME[:SHARE]",
    help="A fault: traffic-stopped with --url, any but metrics-gone in process.",
)
@click.option(
    "--start-healthy",
    is_flag=True,
    help="Start without the fault: SIGUSR1 switches it on, and off again.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the counts as one JSON object.")
@agent_options
def traffic(
    *,
    url: str | None,
    rate: float,
    mix_file: Path,
    duration: float | None,
    seed: int,
    max_in_flight: int,
    fault: str | None,
    start_healthy: bool,
    as_json: bool,
    settings: Settings,
) -> None:
    """Ask as customers do: each question goes out when it is due, whether or not replies come.

    Exits with 1 when a question got no reply or could not be sent.
    """
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    injection = read_fault(fault, seed=seed) if fault is not None else None
    _check_place(injection, url)
    sending = _Sending(
        arriving=arrivals(read_mix(mix_file), rate=rate, seed=seed),
        seconds=duration,
        max_in_flight=max_in_flight,
        switch=_Switch(injection, is_on=injection is not None and not start_healthy),
    )
    if url is None:
        tally = asyncio.run(sending.to(_in_process(settings, sending.switch)))
    else:
        tally = asyncio.run(sending.to_url(url))
    if as_json:
        click.echo(json.dumps(tally.as_json()))
    else:
        print_tally(tally, Console())
    if not tally.is_answered:
        sys.exit(1)


class _Switch:
    """Whether the fault is on, and who must know when that changes."""

    def __init__(self, injection: Injection | None, *, is_on: bool) -> None:
        self.injection = injection
        self.is_on = is_on
        self.on_toggle: Callable[[], object] = lambda: None

    @property
    def holds_traffic_back(self) -> bool:
        """Whether nothing shall be sent now."""
        injection = self.injection
        return self.is_on and injection is not None and injection.fault.where == "traffic"

    def toggle(self) -> None:
        """Turn it."""
        self.is_on = not self.is_on
        self.on_toggle()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sending:
    """What is sent, for how long, and under which fault."""

    arriving: Iterator[Arrival]
    seconds: float | None
    max_in_flight: int
    switch: _Switch

    async def to(self, ask: Ask) -> Tally:
        """Send to a target; the first SIGINT or SIGTERM ends it, SIGUSR1 turns the fault."""
        load = Load(
            ask,
            max_in_flight=self.max_in_flight,
            is_held_back=lambda: self.switch.holds_traffic_back,
        )
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, load.stop)
        loop.add_signal_handler(signal.SIGUSR1, self.switch.toggle)
        return await load.run(self.arriving, seconds=self.seconds)

    async def to_url(self, url: str) -> Tally:
        """Send to a running service."""
        async with HttpTarget(url, max_in_flight=self.max_in_flight) as target:
            await target.check()
            return await self.to(target)


def _check_place(injection: Injection | None, url: str | None) -> None:
    """Refuse a fault that this command cannot put where it belongs."""
    if injection is None:
        return
    if url is not None and injection.fault.where != "traffic":
        raise FaultError(
            f"{injection.name} is a fault of the service, got --url",
            f"Give it to the service: `loopscope serve --fault {injection.name}`.",
        )
    if injection.fault.where == "metrics":
        raise FaultError(
            f"{injection.name} needs a service with a metrics endpoint",
            f"Give it to one: `loopscope serve --fault {injection.name}`.",
        )


def _in_process(settings: Settings, switch: _Switch) -> InProcessTarget:
    composition = Composition(settings)
    injection = switch.injection
    if injection is None or injection.fault.where != "agent":
        return InProcessTarget(lambda: composition.default_agent)
    game_day = GameDay(composition, settings, injection, is_on=switch.is_on)
    switch.on_toggle = game_day.toggle
    return InProcessTarget(game_day.agent)
