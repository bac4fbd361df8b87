"""Walk: any question one node at a time, forward and back, with what was spent so far."""

from __future__ import annotations

import asyncio

from nicegui import ui

from agent.console import words
from agent.console.frame import chip, frame, note, text
from agent.console.picture import draw_path
from agent.console.sources import Sources
from agent.console.workbench import Plan
from agent.errors import AgentError
from agent.lab.stages import Stage, stages

LEAD = (
    "One question, one node at a time: what the router saw, how many rewrites were made, and the "
    "model calls so far. Arrow keys step forward and back."
)
EXAMPLE = "Do you offer a student discount?"


def build(sources: Sources, caller: str) -> None:  # noqa: ARG001 - a page's signature
    """Draw the page."""
    with frame("/walk", "Walk", LEAD):
        if sources.is_read_only:
            note("This console is read-only: it takes no questions.")
            return
        _Walk(sources).draw()


class _Walk:
    """One walk in one tab."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._stages: list[Stage] = []
        self._at = 0

    def draw(self) -> None:
        with ui.element("form").classes("row panel").on("submit.prevent", self._run):
            self._question = ui.input("Question", value=EXAMPLE).classes("grow")
            self._model = ui.select(_models(self._sources), value="golden", label="Model")
            self._bound = ui.number("Bound", value=2, min=0, max=20, precision=0)
            for control in (self._question, self._model, self._bound):
                control.props("outlined dense")
            self._bound.style("width: 90px")
            self._go = ui.button("Walk").props("unelevated type=submit")
        self._box = ui.element("section").props('aria-live="polite"')
        ui.keyboard(on_key=self._key, ignore=["input", "select", "button", "textarea"])
        ui.timer(0, self._run, once=True)

    async def _run(self) -> None:
        plan = Plan(model=str(self._model.value))
        bound = int(self._bound.value or 0)
        self._go.disable()
        try:
            agent = await asyncio.to_thread(self._sources.workbench.agent, plan, max_rewrites=bound)
            self._stages = await asyncio.to_thread(stages, agent, self._question.value or "")
        except AgentError as error:  # the edge: said where the walk would be
            self._stages = []
            self._box.clear()
            with self._box:
                note(str(error), is_bad=True)
            return
        finally:
            self._go.enable()
        self._at = 0
        self._draw_stage()

    def _key(self, event: object) -> None:
        key = getattr(event, "key", None)
        action = getattr(event, "action", None)
        if key is None or action is None or not action.keydown:
            return
        if key.arrow_right:
            self._step(1)
        elif key.arrow_left:
            self._step(-1)

    def _step(self, by: int) -> None:
        if self._stages:
            self._at = min(max(self._at + by, 0), len(self._stages) - 1)
            self._draw_stage()

    def _draw_stage(self) -> None:
        self._box.clear()
        stage = self._stages[self._at]
        with self._box:
            self._draw_bar()
            with ui.element("div").classes("two"):
                with ui.element("div").classes("panel"):
                    draw_path([stage.node])
                with ui.element("div"):
                    with ui.element("div").classes("panel"):
                        _draw_state(stage)
                    with ui.element("div").classes("panel"):
                        self._draw_list()

    def _draw_bar(self) -> None:
        stage = self._stages[self._at]
        with ui.element("div").classes("row panel"):
            ui.button("← Back", on_click=lambda: self._step(-1)).props(
                "outline dense padding='4px 14px'" + (" disable" if self._at == 0 else "")
            )
            is_last = self._at == len(self._stages) - 1
            ui.button("Forward →", on_click=lambda: self._step(1)).props(
                "unelevated dense padding='4px 14px'" + (" disable" if is_last else "")
            )
            text(f"Step {self._at + 1} of {len(self._stages)}", "num", tag="span")
            text(f"{stage.rewrites} of {stage.max_rewrites} rewrites", "chip num", tag="span")
            text(f"{words.counted(stage.llm_calls, 'model call')} so far", "chip num", tag="span")

    def _draw_list(self) -> None:
        with ui.element("ol").classes("steps"):
            before = 0
            for number, stage in enumerate(self._stages):
                with ui.element("li").classes("now" if number == self._at else ""):
                    text(words.node(stage.node), "name")
                    text(f"+{words.counted(stage.llm_calls - before, 'call')}", "soft small num")
                    text(f"{stage.llm_calls}", "took num")
                before = stage.llm_calls


def _draw_state(stage: Stage) -> None:
    text(words.node(stage.node), tag="h2")
    with ui.element("dl"):
        _fact("Search words", stage.query)
        if stage.topic is not None:
            _fact("Topic", " with ".join(
                [stage.topic["classification"].lower(),
                 f"{stage.topic['confidence'].lower()} confidence"]))  # fmt: skip
        text("Chunks", tag="dt")
        with ui.element("dd").classes("row chips"):
            for chunk in stage.latest["chunks"] if stage.latest else []:
                kind = {"pass": "good", "fail": "bad"}.get(chunk["grade"], "")
                chip(f"{chunk['id']} {words.score(chunk['score'])} {chunk['grade']}", kind)
            if stage.latest is None:
                text("none yet", "soft", tag="span")
        _fact("Rewrites", f"{stage.rewrites} of {stage.max_rewrites}")
        _fact("Model calls", f"{stage.llm_calls} so far")
        _fact("Outcome", stage.outcome and words.outcome(stage.outcome))
        _fact("Reason", stage.reason and words.reason(stage.reason))
        _fact("Reply", stage.reply)
        _fact("Goes on to", words.node(stage.next_node) if stage.next_node else "the end")


def _fact(name: str, value: str | None) -> None:
    if value:
        text(name, tag="dt")
        text(value, "text", tag="dd")


def _models(sources: Sources) -> list[str]:
    return list(dict.fromkeys(["golden", "local", sources.settings.model]))
