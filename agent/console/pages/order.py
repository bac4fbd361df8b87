"""Order: the same question under both orders of the router's checks, side by side."""

from __future__ import annotations

import asyncio
from typing import Final, get_args

from nicegui import ui

from agent.answer import Answer
from agent.console.frame import frame, note, text
from agent.console.sources import Sources
from agent.console.steps import of_answer, path_of, steps_of
from agent.console.waterfall import draw_end, draw_steps
from agent.console.workbench import Plan
from agent.errors import AgentError
from agent.settings import RouterOrder

LEAD = (
    "After grading, the router looks at the evidence and at the budget. Which it looks at first "
    "decides what happens when the last allowed search succeeds."
)
EXAMPLE = "What happens if my server goes down?"
_ORDERS: Final[tuple[RouterOrder, ...]] = get_args(RouterOrder)
_TITLES: Final = {
    "evidence_first": "Evidence first (right)",
    "budget_first": "Budget first (the mistake)",
}


def build(sources: Sources, caller: str) -> None:  # noqa: ARG001 - a page's signature
    """Draw the page."""
    with frame("/order", "Order", LEAD):
        if sources.is_read_only:
            note("This console is read-only: it takes no questions.")
            return
        _Orders(sources).draw()


class _Orders:
    """One question under both orders in one tab."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def draw(self) -> None:
        models = list(dict.fromkeys(["golden", "local", self._sources.settings.model]))
        with ui.element("form").classes("row panel").on("submit.prevent", self._run):
            self._question = ui.input("Question", value=EXAMPLE).classes("grow")
            self._model = ui.select(models, value="golden", label="Model")
            self._bound = ui.number("Bound", value=2, min=0, max=20, precision=0)
            for control in (self._question, self._model, self._bound):
                control.props("outlined dense")
            self._bound.style("width: 90px")
            self._go = ui.button("Compare").props("unelevated type=submit")
        self._box = ui.element("section").classes("half").props('aria-live="polite"')
        ui.timer(0, self._run, once=True)

    async def _run(self) -> None:
        self._go.disable()
        try:
            answers = {
                order: await asyncio.to_thread(self._answer, order)
                for order in get_args(RouterOrder)
            }
        except AgentError as error:  # the edge: said where the comparison would be
            self._box.clear()
            with self._box:
                note(str(error), is_bad=True)
            return
        finally:
            self._go.enable()
        self._box.clear()
        with self._box:
            for order, answer in answers.items():
                turn = of_answer(answer)
                with ui.element("article").classes("panel"):
                    text(_TITLES[order], tag="h2")
                    draw_end(turn, None, permalink=False)
                    draw_steps(steps_of(turn, path_of(turn)), 0.0)
                    text(turn.reply or "", "text").style("margin-top: 10px")

    def _answer(self, order: RouterOrder) -> Answer:
        plan = Plan(model=str(self._model.value), router_order=order)
        agent = self._sources.workbench.agent(plan, max_rewrites=int(self._bound.value or 0))
        return agent.answer(self._question.value or "")
