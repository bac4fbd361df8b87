"""Runs the whole lab and gathers its tables into one object, in the published figures' shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent.golden import GoldenSet
from agent.lab import cost, tables
from agent.lab.bound import ChosenBound, choose_bound
from agent.lab.budget import Budget
from agent.lab.clarify import clarify_effect
from agent.lab.quality import is_falsely_rejected, quality
from agent.lab.revise_stubs import router_table, worst_case
from agent.lab.runs import OnProgress, Row, ask, ask_all
from agent.lab.walk import walk
from agent.service import SupportAgent
from agent.settings import RouterOrder

PUBLISHED_BOUND = 2
"""Tables 1 and 5, the walk and the router orders are published for two rewrites."""


class MakeAgent(Protocol):
    """Makes an agent that differs from the user's settings in what the lab varies."""

    def __call__(
        self,
        *,
        max_rewrites: int,
        topic_check: bool,
        router_order: RouterOrder,
        clarify: bool = False,
    ) -> SupportAgent:
        """Return the agent; everything else is as the user's settings say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """A golden set, a way to make agents, and what to vary."""

    make_agent: MakeAgent
    golden: GoldenSet
    k: int
    max_bound: int = 3
    """Bounds 0 to this one are measured; at least 2."""
    recursion_limits: Sequence[int | None] = (None, 25)
    """For the unbounded graph; None is LangGraph's default."""
    clarify: bool = False
    """Also run with the clarifying branch, and compare."""
    budget: Budget | None = None
    """What one request may cost, to find the largest bounds."""

    @property
    def questions_to_ask(self) -> int:
        """How many times `run` reports progress."""
        runs = 2 * (self.max_bound + 1) + self.clarify
        return runs * len(self.golden.questions) + 1

    def run(self, on_progress: OnProgress) -> LabReport:
        """Ask everything; takes as long as the model does."""
        bounds = range(self.max_bound + 1)
        checked = {b: self._ask_all(b, topic_check=True, tick=on_progress) for b in bounds}
        unchecked = {b: self._ask_all(b, topic_check=False, tick=on_progress) for b in bounds}
        outage = tables.found_on_last_rewrite(checked[PUBLISHED_BOUND], PUBLISHED_BOUND)
        swapped = None
        if outage is not None:
            agent = self._agent(PUBLISHED_BOUND, router_order="budget_first")
            swapped = ask(agent, outage.golden, on_progress)
        return LabReport(
            golden=self.golden,
            k=self.k,
            checked=checked,
            unchecked=unchecked,
            outage=outage,
            outage_budget_first=swapped,
            unanswerable_walk=self._walk(checked[PUBLISHED_BOUND]),
            unbounded=tables.unbounded_runs(self.recursion_limits),
            clarified=self._clarified(on_progress),
            budget=self.budget,
        )

    def _ask_all(self, bound: int, *, topic_check: bool, tick: OnProgress) -> list[Row]:
        return ask_all(self._agent(bound, topic_check=topic_check), self.golden, tick)

    def _clarified(self, tick: OnProgress) -> list[Row] | None:
        """Ask everything with the clarifying branch; the bound plays no part in it."""
        if not self.clarify:
            return None
        agent = self.make_agent(
            max_rewrites=PUBLISHED_BOUND,
            topic_check=True,
            router_order="evidence_first",
            clarify=True,
        )
        return ask_all(agent, self.golden, tick)

    def _agent(
        self, bound: int, *, topic_check: bool = True, router_order: RouterOrder = "evidence_first"
    ) -> SupportAgent:
        return self.make_agent(
            max_rewrites=bound, topic_check=topic_check, router_order=router_order
        )

    def _walk(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        unanswerable = tables.one_of_each_kind(rows).get(tables.CASES[1])
        if unanswerable is None:
            return []
        return walk(self._agent(PUBLISHED_BOUND), unanswerable.golden)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabReport:
    """Everything that was counted; the tables are read off it."""

    golden: GoldenSet
    k: int
    checked: Mapping[int, Sequence[Row]]
    """Rows by bound, with the topic check."""
    unchecked: Mapping[int, Sequence[Row]]
    outage: Row | None
    """The question found only on the last rewrite; None when the set has none."""
    outage_budget_first: Row | None
    unanswerable_walk: list[dict[str, Any]]
    unbounded: list[dict[str, Any]]
    clarified: Sequence[Row] | None = None
    """Rows with the clarifying branch, when they were asked for."""
    budget: Budget | None = None

    @property
    def bound(self) -> ChosenBound:
        """The chosen bound and its reason."""
        return choose_bound({b: [r.is_right for r in rows] for b, rows in self.checked.items()})

    def topic_check_cost(self) -> list[dict[str, int]]:
        """The check's cost up to the chosen bound: no larger one is worth setting."""
        rows = tables.topic_check_cost(self.checked, self.unchecked)
        return [row for row in rows if row["max_rewrites"] <= self.bound.max_rewrites]

    def as_json(self) -> dict[str, Any]:
        """Return the published figures' keys and shapes, then what we add under `more`."""
        at_bound = self.checked[self.bound.max_rewrites]
        return {
            "table1_two_rewrites": tables.topic_and_grader(
                self.checked[PUBLISHED_BOUND], self.unchecked[PUBLISHED_BOUND]
            ),
            "topic_check_cost_over_the_golden_set": self.topic_check_cost(),
            "table2_unbounded_graph": self.unbounded,
            "router_order_on_the_outage_question_two_rewrites": (
                tables.router_orders(self.outage, self.outage_budget_first)
                if self.outage is not None and self.outage_budget_first is not None
                else []
            ),
            "table3_golden_set_by_bound": tables.outcomes_by_bound(self.checked),
            "chosen_bound": self.bound.max_rewrites,
            "call_cost_formulas": {
                "answered_on_first_retrieval": cost.ANSWERED_ON_FIRST_RETRIEVAL,
                "never_answered": cost.NEVER_ANSWERED,
                "k": self.k,
            },
            "student_discount_running_total_of_calls": self.unanswerable_walk,
            "table5_outage_question": (
                [] if self.outage is None else tables.attempts_of(self.outage)
            ),
            "revise_router_table": router_table(),
            "revise_loop": worst_case(),
            "more": {
                "chosen_because": self.bound.reason,
                "topic_check_cost_at_every_bound": tables.topic_check_cost(
                    self.checked, self.unchecked
                ),
                "topic_check_pays": [
                    cost.topic_check_pays(rows, self.k, bound)
                    for bound, rows in sorted(self.checked.items())
                ],
                "zero_score_grades": [
                    cost.zero_score_grades(rows, bound)
                    for bound, rows in sorted(self.checked.items())
                ],
                "formulas_against_counts": [
                    *cost.formulas_against_counts(self.checked, self.k, topic_check=True),
                    *cost.formulas_against_counts(self.unchecked, self.k, topic_check=False),
                ],
                "quality_at_chosen_bound": quality(at_bound),
                "guardrail_false_rejections": self.false_rejections(),
                "tokens_per_call": dict(self.budget.per_call) if self.budget else {},
                "budget": self.budget.rows() if self.budget else [],
                "clarifying_branch": (
                    clarify_effect(self.checked[PUBLISHED_BOUND], self.clarified)
                    if self.clarified is not None
                    else []
                ),
                "questions_at_chosen_bound": [
                    {**row.answer.as_json(), "is_right": row.is_right} for row in at_bound
                ],
                "failed": [row.answer.as_json() for row in self.failed()],
            },
        }

    def false_rejections(self) -> list[dict[str, Any]]:
        """On-topic questions that the guardrail refused: neither a miss nor a no-results reply."""
        rows = self.checked[self.bound.max_rewrites]
        return [
            {"question": row.golden.question, "phrasing": row.golden.phrasing}
            for row in rows
            if is_falsely_rejected(row)
        ]

    def failed(self) -> list[Row]:
        """Questions with no proper end at some bound, with the topic check."""
        ended_well = ("answered", "no_results", "off_topic", "clarify", "gave_up")
        return [
            row
            for rows in self.checked.values()
            for row in rows
            if row.answer.outcome not in ended_well
        ]
