"""Answers and model calls by the rewrite that they belong to: the running traffic's own table.

A turn that is answered after its second rewrite would have ended without an answer under a bound
of one; so the answers up to a rewrite are the answers that this bound would have given, and the
calls up to it are what it would have cost. Calls of a role are shared out by what the role worked
on: grading by the chunks graded, answering by the answers, rewriting by the rewrites. Together
they are all calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from dashboards.boards.queries import Queries, has
from dashboards.boards.targets import Query
from telemetry import names

REWRITES: Final = "rewrites"
"""Label of a row: rewrites made, or allowed."""
SHOWN: Final = ("0", "1", "2", "3 or more")
"""How `names.ATTEMPTS` read on an axis."""
_OTHERS: Final = f'{names.LABEL_ROLE}!~"{names.GRADE}|{names.REWRITE}|{names.ANSWER}"'
"""Roles that work once a turn, whatever the bound: enhancing, checking the topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """PromQL of answers and calls; 0 is the first search, 3 the third rewrite and later."""

    queries: Queries
    is_rate: bool = False
    """Per second, over the step of a panel; else events of the whole range."""

    def answers_within(self, rewrites: int) -> str:
        """Return the answers given after at most so many rewrites; 3 stands for any number."""
        answered = has(names.LABEL_OUTCOME, names.ANSWERED)
        if rewrites >= len(SHOWN) - 1:
            return self._gained(f"{names.REWRITES_PER_TURN}_count", answered)
        edge = f'le="{names.REWRITES_BUCKETS[rewrites]}"'
        return self._gained(f"{names.REWRITES_PER_TURN}_bucket", answered, edge)

    def answers_at(self, rewrites: int) -> str:
        """Return the answers given after exactly so many rewrites; 3 stands for 3 and more."""
        if rewrites == 0:
            return self.answers_within(0)
        fewer = self.answers_within(rewrites - 1)
        return f"clamp_min({self.answers_within(rewrites)} - {fewer}, 0)"

    def calls_within(self, rewrites: int) -> str:
        """Return the calls made up to so many rewrites: what this bound would have cost."""
        steps = range(rewrites + 1)
        return self._calls(steps, self.answers_within(rewrites), with_others=True)

    def calls_at(self, rewrites: int) -> str:
        """Return the calls made for this attempt alone."""
        answers = self.answers_at(rewrites)
        return self._calls([rewrites], answers, with_others=rewrites == 0)

    def searches(self) -> str:
        """Return the turns that searched: the answers that could have been given."""
        return self._gained(names.TURNS, has(names.LABEL_RETRIEVED, names.YES))

    def _calls(self, steps: Sequence[int], answers: str, *, with_others: bool) -> str:
        attempts = has(names.LABEL_ATTEMPT, *(names.ATTEMPTS[step] for step in steps))
        graded = self._gained(names.GRADES_GIVEN, attempts), self._gained(names.GRADES_GIVEN)
        answered = answers, self.answers_within(len(SHOWN) - 1)
        terms = [self._part(names.GRADE, *graded), self._part(names.ANSWER, *answered)]
        if any(steps):
            made = self._gained(names.REWRITES, attempts), self._gained(names.REWRITES)
            terms.append(self._part(names.REWRITE, *made))
        if with_others:
            terms.append(f"({self._gained(names.LLM_CALLS, _OTHERS)} or vector(0))")
        return f"({' + '.join(terms)})"

    def _part(self, role: str, some: str, whole: str) -> str:
        """Return the calls of a role that went into some of what it worked on."""
        calls = self._gained(names.LLM_CALLS, has(names.LABEL_ROLE, role))
        return f"({calls} * {some} / ({whole} > 0) or vector(0))"

    def _gained(self, metric: str, *matchers: str) -> str:
        count = self.queries.per_second if self.is_rate else self.queries.gained
        return count(metric, *matchers)


def by_rewrite(
    queries: Queries, value: Callable[[int], str], *, steps: Sequence[int] = (0, 1, 2, 3)
) -> Query:
    """Return a table query with one row for each number of rewrites.

    Rows above the bound in force are left out: nothing is known about them.
    """
    budget = f"max({queries.one(names.REWRITE_BUDGET)})"
    rows = [
        f'label_replace({value(step)} unless on () ({budget} < {step}), "{REWRITES}", '
        f'"{SHOWN[step]}", "", "")'
        for step in steps
    ]
    return Query(expr="\nor ".join(rows), kind="table")
