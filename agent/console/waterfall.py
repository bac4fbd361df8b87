"""A turn drawn: its steps as bars in time, with what each found, judged and changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nicegui import ui

from agent.console import words
from agent.console.frame import chip, fact, text
from agent.console.steps import ShownChunk, ShownTurn, Step

_KINDS: Final = {
    "fetch_content": "search",
    "search_fallback": "search",
    "validate_topic": "judge",
    "assess_relevance": "judge",
    "assess_fallback": "judge",
    "optimize_query": "rewrite",
}
_GOOD: Final = frozenset({"answered"})
_BAD: Final = frozenset({"error", "recursion_limit", "cancelled", "gave_up"})


def draw_steps(steps: Sequence[Step], duration_seconds: float, *, now: int | None = None) -> None:
    """Draw the lines of a waterfall.

    Args:
        steps: In order.
        duration_seconds: What the whole width stands for; 0 to show no times.
        now: The step to mark, from 0.
    """
    is_timed = duration_seconds > 0 and any(step.visit.began is not None for step in steps)
    with (
        ui.element("ol")
        .classes("steps" if is_timed else "steps flat")
        .props('aria-label="Steps of the turn"')
    ):
        for number, step in enumerate(steps):
            with ui.element("li").classes("now" if number == now else ""):
                _draw(step, duration_seconds if is_timed else None)


def _draw(step: Step, duration_seconds: float | None) -> None:
    visit = step.visit
    with ui.element("div").classes("name"):
        text(words.node(visit.node), tag="b").style("font-weight: 550")
        text(visit.node, "mono", tag="span")
    if duration_seconds is not None:
        _bar(step, duration_seconds)
    with ui.element("div").classes("more"):
        _facts(step)


def _bar(step: Step, duration_seconds: float) -> None:
    visit = step.visit
    if visit.began is None or visit.ended is None or duration_seconds <= 0:
        return
    left = min(100 * visit.began / duration_seconds, 99.0)
    width = min(100 * (visit.ended - visit.began) / duration_seconds, 100 - left)
    with ui.element("div").classes("track"):
        ui.element("i").classes(_KINDS.get(visit.node, "end")).style(
            f"left: {left:.2f}%; width: {width:.2f}%"
        )
    text(words.seconds(visit.ended - visit.began), "took num")


def _facts(step: Step) -> None:
    attempt, visit = step.attempt, step.visit
    if step.calls:
        text(words.counted(step.calls, "model call"), tag="span")
    if step.topic is not None:
        classification, confidence = step.topic
        chip(classification, "good" if classification == "relevant" else "warn")
        text(f"{confidence} confidence", tag="span")
    if attempt is None:
        return
    if visit.node == "optimize_query":
        _rewrite(attempt.query, attempt.similarity, attempt.effect, is_swap=attempt.is_swap)
    elif visit.node == "fetch_content":
        for chunk in attempt.chunks:
            text(f"{chunk.id} {words.score(chunk.score)}", "chip mono", tag="span")
        if not attempt.chunks:
            text("no chunk came back", tag="span")
    else:
        for chunk in attempt.chunks:
            _grade(chunk)


def _grade(chunk: ShownChunk) -> None:
    said = {True: ("passed", "good"), False: ("failed", "bad"), None: ("not graded", "")}
    word, kind = said[chunk.passed]
    chip(f"{chunk.id} {word}", kind)


def _rewrite(
    query: str | None, similarity: float | None, effect: str | None, *, is_swap: bool
) -> None:
    text(f"“{query}”" if query is not None else f"({words.NOT_CAPTURED})", tag="span")
    if similarity is not None:
        text(f"similarity {similarity:.2f} to the question", "chip", tag="span")
    if is_swap:
        chip("synonym swap", "warn")
    elif effect is not None:
        text(words.EFFECTS.get(effect, effect), tag="span")


def draw_end(turn: ShownTurn, trace_url: str | None, *, permalink: bool) -> None:
    """Draw how the turn ended, what it cost, and where more of it is."""
    kind = "good" if turn.outcome in _GOOD else "bad" if turn.outcome in _BAD else "warn"
    with ui.element("div").classes("row"):
        chip(words.outcome(turn.outcome), kind)
        if turn.reason is not None:
            text(words.reason(turn.reason), "small", tag="span")
        elif turn.citations:
            text(f"from {', '.join(turn.citations)}", "small", tag="span")
    with ui.element("div").classes("facts"):
        fact(f"{turn.llm_calls:,}", "model call" if turn.llm_calls == 1 else "model calls")
        if turn.input_tokens is None and turn.output_tokens is None:
            text("tokens: the model tells none", tag="span")
        else:
            fact(f"{turn.input_tokens or 0:,}", "tokens in")
            fact(f"{turn.output_tokens or 0:,}", "tokens out")
        fact(f"{turn.rewrites:,}", "rewrite" if turn.rewrites == 1 else "rewrites")
        fact(words.seconds(turn.duration_seconds), "in all")
        if permalink and turn.record_id is not None:
            ui.link("Permalink", f"/turns/{turn.record_id}")
        if trace_url is not None and turn.trace_id is not None:
            url = trace_url.replace("{trace_id}", turn.trace_id)
            ui.link("Trace", url, new_tab=True)
