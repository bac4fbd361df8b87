"""What a topic check costs and what it saves, in model calls."""

from __future__ import annotations

from dataclasses import dataclass

from dashboards.boards.queries import Queries, has, ratio
from telemetry import names


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """PromQL of both sides of the account, in model calls."""

    queries: Queries
    is_rate: bool = False
    """Per second, over the step of a panel; else events of the whole range."""

    def off_topic(self) -> str:
        """Return the turns that the check stopped before any search."""
        return self._gained(
            names.TURNS,
            has(names.LABEL_OUTCOME, names.OFF_TOPIC),
            has(names.LABEL_RETRIEVED, names.NO),
        )

    def checks(self) -> str:
        """Return the verdicts given."""
        return self._gained(names.TOPIC_CHECKS)

    def spent(self) -> str:
        """Return the calls that the check made."""
        return self._gained(names.LLM_CALLS, has(names.LABEL_ROLE, names.GUARD))

    def off_topic_share(self) -> str:
        """Return the stopped turns as a share of the checked ones."""
        return ratio(self.off_topic(), self.checks())

    def calls_a_check(self) -> str:
        """Return the calls of one check: 1 unless it retries or asks several models."""
        return ratio(self.spent(), self.checks())

    def loop(self) -> str:
        """Return the calls of a full loop without its check, measured, else by the formula."""
        return f"({self.measured_loop()} or {self.formula(self._budget())})"

    def measured_loop(self) -> str:
        """Return the mean calls of turns that found nothing, without checks and enhancement."""
        found_nothing = has(names.LABEL_OUTCOME, names.NO_RESULTS)
        calls = self._gained(f"{names.LLM_CALLS_PER_TURN}_sum", found_nothing)
        turns_made = self._gained(f"{names.LLM_CALLS_PER_TURN}_count", found_nothing)
        once = self._gained(names.LLM_CALLS, has(names.LABEL_ROLE, names.GUARD, names.ENHANCE))
        all_turns = self._gained(f"{names.LLM_CALLS_PER_TURN}_count")
        return f"({ratio(calls, turns_made)} - {ratio(once, all_turns)})"

    def formula(self, bound: str) -> str:
        """Return k (m + 1) + m: m + 1 searches with k graded chunks each, and m rewrites."""
        return f"({self._graded_a_search()} * ({bound} + 1) + {bound})"

    def saved(self) -> str:
        """Return the calls that the stopped questions would have cost."""
        return f"({self.off_topic()} * {self.loop()})"

    def break_even(self) -> str:
        """Return the off-topic share at which both sides are equal."""
        return f"({self.calls_a_check()} / {self.loop()})"

    def gain(self) -> str:
        """Return the calls saved for each call spent."""
        return f"{self.saved()} / ({self.spent()} > 0)"

    def _graded_a_search(self) -> str:
        searches = self._gained(names.RETRIEVALS, has(names.LABEL_RESULT, names.HIT))
        return f"({ratio(self._gained(names.GRADES_GIVEN), searches)})"

    def _budget(self) -> str:
        return f"max({self.queries.one(names.REWRITE_BUDGET)})"

    def _gained(self, metric: str, *matchers: str) -> str:
        count = self.queries.per_second if self.is_rate else self.queries.gained
        return count(metric, *matchers)
