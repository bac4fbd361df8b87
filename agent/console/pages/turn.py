"""One turn by its permalink: its waterfall, from the record that was kept of it."""

from __future__ import annotations

from nicegui import ui

from agent.console import words
from agent.console.frame import frame, note, text
from agent.console.gate import turns_for
from agent.console.sources import Sources
from agent.console.steps import of_record, path_of, steps_of
from agent.console.waterfall import draw_end, draw_steps
from telemetry.errors import TelemetryError
from telemetry.records import TurnRecord
from telemetry.records.record import MAX_NODE_RUNS

NO_TIMES = (
    "This record is of before the times of nodes were kept: its steps follow from what is kept of "
    "searches and the end."
)


def build(sources: Sources, caller: str, record_id: str) -> None:
    """Draw one turn."""
    with frame("/turns", "One turn", "As its record was kept: ids, counts, scores and verdicts."):
        reader = turns_for(sources, caller)
        if reader is None:
            return
        try:
            record = reader.get(record_id)
        except TelemetryError as error:
            note(str(error), is_bad=True)
            return
        if record is None:
            note("There is no such turn, or it is no longer kept. Check the link.", is_bad=True)
            return
        _draw(sources, record)


def _draw(sources: Sources, record: TurnRecord) -> None:
    shown = of_record(record)
    with ui.element("div").classes("panel two"):
        with ui.element("div"):
            text(shown.question or f"Question: {words.NOT_CAPTURED}.", "ask-q text")
            text(shown.reply or f"Reply: {words.NOT_CAPTURED}.", "text")
            _facts(record)
        with ui.element("div"):
            draw_end(shown, sources.settings.trace_url, permalink=False)
            draw_steps(steps_of(shown, path_of(shown)), shown.duration_seconds)
            if not record.nodes:
                text(NO_TIMES, "soft small")
            elif len(record.nodes) == MAX_NODE_RUNS:
                text(f"A record keeps the first {MAX_NODE_RUNS} steps; the trace has all.",
                     "soft small")  # fmt: skip


def _facts(record: TurnRecord) -> None:
    labels = record.labels
    facts = {
        "When": words.moment(record.started_at),
        "Version": record.version,
        "Model": labels.model,
        "Index": labels.index,
        "Findings": ", ".join(record.findings).replace("_", " ") or "none",
        "Bound": None if record.max_rewrites is None else f"{record.max_rewrites} rewrites",
        "Trace": record.trace_id,
        "Record": record.id,
    }
    with ui.element("dl").style("margin-top: 18px"):
        for name, value in facts.items():
            if value is not None:
                text(name, tag="dt")
                text(value, "mono" if name in ("Trace", "Record", "Index") else "", tag="dd")
