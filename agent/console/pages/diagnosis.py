"""Diagnosis: every failure of the guide with its signal, state, last turns and first steps."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from nicegui import events, ui

from agent.console import words
from agent.console.diagnosis import RANK, RecordedStates, State
from agent.console.firing import prometheus_states
from agent.console.frame import chip, frame, note, text
from agent.console.gate import NO_TURNS, turns_for
from agent.console.guide import GuideAlert, GuideFailure, guide
from agent.console.measures import MEASURES, Measure
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
_LINKS: Final = ("http://", "https://")
"""What runbooks begin with that a browser can open; the default is a path in the repository."""
_STATES: Final = {
    "page": ("Firing: page", "firing"),
    "ticket": ("Firing: ticket", "watch"),
    "pending": ("Pending", "watch"),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What one look at all failures found."""

    states: Mapping[str, State] = field(default_factory=dict)
    source: str = ""
    """Who tells, in words."""
    trouble: str = ""
    """Why it is not the one that was asked first."""


class _Diagnosis:
    """The list in one tab; drawn anew when a state changed."""

    def __init__(self, sources: Sources, reader: RecordReader | None) -> None:
        self._url = sources.settings.prometheus_url
        self._reader = reader
        self._shown = _Look()
        self._open: set[str] = set()
        """Slugs of the failures that are unfolded."""

    def draw(self) -> None:
        self._said = text("", "soft small").props('role="status"')
        self._box = ui.element("section").style("margin-top: 12px")
        ui.timer(REFRESH_SECONDS, self._look)

    async def _look(self) -> None:
        try:
            look = await asyncio.to_thread(self._now)
        except RecordsMissingError:
            self._problem(NO_TURNS)
        except FetchError as error:
            self._problem(f"{error}. {error.fix}")
        except TelemetryError as error:
            self._problem(str(error))
        else:
            self._said.say(f"From {look.source}, at {words.moment(time.time())}.")
            if look != self._shown:
                self._shown = look
                self._draw_states()

    def _now(self) -> _Look:
        if self._url is None:
            return self._recorded("")
        try:
            states = prometheus_states(guide(), self._url)
        except FetchError as error:
            if self._reader is None:
                raise
            try:
                return self._recorded(
                    f"Prometheus does not tell: {error}. {error.fix} Until it does, the turn "
                    "records are shown."
                )
            except RecordsMissingError:
                raise error from None
        return _Look(states=states, source=f"Prometheus at {self._url}")

    def _recorded(self, trouble: str) -> _Look:
        assert self._reader is not None  # else the page is not drawn, or Prometheus is asked
        recorded = RecordedStates(self._reader, time.time())
        states = {failure.slug: recorded.of(failure) for failure in guide()}
        return _Look(states=states, source="the turn records", trouble=trouble)

    def _problem(self, said: str) -> None:
        self._box.clear()
        self._shown = _Look()
        with self._box:
            note(said, is_bad=said != NO_TURNS)

    def _draw_states(self) -> None:
        self._box.clear()
        states = self._shown.states
        ranked = sorted(guide(), key=lambda failure: -RANK[states[failure.slug].level])
        told = [failure for failure in ranked if not states[failure.slug].seen_by]
        untold = [failure for failure in ranked if states[failure.slug].seen_by]
        with self._box:
            if self._shown.trouble:
                note(self._shown.trouble, is_bad=True)
            self._draw_list(told)
            if untold and self._url is None:
                text(ONLY_METRICS, "soft small").style("margin: 0 0 8px")
            self._draw_list(untold)

    def _draw_list(self, failures: list[GuideFailure]) -> None:
        if failures:
            with ui.element("div").classes("panel list"):
                for failure in failures:
                    self._draw_failure(failure, self._shown.states[failure.slug])

    def _draw_failure(self, failure: GuideFailure, state: State) -> None:
        said, kind = _STATES[state.level]
        with ui.expansion(value=failure.slug in self._open).props("dense") as box:
            with box.add_slot("header"), ui.element("div").classes("failure"):
                with ui.element("div"):
                    text(said, f"state {kind}")
                    if state.since is not None:
                        text(f"since {words.moment(state.since)}", "soft small")
                    if state.where:
                        text(f"in {state.where}", "soft small")
                with ui.element("div"):
                    text(failure.title, tag="b")
                    text(failure.sentence, "soft small")
                text(state.signal, "num small")
                text(state.seen_by or state.threshold, "soft small")
            inside = ui.element("div").classes("half").style("width: 100%; padding: 6px 0 14px")

            def opened(event: events.ValueChangeEventArguments[bool]) -> None:
                (self._open.add if event.value else self._open.discard)(failure.slug)
                if event.value:
                    self._fill(inside, failure)

            box.on_value_change(opened)
            if failure.slug in self._open:
                self._fill(inside, failure)

    def _fill(self, inside: ui.element, failure: GuideFailure) -> None:
        """Draw what is unfolded, once: the turns of all failures would be many queries."""
        if not inside.default_slot.children:
            with inside:
                _draw_steps(failure)
                _draw_alerts(failure, self._reader)


def _draw_steps(failure: GuideFailure) -> None:
    with ui.element("div"):
        text(failure.hurts, tag="p")
        text("First steps", tag="h2")
        with ui.element("ol").classes("plain"):
            for step in failure.first_steps:
                text(step, tag="li")
        runbook = failure.alerts[0].runbook_url.partition("#")[0]
        if not runbook.startswith(_LINKS):
            text(f"Runbook: {runbook}", "soft small mono")


def _draw_alerts(failure: GuideFailure, reader: RecordReader | None) -> None:
    with ui.element("div"):
        text("Alerts", tag="h2")
        for alert in failure.alerts:
            _draw_alert(alert)
        measures = _measures(failure)
        for measure, _ in measures:
            if measure.counts:
                text(f"Turn records count {measure.counts}.", "soft small")
        if reader is not None and measures:
            _draw_turns(measures[0], reader)


def _draw_alert(alert: GuideAlert) -> None:
    with ui.element("p").classes("small"):
        chip(alert.severity, "bad" if alert.severity == "page" else "warn")
        text(f" {alert.name}: {alert.condition} ", tag="span")
        if alert.runbook_url.startswith(_LINKS):
            ui.link("Runbook", alert.runbook_url, new_tab=True)


def _measures(failure: GuideFailure) -> list[tuple[Measure, float]]:
    """Return what records tell of a failure, each with the edge of the guide's signal."""
    names = dict.fromkeys(c.measure for alert in failure.alerts for c in alert.criteria)
    return [(MEASURES[n], failure.edges.get(n, 0.0)) for n in names if n in MEASURES]


def _draw_turns(measured: tuple[Measure, float], reader: RecordReader) -> None:
    measure, edge = measured
    text("Last turns that showed it", tag="h2")
    try:
        records = reader.list(measure.shown_by(edge), limit=LAST_TURNS).records
    except TelemetryError as error:
        note(str(error), is_bad=True)
        return
    if not records:
        text("None is recorded.", "soft small")
    for record in records:
        with ui.element("div").classes("row small"):
            ui.link(words.moment(record.started_at), f"/turns/{record.id}")
            text(record.question or f"({words.NOT_CAPTURED})", "text grow", tag="span")
