"""Review: refused questions to judge with one key each, and how many refusals are wrong."""

from __future__ import annotations

import asyncio
from typing import Any

from nicegui import ui

from agent.beside import FileBesideError
from agent.console import words
from agent.console.frame import chip, fact, frame, note, text
from agent.console.gate import NO_TURNS, turns_for
from agent.console.sources import Sources
from agent.review.estimate import Estimate, estimate
from agent.review.export import as_csv, as_golden, as_labelled
from agent.review.sample import SHARE, Refusal, Sample, sample
from agent.review.verdicts import Judgement, Verdict, Verdicts, verdict_on
from telemetry.errors import RecordsMissingError, TelemetryError
from telemetry.records import RecordReader

LEAD = (
    "Refused questions, to judge by hand: every one of LOW confidence, and a random "
    f"{SHARE * 100:g} % of the others. Was it right to refuse?"
)


def build(sources: Sources, caller: str) -> None:
    """Draw the page for a caller."""
    with frame("/review", "Review", LEAD):
        reader = turns_for(sources, caller)
        if reader is not None:
            _Review(sources, reader, caller).draw()


class _Review:
    """The refusals left to judge in one tab."""

    def __init__(self, sources: Sources, reader: RecordReader, caller: str) -> None:
        self._reader = reader
        self._verdicts: Verdicts = sources.verdicts
        self._caller = caller or "console"
        self._is_read_only = sources.is_read_only
        self._left: list[Refusal] = []
        self._given: list[Verdict] = []
        self._sample = Sample(refusals=(), turns=0, unsure=0, sure=0)
        self._last: Refusal | None = None

    def draw(self) -> None:
        with ui.element("div").classes("half"):
            self._card = ui.element("section").props('aria-live="polite"')
            self._side = ui.element("section")
        ui.keyboard(on_key=self._key, ignore=["input", "textarea"])
        ui.timer(0, self._load, once=True)

    async def _load(self) -> None:
        try:
            self._sample = await asyncio.to_thread(sample, self._reader)
            self._given = await asyncio.to_thread(self._verdicts.all)
        except RecordsMissingError:
            pass
        except (TelemetryError, FileBesideError) as error:
            with self._card:
                note(str(error), is_bad=True)
            return
        judged = {verdict.turn_id for verdict in self._given}
        self._left = [
            refusal for refusal in self._sample.refusals if refusal.record.id not in judged
        ]
        self._redraw()

    def _key(self, event: Any) -> None:
        if not event.action.keydown or event.action.repeat or self._is_read_only:
            return
        if event.key == "r":
            self._judge("right")
        elif event.key == "w":
            self._judge("wrong")
        elif event.key == "u":
            self._undo()

    def _judge(self, judgement: Judgement) -> None:
        if not self._left:
            return
        refusal = self._left[0]
        verdict = verdict_on(
            refusal.record.id, judgement,
            is_sure=refusal.is_sure, question=refusal.record.question, by=self._caller,
        )  # fmt: skip
        try:
            self._verdicts.put(verdict)
        except FileBesideError as error:
            ui.notify(str(error), type="negative")
            return
        self._left.pop(0)
        self._last = refusal
        self._given.append(verdict)
        self._redraw()

    def _undo(self) -> None:
        if self._last is None:
            return
        try:
            self._verdicts.remove(self._last.record.id)
        except FileBesideError as error:
            ui.notify(str(error), type="negative")
            return
        self._left.insert(0, self._last)
        self._given.pop()
        self._last = None
        self._redraw()

    def _redraw(self) -> None:
        self._card.clear()
        self._side.clear()
        with self._card:
            self._draw_card()
        with self._side:
            of = self._sample
            found = estimate(self._given, turns=of.turns, unsure=of.unsure, sure=of.sure)
            _draw_estimate(found, of.sure)
            self._draw_exports()

    def _draw_card(self) -> None:
        if not self._left:
            refused = self._sample.unsure + self._sample.sure
            note("All chosen refusals are judged." if refused else
                 f"No refusal is recorded. {'' if self._sample.turns else NO_TURNS}")  # fmt: skip
            return
        record = self._left[0].record
        with ui.element("article").classes("panel"):
            text(f"{len(self._left):,} left to judge", "soft small num")
            text(record.question or f"Question: {words.NOT_CAPTURED}.", "ask-q text").style(
                "font-size: 18px; margin: 8px 0"
            )
            if record.question is None:
                text(words.HOW_TO_CAPTURE, "soft small")
            with ui.element("div").classes("row"):
                chip(f"{record.confidence or 'unknown'} confidence",
                     "warn" if not self._left[0].is_sure else "")  # fmt: skip
                text(words.moment(record.started_at), "soft small", tag="span")
                ui.link("The turn", f"/turns/{record.id}")
            if not self._is_read_only:
                self._draw_buttons()

    def _draw_buttons(self) -> None:
        with ui.element("div").classes("row").style("margin-top: 16px"):
            ui.button("Right to refuse (R)", on_click=lambda: self._judge("right")).props(
                "unelevated"
            )
            ui.button("Wrong: on topic (W)", on_click=lambda: self._judge("wrong")).props("outline")
            ui.button("Undo (U)", on_click=self._undo).props(
                "flat" + ("" if self._last else " disable")
            )

    def _draw_exports(self) -> None:
        if not self._given:
            return
        given = self._given
        with ui.element("div").classes("panel"):
            text("Take the verdicts with you", tag="h2")
            with ui.element("div").classes("row"):
                for name, file, make in (
                    ("CSV", "verdicts.csv", as_csv),
                    ("Labelled data", "labelled.jsonl", as_labelled),
                    ("Golden-set rows", "golden-rows.yaml", as_golden),
                ):
                    ui.button(
                        name,
                        on_click=lambda _, f=file, m=make: ui.download.content(m(given), f),
                    ).props("outline dense padding='4px 14px'")


def _draw_estimate(found: Estimate, sure: int) -> None:
    with ui.element("div").classes("panel"):
        text("Silent rejections, estimated", tag="h2")
        if found.share_of_refusals is None:
            text("Not yet known", "big")
            text(
                "Judge at least one refusal of each kind: unsure ones and "
                f"{sure:,} others." if sure else "Judge the first refusal.", "soft small",
            )  # fmt: skip
        else:
            text(words.share(found.share_of_turns), "big")
            text(
                f"of all turns; 95 % interval {words.share(found.turns_low)} to "
                f"{words.share(found.turns_high)}", "soft small",
            )  # fmt: skip
            text(
                f"{words.share(found.share_of_refusals)} of the refusals "
                f"({words.share(found.low)} to {words.share(found.high)})", "small",
            )  # fmt: skip
        with ui.element("div").classes("facts"):
            fact(f"{found.judged:,}", "judged")
            fact(f"{found.wrong:,}", "wrong")
        text("Unsure refusals are all shown and the others in part, so each kind is weighted by "
             "how many there are.", "soft small").style("margin-top: 8px")  # fmt: skip
