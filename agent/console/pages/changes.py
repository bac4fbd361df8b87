"""Changes: versions over time, and what any two differ in."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from nicegui import ui

from agent.console import words
from agent.console.charts import bars
from agent.console.frame import frame, note, table, text
from agent.console.gate import NO_TURNS, turns_for
from agent.console.sources import Sources
from telemetry.compare import wording
from telemetry.compare.comparison import Comparison, compare
from telemetry.compare.from_records import RecordsSource, without_guard
from telemetry.compare.report import BLAME_COLUMNS, blame_cells
from telemetry.compare.window import moment, read_window
from telemetry.errors import NoChangeError, RecordsMissingError, TelemetryError
from telemetry.records import Group, RecordReader, Selection

LEAD = "Which version answered when, and whether what changed made anything worse."
DAYS: Final = 14
DAY: Final = 86_400
"""Of the chart, and the longest side around a change, in seconds."""
GUARD_SECONDS: Final = 60.0
"""Left out on both sides of a change, as `loopscope compare` does."""


def build(sources: Sources, caller: str) -> None:
    """Draw the page for a caller."""
    with frame("/changes", "Changes", LEAD):
        reader = turns_for(sources, caller)
        if reader is not None:
            box = ui.element("section").props('aria-live="polite"')

            async def look() -> None:
                with box:
                    await _look(reader)

            ui.timer(0, look, once=True)


async def _look(reader: RecordReader) -> None:
    since = time.time() - DAYS * DAY
    try:
        ends = await asyncio.to_thread(
            reader.aggregate, ["version", "outcome"], Selection(since=since), bucket_seconds=DAY
        )
        marks = await asyncio.to_thread(reader.marks, since=since, until=time.time())
    except RecordsMissingError:
        ends = marks = ()
    except TelemetryError as error:
        note(str(error), is_bad=True)
        return
    if not ends:
        note(f"{NO_TURNS} Turns of the last {DAYS} days are shown.")
        return
    with ui.element("div").classes("half"):
        with ui.element("div").classes("panel"):
            text(f"Turns by version, last {DAYS} days", tag="h2")
            _draw_days(ends)
        with ui.element("div").classes("panel"):
            text("Versions", tag="h2")
            _draw_versions(ends)
    _draw_choice(reader, _versions(ends))
    if marks:
        with ui.element("div").classes("panel"):
            text(f"Marks, last {DAYS} days", tag="h2")
            table(
                ("When", "What changed", "Tags"),
                [[moment(mark.at), mark.what, ", ".join(mark.tags)] for mark in reversed(marks)],
            )


def _draw_days(by_day: Sequence[Group]) -> None:
    days = sorted({int(group.key[2] or 0) for group in by_day})
    turns: Counter[tuple[str, int]] = Counter()
    for group in by_day:
        turns[str(group.key[0]), int(group.key[2] or 0)] += group.turns
    versions = sorted({version for version, _ in turns})
    chart = bars(
        [datetime.fromtimestamp(day, UTC).strftime("%d %b") for day in days],
        {version: [turns[version, day] for day in days] for version in versions},
        x_name="day (UTC)",
    )
    ui.echart(chart).style("height: 230px").props('role="img" aria-label="Turns a day by version"')


def _versions(by_day: Sequence[Group]) -> list[str]:
    """Return the versions in the order in which they came: their names tell none."""
    days: dict[str, int] = {}
    for group in sorted(by_day, key=lambda group: int(group.key[2] or 0)):
        days.setdefault(str(group.key[0]), int(group.key[2] or 0))
    return sorted(days, key=lambda version: (days[version], version))


def _draw_versions(ends: Sequence[Group]) -> None:
    versions = _versions(ends)
    rows = []
    for version in versions:
        mine = [group for group in ends if group.key[0] == version]
        turns = sum(group.turns for group in mine)
        by_outcome: Counter[str] = Counter()
        for group in mine:
            by_outcome[str(group.key[1])] += group.turns
        calls = sum(group.llm_calls for group in mine)
        rows.append(
            [
                version,
                f"{turns:,}",
                *(words.share(by_outcome[o] / turns)
                  for o in ("answered", "no_results", "off_topic")),
                f"{calls / turns:.1f}",
            ]
        )  # fmt: skip
    heads = ("Version", "Turns", "Answered", "No results", "Off topic", "Calls a turn")
    table(heads, rows, numbers=frozenset({1, 2, 3, 4, 5}))


def _draw_choice(reader: RecordReader, versions: Sequence[str]) -> None:
    with ui.element("div").classes("panel"):
        text("Before and after", tag="h2")
        with ui.element("div").classes("row"):
            box: list[ui.element] = []
            if len(versions) > 1:
                _draw_versions_to_compare(reader, versions, box)

            async def show_last() -> None:
                await _compare(reader, None, box[0])

            ui.button("Around the last change or mark", on_click=show_last).props("outline")
        if len(versions) < 2:
            text(
                "One version alone is recorded. Set LOOPSCOPE_VERSION to what you deploy, and two "
                "of them can be compared here.", "soft small",
            )  # fmt: skip
        box.append(ui.element("div").style("margin-top: 14px").props('aria-live="polite"'))


def _draw_versions_to_compare(
    reader: RecordReader, versions: Sequence[str], box: list[ui.element]
) -> None:
    before = ui.select(list(versions), value=versions[-2], label="Before")
    after = ui.select(list(versions), value=versions[-1], label="After")
    for control in (before, after):
        control.props("outlined dense").style("min-width: 160px")

    async def show() -> None:
        await _compare(reader, (str(before.value), str(after.value)), box[0])

    ui.button("Compare", on_click=show).props("unelevated")


async def _compare(reader: RecordReader, versions: tuple[str, str] | None, box: ui.element) -> None:
    box.clear()
    with box:
        text("Comparing …", "soft")
    try:
        comparison = await asyncio.to_thread(_comparison, reader, versions)
    except NoChangeError:
        problem = "All turns are of one build, and nothing is marked: nothing to compare around."
    except TelemetryError as error:
        problem = str(error)
    else:
        problem = ""
    box.clear()
    with box:
        if problem:
            note(problem, is_bad=True)
        else:
            _draw_comparison(comparison)


def _comparison(reader: RecordReader, versions: tuple[str, str] | None) -> Comparison:
    """Compare two versions, None for around the last change, as `loopscope compare` does."""
    source = RecordsSource.of(reader)
    if versions is None:
        first, second, change = source.windows_around_change(DAY, GUARD_SECONDS)
        return compare(source.side("before", first), source.side("after", second), change=change)
    now = time.time()
    before, after = (
        source.side(name, read_window(name, [f"version={version}"], now))
        for name, version in zip(("before", "after"), versions, strict=True)
    )
    return compare(*without_guard(before, after, GUARD_SECONDS))


def _draw_comparison(comparison: Comparison) -> None:
    text(wording.headline(comparison), tag="b")
    for side in (comparison.before, comparison.after):
        text(wording.side(side), "soft small")
    table(wording.COLUMNS, [wording.cells(finding) for finding in comparison.findings])
    if comparison.blame is not None:
        text("Where the jump comes from", tag="h2").style("margin-top: 14px")
        table(BLAME_COLUMNS, blame_cells(comparison.blame))
