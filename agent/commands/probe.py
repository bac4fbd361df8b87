"""`loopscope probe`: known questions asked of a running service on a schedule."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Sequence
from contextlib import aclosing, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, Final

import click
import httpx
from prometheus_client import CollectorRegistry

from agent.commands.options import load_settings
from agent.commands.output import print_json, visible
from agent.errors import ServeError, SettingsError
from agent.golden import GOLDEN_FILE, load_golden
from agent.probing.asking import HttpProbe
from agent.probing.known import KnownQuestion, known_questions
from agent.probing.rounds import Books, Round, rounds
from agent.settings import Settings
from agent.traffic.targets import base_address
from telemetry.durations import Duration
from telemetry.exposition import MetricsServer, start_metrics_server
from telemetry.probe_metrics import ProbeMetrics

EVERY: Final = "5m"
"""Chosen by us: a regression is told within ten minutes, for five questions 288 times a day."""
PORT: Final = 9465
"""Chosen by us: the one after that of OpenTelemetry's exporter."""


@click.command()
@click.option("--url", required=True, help="Base address of a running service.")
@click.option("--golden", metavar="FILE", help="Golden set; default: that of the handbook.")
@click.option(
    "--every",
    type=Duration(0, min_open=True),
    default=EVERY,
    show_default=True,
    help="From one round to the next.",
)
@click.option("--rounds", type=click.IntRange(1), help="Default: until it is stopped.")
@click.option(
    "--timeout",
    type=Duration(0, min_open=True),
    default="1m",
    show_default=True,
    help="Longest wait for a reply.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address of /metrics.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"Port of /metrics, 0 for a free one; default: {PORT}, and with --rounds none.",
)
@click.option(
    "--api-key",
    metavar="KEY",
    help="The service's probe key; better as LOOPSCOPE_PROBE_KEY, which no list of processes "
    "shows.",
)
@click.option("--json", "as_json", is_flag=True, help="Print each round as a line of JSON.")
def probe(
    *,
    golden: str | None,
    api_key: str | None,
    host: str,
    port: int | None,
    as_json: bool,
    **plan: Any,
) -> None:
    """Ask the golden set of a running service, and say which questions came out unlike expected.

    Such turns are in no count of users' turns. Exits with 1 when the last round had such a
    question, or when none was completed.
    """
    settings = load_settings(golden=golden, probe_key=api_key)
    # Which chunks are indexed is known to the service alone.
    questions = known_questions(load_golden(settings.golden or GOLDEN_FILE, None))
    probing = _Probing(questions=questions, key=_key(settings), as_json=as_json, **plan)
    registry = CollectorRegistry()
    books = ProbeMetrics(registry, {each.id: (each.expected, each.reachable) for each in questions})
    if port is None and probing.rounds is None:
        port = PORT
    with nullcontext() if port is None else _metrics(host, port, registry):
        last = asyncio.run(probing.run(books))
    sys.exit(0 if last is not None and not last.unexpected else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Probing:
    """What is asked, of whom, and how often."""

    questions: Sequence[KnownQuestion]
    url: str
    key: str
    every: float
    rounds: int | None
    timeout: float
    as_json: bool

    async def run(self, books: Books) -> Round | None:
        """Ask until all rounds were made, or SIGINT or SIGTERM comes; return the last whole one."""
        last = None
        task = asyncio.current_task()
        assert task is not None
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        with suppress(asyncio.CancelledError):
            async with httpx.AsyncClient(trust_env=False) as client:  # as traffic: no proxy
                ask = HttpProbe(
                    base_address(self.url), self.key, timeout_seconds=self.timeout, client=client
                )
                made = rounds(self.questions, ask, books, every_seconds=self.every)
                async with aclosing(made):
                    async for last in made:
                        self._tell(last)
                        if last.number == self.rounds:
                            break
        return last

    def _tell(self, made: Round) -> None:
        if self.as_json:
            print_json(made.as_json())
        else:
            click.echo(visible(made.told()))


def _key(settings: Settings) -> str:
    if settings.probe_key is None:
        raise SettingsError(["probe_key got nothing, expected: the service's LOOPSCOPE_PROBE_KEY"])
    return settings.probe_key.get_secret_value()


def _metrics(host: str, port: int, registry: CollectorRegistry) -> MetricsServer:
    try:
        server = start_metrics_server(port, host=host, registry=registry)
    except OSError as error:
        raise ServeError(host, port, error.strerror or str(error)) from error
    click.echo(f"metrics at http://{host}:{server.port}/metrics", err=True)
    return server
