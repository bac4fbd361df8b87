"""Diagnosis: every failure of the guide with its signal, state, last turns and first steps."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Final

from nicegui import events, ui

from agent.console import words
from agent.console.diagnosis import (
    COUNTED,
    SHOWN_BY,
    WINDOWS,
    State,
    counts,
    from_prometheus,
    from_records,
)
from agent.console.frame import chip, frame, note, text
from agent.console.gate import NO_TURNS, turns_for
from agent.console.guide import GuideFailure, guide
from agent.console.sources import Sources
from telemetry.errors import RecordsMissingError, TelemetryError
from telemetry.fetch import FetchError
from telemetry.records import RecordReader

LEAD = "The known failures of such a loop: which of them is happening, and what to do about it."
REFRESH_SECONDS: Final = 15.0
ONLY_METRICS: Final = (
    "Turn records cannot tell these; set LOOPSCOPE_PROMETHEUS_URL to see them here as well."
)
LAST_TURNS: Final = 5
_STATES: Final = {
    "page": ("Firing: page", "firing"),
    "ticket": ("Firing: ticket", "watch"),
    "quiet": ("Quiet", "ok"),
    "unknown": ("Not known", ""),
}


def build(sources: Sources, caller: str) -> None:
    """Draw the page for a caller."""
    with frame("/diagnosis", "Diagnosis", LEAD):
        reader = turns_for(sources, caller)
        is_told = reader is not None or sources.settings.prometheus_url is not None
        if is_told and sources.may_see_turns(caller):
            _Diagnosis(sources, reader).draw()


class _Diagnosis:
    """The list in one tab; drawn anew when a state changed."""

    def __init__(self, sources: Sources, reader: RecordReader | None) -> None:
        self._url = sources.settings.prometheus_url
        self._reader = reader
        self._states: Mapping[str, State] = {}

    def draw(self) -> None:
        self._said = text("", "soft small").props('role="status"')
        self._box = ui.element("section").style("margin-top: 12px")
        ui.timer(REFRESH_SECONDS, self._look)

    async def _look(self) -> None:
        try:
            states = await asyncio.to_thread(self._now)
        except RecordsMissingError:
            self._problem(NO_TURNS)
        except (FetchError, TelemetryError) as error:
            fix = f". {error.fix}" if isinstance(error, FetchError) else ""
            self._problem(f"{error}{fix}")
        else:
            source = f"Prometheus at {self._url}" if self._url else "the turn records"
            self._said.say(f"From {source}, at {words.moment(time.time())}.")
            if states != self._states:
                self._states = states
                self._draw_states()

    def _now(self) -> Mapping[str, State]:
        if self._url is not None:
            return from_prometheus(guide(), self._url)
        assert self._reader is not None
        now = time.time()
        windows = {name: counts(self._reader, now - length) for name, length in WINDOWS.items()}
        return {failure.slug: from_records(failure, windows) for failure in guide()}

    def _problem(self, said: str) -> None:
        self._box.clear()
        self._states = {}
        with self._box:
            note(said, is_bad=said != NO_TURNS)

    def _draw_states(self) -> None:
        self._box.clear()
        order = {"page": 0, "ticket": 1, "quiet": 2, "unknown": 3}
        ranked = sorted(guide(), key=lambda f: order[self._states[f.slug].level])
        unseen = [failure for failure in ranked if self._states[failure.slug].seen_by]
        with self._box:
            with ui.element("div").classes("panel list"):
                for failure in ranked:
                    if failure not in unseen:
                        _draw_failure(failure, self._states[failure.slug], self._reader)
            if unseen:
                text(ONLY_METRICS, "soft small").style("margin: 0 0 8px")
                with ui.element("div").classes("panel list"):
                    for failure in unseen:
                        _draw_failure(failure, self._states[failure.slug], self._reader)


def _draw_failure(failure: GuideFailure, state: State, reader: RecordReader | None) -> None:
    said, kind = _STATES[state.level]
    with ui.expansion().props("dense") as box:
        with box.add_slot("header"), ui.element("div").classes("failure"):
            text(said, f"state {kind}")
            with ui.element("div"):
                text(failure.title, tag="b")
                text(failure.sentence, "soft small")
            text(state.signal, "num small")
            text(state.seen_by or state.threshold, "soft small")
        inside = ui.element("div").classes("half").style("width: 100%; padding: 6px 0 14px")

        def opened(event: events.ValueChangeEventArguments[bool]) -> None:
            if event.value and not inside.default_slot.children:
                with inside:
                    _draw_inside(failure, reader)

        box.on_value_change(opened)


def _draw_inside(failure: GuideFailure, reader: RecordReader | None) -> None:
    with ui.element("div"):
        text(failure.hurts, tag="p")
        text("First steps", tag="h2")
        with ui.element("ol").classes("plain"):
            for step in failure.first_steps:
                text(step, tag="li")
        text(f"Runbook: docs/runbooks/{failure.runbook}", "soft small mono")
    with ui.element("div"):
        text("Alerts", tag="h2")
        for alert in failure.alerts:
            with ui.element("p").classes("small"):
                chip(alert.severity, "bad" if alert.severity == "page" else "warn")
                text(f" {alert.name}: {alert.condition}", tag="span")
        if failure.slug in COUNTED:
            text(f"Turn records count {COUNTED[failure.slug]}.", "soft small")
        _draw_turns(failure, reader)


def _draw_turns(failure: GuideFailure, reader: RecordReader | None) -> None:
    selection = SHOWN_BY.get(failure.slug)
    if selection is None or reader is None:
        return
    text("Last turns that showed it", tag="h2")
    try:
        records = reader.list(selection, limit=LAST_TURNS).records
    except TelemetryError as error:
        note(str(error), is_bad=True)
        return
    if not records:
        text("None is recorded.", "soft small")
    for record in records:
        with ui.element("div").classes("row small"):
            ui.link(words.moment(record.started_at), f"/turns/{record.id}")
            text(record.question or f"({words.NOT_CAPTURED})", "text grow", tag="span")
