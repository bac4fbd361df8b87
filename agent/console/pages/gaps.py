"""Gaps: what people asked and the documents did not answer, grouped and counted."""

from __future__ import annotations

import asyncio
import json

from nicegui import ui

from agent.console import words
from agent.console.frame import fact, frame, note, text
from agent.console.gate import NO_TURNS, turns_for
from agent.console.sources import Sources
from agent.gaps.export import as_csv, as_json, trend
from agent.gaps.report import Gap, Gaps, find_gaps
from telemetry.errors import RecordsMissingError, TelemetryError
from telemetry.records import RecordReader

LEAD = "Questions that found nothing, grouped by what they ask: what to write next."
SHOWN = 40


def build(sources: Sources, caller: str) -> None:
    """Draw the page for a caller."""
    with frame("/gaps", "Gaps", LEAD):
        reader = turns_for(sources, caller)
        if reader is None:
            return
        box = ui.element("section").props('aria-live="polite"')
        with box:
            text("Grouping the questions …", "soft").props('role="status"')

        async def look() -> None:
            await _look(sources, reader, box)

        ui.timer(0, look, once=True)


async def _look(sources: Sources, reader: RecordReader, box: ui.element) -> None:
    index = sources.composition.index
    try:
        gaps = await asyncio.to_thread(find_gaps, reader, index)
    except RecordsMissingError:
        gaps = Gaps(gaps=(), turns=0, captured=0)
    except TelemetryError as error:
        box.clear()
        with box:
            note(str(error), is_bad=True)
        return
    box.clear()
    with box:
        _draw(gaps)


def _draw(gaps: Gaps) -> None:
    if not gaps.turns:
        note(f"No turn without results is recorded. {NO_TURNS}")
        return
    if gaps.captured < gaps.turns:
        note(
            f"{gaps.turns - gaps.captured:,} of {words.counted(gaps.turns, 'turn')} have no text: "
            "only equal questions are grouped, and neither their words nor what the documents "
            f"lack can be shown. {words.HOW_TO_CAPTURE}"
        )
    with ui.element("div").classes("row").style("margin-bottom: 16px"):
        fact(f"{gaps.turns:,}", "turns without results")
        fact(f"{len(gaps.gaps):,}", "groups")
        ui.element("span").classes("grow")
        with ui.element("div").classes("row"):  # kept side by side where the line is too short
            ui.button("CSV", on_click=lambda: ui.download.content(as_csv(gaps), "gaps.csv")).props(
                "outline dense padding='4px 14px'"
            )
            ui.button(
                "JSON",
                on_click=lambda: ui.download.content(
                    json.dumps(as_json(gaps), indent=2), "gaps.json"
                ),
            ).props("outline dense padding='4px 14px'")
    for gap in gaps.gaps[:SHOWN]:
        _draw_gap(gap)
    if len(gaps.gaps) > SHOWN:
        text(f"{len(gaps.gaps) - SHOWN:,} smaller groups are in the exports.", "soft small")


def _draw_gap(gap: Gap) -> None:
    with ui.element("article").classes("panel gap"):
        with ui.element("div"):
            text(f"{gap.turns:,}", "big")
            text("turn" if gap.turns == 1 else "turns", "soft small")
        with ui.element("div"):
            for place, question in enumerate(gap.questions):
                text(question, "text ask-q" if place == 0 else "text soft")
            if not gap.questions:
                text(f"Question: {words.NOT_CAPTURED}", "ask-q")
            more = gap.different - len(gap.questions)
            if gap.questions and more > 0:
                text(f"and {words.counted(more, 'other wording')}", "soft small")
        with ui.element("dl"):
            text("Trend", tag="dt")
            text(trend(gap), "num", tag="dd")
            text("Nearest", tag="dt")
            with ui.element("dd").classes("row chips"):
                for id_, score in gap.nearest:
                    text(f"{id_} {words.score(score)}", "chip mono", tag="span")
                if not gap.nearest:
                    text("no chunk shares a word", "soft", tag="span")
            if gap.missing_words:
                text("Words missing", tag="dt")
                text(", ".join(gap.missing_words), tag="dd")
            text("Turns", tag="dt")
            with ui.element("dd").classes("row chips"):
                for number, turn_id in enumerate(gap.turn_ids, 1):
                    ui.link(f"turn {number}", f"/turns/{turn_id}")
