"""The sub-command `compare`: two sides of a change, a verdict and an exit code for pipelines."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from telemetry.compare.comparison import Comparison
from telemetry.compare.comparison import compare as compare_sides
from telemetry.compare.from_prometheus import compare_prometheus
from telemetry.compare.from_records import RecordsSource, without_guard
from telemetry.compare.measures import BY_NAME, MEASURES, Measure
from telemetry.compare.options import (
    readable,
    records_beside_prometheus,
    refuse_two_sources,
    source_options,
)
from telemetry.compare.page import page
from telemetry.compare.report import as_json, markdown, print_report
from telemetry.compare.window import Window, read_window, refuse_overlap
from telemetry.durations import Duration
from telemetry.errors import CompareInputError, NothingComparedError, RecordsMissingError
from telemetry.prometheus_api import Prometheus
from telemetry.records import Mark, open_reader


@click.command()
@source_options
@click.option(
    "--before",
    multiple=True,
    metavar="TERM",
    help="LABEL=VALUE (version, index, prompt, grader, model), since=TIME, until=TIME or "
    "TIME..TIME; several narrow. A TIME is ISO 8601 in UTC, or a duration ago as 2h.",
)
@click.option("--after", multiple=True, metavar="TERM", help="As --before.")
@click.option(
    "--guard",
    type=Duration(0),
    default="1m",
    show_default=True,
    help="Left out on both sides of the change.",
)
@click.option(
    "--window",
    "length",
    type=Duration(0, min_open=True),
    default="1d",
    show_default=True,
    help="Longest side around the last change, when no sides are named.",
)
@click.option(
    "--measure",
    "chosen",
    multiple=True,
    type=click.Choice(list(BY_NAME)),
    help="Compare only this; several may be given. Default: all.",
)
@click.option("--json", "wants_json", is_flag=True, help="Print one JSON object.")
@click.option("--markdown", "wants_markdown", is_flag=True, help="Print Markdown.")
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also write one page with charts.",
)
def compare(
    *,
    records_url: str | None,
    prometheus: Prometheus | None,
    before: tuple[str, ...],
    after: tuple[str, ...],
    graph: str | None,
    job: str | None,
    guard: float,
    length: float,
    chosen: tuple[str, ...],
    wants_json: bool,
    wants_markdown: bool,
    html: Path | None,
) -> None:  # fmt: skip
    """Say whether it became worse after a change, since when, and what is to blame.

    Without --before and --after: around the last change of the build, or the last mark when that is
    later. Marks are in the records: beside --prometheus, --records says where. Exit codes: 0 fine,
    1 worse, 3 not enough data, 2 wrong usage, 4 the data cannot be read.
    """
    beside = None if before or after else records_beside_prometheus()
    if beside is not None:
        records_url = None
    _refuse_contradictions(records_url, prometheus, before, after)
    if wants_json and wants_markdown:
        raise CompareInputError("--json", "--markdown too", "one of them", "Leave one out.")
    sides = _read_sides(before, after)
    measures = tuple(measure for measure in MEASURES if not chosen or measure.name in chosen)
    if records_url is not None:
        source = records_url
        found = readable(lambda: _from_records(source, sides, graph, (guard, length), measures))
    else:
        assert prometheus is not None
        server = prometheus
        found = readable(
            lambda: compare_prometheus(
                server,
                sides,
                graph=graph,
                job=job,
                margins=(guard, length),
                measures=measures,
                marks=() if beside is None else _marks(*beside),
            )
        )
    if html is not None:
        _write(html, page(found))
    _print(found, wants_json=wants_json, wants_markdown=wants_markdown)
    sys.exit(found.exit_code)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:  # would end with 1, which means worse
        raise NothingComparedError(
            f"--html: got {error.strerror!r} for {str(path)!r}, expected a file that can be "
            "written. Check the path, its rights and the disk."
        ) from None


def _refuse_contradictions(
    records_url: str | None,
    prometheus: Prometheus | None,
    before: tuple[str, ...],
    after: tuple[str, ...],
) -> None:
    refuse_two_sources(records_url, prometheus)
    if bool(before) != bool(after):
        missing = "--after" if before else "--before"
        raise CompareInputError(
            missing, "nothing", "both sides, or neither", f"Add {missing}, for example 1d..1h."
        )


def _read_sides(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[Window, Window] | None:
    if not before:
        return None
    now = time.time()
    sides = read_window("before", before, now), read_window("after", after, now)
    refuse_overlap(*sides)
    return sides


def _marks(url: str, must_be_there: bool) -> Sequence[Mark]:
    """Return the marks of a store, oldest first."""
    try:
        with open_reader(url) as reader:
            return reader.marks(until=time.time())
    except RecordsMissingError:
        if must_be_there:
            raise
        return ()


def _from_records(
    url: str,
    sides: tuple[Window, Window] | None,
    graph: str | None,
    margins: tuple[float, float],
    measures: tuple[Measure, ...],
) -> Comparison:
    guard, length = margins
    with open_reader(url) as reader:
        source = RecordsSource.of(reader, graph)
        change = None
        if sides is None:
            first, second, change = source.windows_around_change(length, guard)
            sides = (first, second)
        before, after = source.side("before", sides[0]), source.side("after", sides[1])
    if change is None and (sides[0].labels or sides[1].labels):
        before, after = without_guard(before, after, guard)
    return compare_sides(before, after, change=change, measures=measures)


def _print(found: Comparison, *, wants_json: bool, wants_markdown: bool) -> None:
    if wants_json:
        click.echo(json.dumps(as_json(found), indent=2))
    elif wants_markdown:
        click.echo(markdown(found), nl=False)
    else:
        print_report(found, Console())
