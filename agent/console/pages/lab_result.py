"""What one run of the lab found: tables and curves read off its report, nothing counted anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nicegui import events, ui

from agent.console import words
from agent.console.charts import lines
from agent.console.frame import chip, fact, table, text
from agent.console.picture import draw_path
from agent.console.steps import of_answer, path_of, steps_of
from agent.console.waterfall import draw_steps
from agent.lab import tables
from agent.lab.report import LabReport
from agent.lab.runs import Row

_HEADS = ("Bound", "Answered", "No results", "Off topic", "Searches", "Model calls")


def draw_result(told: str, report: LabReport, *, is_alone: bool) -> None:
    """Draw a report.

    Args:
        told: What the run was made with, in one line.
        report: Its figures.
        is_alone: Whether it has the page's whole width.
    """
    _Result(report, is_alone=is_alone).draw(told)


class _Result:
    """A report with a slider for the bound and a switch for the topic check."""

    def __init__(self, report: LabReport, *, is_alone: bool) -> None:
        self._report = report
        self._is_alone = is_alone
        self._bound = report.bound.max_rewrites
        self._is_checked = True

    def draw(self, told: str) -> None:
        with ui.element("section").classes("panel"):
            with ui.element("div").classes("row"):
                text(str(self._report.bound.max_rewrites), "big")
                with ui.element("div").classes("grow"):
                    text("is the bound to set", tag="b")
                    text(f"{self._report.bound.reason}.", "small")
            text(told, "soft small").style("margin-top: 6px")
        with ui.element("div").classes("half" if self._is_alone else ""):
            with ui.element("section").classes("panel"):
                self._draw_controls()
                self._outcomes = ui.element("div")
            with ui.element("section").classes("panel"):
                text("Answered and paid, by bound", tag="h2")
                self._curve = ui.element("div")
        self._questions = ui.element("section").classes("panel")
        with ui.element("div").classes("half" if self._is_alone else ""):
            self._draw_topic_check()
            self._draw_orders()
        self._redraw()

    def _draw_controls(self) -> None:
        text("Outcomes, by bound", tag="h2")
        with ui.element("div").classes("row"):
            text("Bound", "soft small", tag="span")
            ui.slider(min=0, max=max(self._report.checked), step=1, value=self._bound,
                      on_change=self._choose_bound).props(
                'label markers snap aria-label="Bound on rewrites"').classes("grow")  # fmt: skip
            ui.switch("Topic check", value=True, on_change=self._choose_check)

    def _choose_bound(self, event: events.ValueChangeEventArguments[Any]) -> None:
        self._bound = int(event.value)
        self._redraw()

    def _choose_check(self, event: events.ValueChangeEventArguments[Any]) -> None:
        self._is_checked = bool(event.value)
        self._redraw()

    def _redraw(self) -> None:
        by_bound = self._report.checked if self._is_checked else self._report.unchecked
        outcomes = tables.outcomes_by_bound(by_bound)
        for box in (self._outcomes, self._curve, self._questions):
            box.clear()
        with self._outcomes:
            rows = [[f"{value:,}" for value in row.values()] for row in outcomes]
            table(_HEADS, rows, numbers=frozenset(range(6)), chosen=self._bound)
        with self._curve:
            _draw_curve(outcomes)
        with self._questions:
            text(f"Each question with {words.counted(self._bound, 'rewrite')} allowed", tag="h2")
            for row in by_bound[self._bound]:
                _draw_question(row, topic_check=self._is_checked)

    def _draw_topic_check(self) -> None:
        with ui.element("section").classes("panel"):
            text("Does the topic check pay?", tag="h2")
            cost = tables.topic_check_cost(self._report.checked, self._report.unchecked)
            rows = [[f"{value:,}" for value in row.values()] for row in cost]
            heads = ("Bound", "Calls with it", "Calls without it")
            table(heads, rows, numbers=frozenset({0, 1, 2}))
            pays = self._report.as_json()["more"]["topic_check_pays"]
            for row in pays:
                if row["max_rewrites"] == self._report.bound.max_rewrites:
                    text(_told_pays(row), "soft small").style("margin-top: 8px")

    def _draw_orders(self) -> None:
        report = self._report
        with ui.element("section").classes("panel"):
            text("Order of the router's checks", tag="h2")
            if report.outage is None or report.outage_budget_first is None:
                text("No question of this set is found only on its last rewrite.", "soft")
                return
            text(report.outage.golden.question, "text").style("margin-bottom: 6px")
            orders = tables.router_orders(report.outage, report.outage_budget_first)
            rows = [
                [
                    str(row["order"]).replace("_", " "),
                    str(row["ends_in"]).replace("_", " "),
                    f"{row['llm_calls']:,}",
                    str(row.get("passing_chunk_discarded", "–")),
                ]
                for row in orders
            ]
            heads = ("Order", "Ends in", "Model calls", "Passed chunk thrown away")
            table(heads, rows, numbers=frozenset({2}))


def _told_pays(row: dict[str, Any]) -> str:
    verdict = "pays" if row["pays"] else "does not pay"
    return (
        f"At the chosen bound it {verdict}: {words.share(row['off_topic_share'])} of the questions "
        f"are off topic, and it breaks even at "
        f"{words.share(row['breaks_even_at_off_topic_share'])}."
    )


def _draw_curve(outcomes: Sequence[dict[str, int]]) -> None:
    ui.echart(
        lines(
            [str(row["max_rewrites"]) for row in outcomes],
            {
                "answered, questions": [row["answered"] for row in outcomes],
                "model calls": [row["llm_calls"] for row in outcomes],
            },
            x_name="rewrites allowed",
            right="model calls",
        )
    ).style("height: 230px").props('role="img" aria-label="Answered and model calls by bound"')


def _draw_question(row: Row, *, topic_check: bool) -> None:
    answer = row.answer
    with ui.expansion().classes("question").props("dense header-class=row") as box:
        with box.add_slot("header"), ui.element("div").classes("row grow"):
            kind = "good" if row.is_right else "warn" if answer.outcome == "answered" else ""
            chip(words.outcome(answer.outcome), kind)
            text(row.golden.question, "text grow", tag="span")
            fact(f"{answer.llm_calls}", "model calls")
        turn = of_answer(answer)
        path = path_of(turn)
        drawn = ui.element("div").classes("two")
        box.on_value_change(
            lambda event: _open(drawn, event, lambda: _draw_path(turn, path, topic_check))
        )


def _draw_path(turn: Any, path: Any, topic_check: bool) -> None:
    with ui.element("div"):
        draw_path(
            ["__start__", *(visit.node for visit in path), "__end__"], topic_check=topic_check
        )
    with ui.element("div"):
        draw_steps(steps_of(turn, path), 0.0)


def _open(box: ui.element, event: events.ValueChangeEventArguments[Any], draw: Any) -> None:
    """Draw what is inside when it is opened first: a page of pictures would be slow."""
    if event.value and not box.default_slot.children:
        with box:
            draw()
