"""The sub-command `canary`: blocks a pipeline's step until a rollout is decided."""

from __future__ import annotations

import json
import sys
import time
from typing import Final

import click

from telemetry.canary.counts import Source, Versions
from telemetry.canary.decision import Decision, decide
from telemetry.canary.from_prometheus import PrometheusWatch
from telemetry.canary.from_records import RecordsWatch
from telemetry.canary.measures import BY_NAME, MEASURES
from telemetry.canary.watching import Pace, watch
from telemetry.canary.wording import as_json, line
from telemetry.compare.options import refuse_two_sources, source_options
from telemetry.compare.window import moment, read_time
from telemetry.durations import Duration
from telemetry.errors import CompareInputError
from telemetry.finite import FiniteRange
from telemetry.prometheus_api import Prometheus

INTERRUPTED: Final = 130
"""As a shell tells it: 1 would mean roll back."""
LEAST_SECONDS: Final = 1
"""Between looks; there is news every ten seconds."""


@click.command()
@click.option("--stable", required=True, metavar="VERSION", help="The version that runs.")
@click.option("--canary", "newer", required=True, metavar="VERSION", help="The one on trial.")
@source_options
@click.option(
    "--since",
    metavar="TIME",
    help="When the canary came, ISO 8601 in UTC or a duration ago; default: its first turn within "
    "the last day.",
)
@click.option(
    "--every",
    type=Duration(LEAST_SECONDS),
    default="60s",
    show_default=True,
    help="Time between looks.",
)
@click.option(
    "--at-most",
    "at_most_seconds",
    type=Duration(0),
    default="2h",
    show_default=True,
    help="Give up undecided after this time.",
)
@click.option("--once", is_flag=True, help="Look once.")
@click.option(
    "--worse-by",
    type=FiniteRange(1, 50, min_open=True),
    default=5.0,
    show_default=True,
    metavar="POINTS",
    help="Rise of a share that is too much; a smaller one is promoted.",
)
@click.option(
    "--slow",
    "slow_seconds",
    type=Duration(0, min_open=True),
    help="A longer turn is slow, such as 10s; default: what nine of ten stable turns stayed below "
    "in the hour before.",
)
@click.option(
    "--measure",
    "chosen",
    multiple=True,
    type=click.Choice(list(BY_NAME)),
    help="Judge by this alone; several may be given. Default: all.",
)
@click.option("--json", "wants_json", is_flag=True, help="Print one JSON object a look.")
def canary(
    *,
    stable: str,
    newer: str,
    records_url: str | None,
    prometheus: Prometheus | None,
    graph: str | None,
    job: str | None,
    since: str | None,
    every: float,
    at_most_seconds: float,
    once: bool,
    worse_by: float,
    slow_seconds: float | None,
    chosen: tuple[str, ...],
    wants_json: bool,
) -> None:  # fmt: skip
    """Watch a canary beside the stable version: promote, roll back, or keep waiting.

    However often it looks, a canary that changed nothing is rolled back in at most 5 of 100
    rollouts. Exit codes: 0 promote, 1 roll back, 3 undecided, 2 wrong usage, 4 the data cannot be
    read.
    """
    versions = (stable, newer)
    if stable == newer:
        raise CompareInputError("--canary", newer, "another version than --stable", "Name both.")
    refuse_two_sources(records_url, prometheus)
    began = None if since is None else read_time("since", since, time.time())
    source: Source
    if records_url is not None:
        source = RecordsWatch(records_url, graph, versions, since=began, slow_seconds=slow_seconds)
    else:
        assert prometheus is not None
        source = PrometheusWatch(
            prometheus, graph, job, versions, since=began, slow_seconds=slow_seconds
        )
    measures = tuple(measure for measure in MEASURES if not chosen or measure.name in chosen)
    pace = Pace(every_seconds=every, at_most_seconds=0 if once else at_most_seconds)
    try:
        sys.exit(
            watch(
                lambda now: decide(source.read(now), worse_by / 100, measures),
                lambda now, found: _tell(now, found, versions, wants_json=wants_json),
                pace,
            )
        )
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _tell(now: float, found: Decision | str, versions: Versions, *, wants_json: bool) -> None:
    """Print a look at once, for whoever follows the pipeline."""
    if wants_json:
        told = {"at": now, "verdict": "keep waiting", "problem": found}
        if isinstance(found, Decision):
            told = as_json(found, versions, now)
        click.echo(json.dumps(told))
    elif isinstance(found, Decision):
        click.echo(line(found, versions, now))
    else:
        click.echo(f"{moment(now)} keep waiting: {found}")
    sys.stdout.flush()
