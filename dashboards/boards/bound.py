"""Where to set the bound: answers found at each rewrite and what each costs, live."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders import barchart, common, stat, table, text, timeseries

from dashboards.boards.at_a_glance import categories, figure, rows, words
from dashboards.boards.attempts import REWRITES, SHOWN, Attempts, by_rewrite
from dashboards.boards.colors import EFFECTS
from dashboards.boards.layout import Board, Placed, Row
from dashboards.boards.over_time import lines, stacked
from dashboards.boards.panels import search, turns
from dashboards.boards.queries import Queries, has, ratio
from dashboards.boards.style import NUMBER, PER_MINUTE, PLAIN, SHARE, colored, limit_line
from dashboards.boards.targets import Query
from telemetry import names

ENOUGH: Final = 0.99
"""Share of all answers that a bound should still give; chosen by us."""
_STEPS: Final = range(len(SHOWN))
_READING: Final = """\
**Set the bound where answers stop rising.** A rewrite that finds nothing new still costs a
rewriting call and the grading of its chunks, on every question that no document answers.

- *Answers* up to a rewrite are what that bound would have given; *calls* up to it, what it would
  have cost. Both are measured on this traffic.
- Bounds above the one in force cannot be judged: raise it for a while, then look again.
- An answer is no right answer. Look at *Answers after drift* before you raise the bound.
- Choose one job and one graph: bounds differ.
"""


def board() -> Board:
    """Return the board."""
    return Board(
        slug="bound",
        title="Loopscope: where to set the bound",
        about="Answers found at each rewrite of the search and the model calls that each costs, on "
        "the traffic of the time range.",
        rows=(
            Row(
                id=1,
                title="The bound in force and the one that would do",
                panels=(
                    Placed(id=11, make=in_force, width=4, height=4),
                    Placed(id=12, make=enough, width=5, height=4),
                    Placed(id=13, make=turns.answered, width=4, height=4),
                    Placed(id=14, make=turns.calls_per_answer, width=5, height=4),
                    Placed(id=15, make=turns.spent_in_vain, width=6, height=4),
                    Placed(id=16, make=by_bound, width=16, height=7),
                    Placed(id=17, make=reading, width=8, height=7),
                ),
            ),
            Row(
                id=2,
                title="What each rewrite finds and costs",
                panels=(
                    Placed(id=21, make=answers, width=8, height=8),
                    Placed(id=22, make=calls, width=8, height=8),
                    Placed(id=23, make=effects, width=8, height=8),
                ),
            ),
            Row(
                id=3,
                title="Over time",
                panels=(
                    Placed(id=31, make=answers_over_time, width=8, height=8),
                    Placed(id=32, make=price_over_time, width=8, height=8),
                    Placed(id=33, make=turns.calls_per_turn, width=8, height=8),
                    Placed(id=34, make=search.swaps_by_attempt, width=8, height=8),
                    Placed(id=35, make=search.similarity, width=8, height=8),
                    Placed(id=36, make=search.answered_after_drift, width=8, height=8),
                ),
            ),
        ),
    )


def reading(_: Queries) -> text.Panel:
    """How to read the board."""
    return words("How to read this", "What the numbers mean and what they cannot say.", _READING)


def in_force(queries: Queries) -> stat.Panel:
    """The bound now."""
    return figure(
        "Rewrites allowed now",
        "The bound in the state; the largest of the chosen graphs.",
        NUMBER,
        Query(expr=f"max({queries.one(names.REWRITE_BUDGET)})", kind="instant"),
        empty="no bound stated",
    )


def enough(queries: Queries) -> stat.Panel:
    """The smallest bound that keeps nearly all answers."""
    asked = Attempts(queries=queries)
    known = asked.answers_within(3)
    short = " + ".join(
        f"({ratio(asked.answers_within(step), known)} < bool {ENOUGH})" for step in (0, 1, 2)
    )
    return figure(
        f"Enough for {ENOUGH * 100:.0f} % of the answers",
        f"The smallest bound that would have given at least {ENOUGH * 100:.0f} % of the "
        "answers of the "
        "range. When it is the bound in force, more may be found above it.",
        NUMBER,
        Query(expr=short, kind="instant"),
        empty="no answers",
    )


def by_bound(queries: Queries) -> table.Panel:
    """The table of bounds."""
    asked = Attempts(queries=queries)

    def price(step: int) -> str:
        return ratio(asked.calls_at(step), f"({asked.answers_at(step)})")

    panel = rows(
        "This traffic at each bound",
        "For each number of rewrites allowed: what would have been answered, what it would have "
        "cost in all, and what its last rewrite added. The first row holds what every turn costs.",
        NUMBER,
        {REWRITES: "rewrites allowed"},
        ("answers", NUMBER, by_rewrite(queries, asked.answers_within)),
        (
            "answered",
            SHARE,
            by_rewrite(queries, lambda step: ratio(asked.answers_within(step), asked.searches())),
        ),
        ("model calls", NUMBER, by_rewrite(queries, asked.calls_within)),
        ("answers added", NUMBER, by_rewrite(queries, asked.answers_at)),
        ("calls added", NUMBER, by_rewrite(queries, asked.calls_at)),
        ("calls for one more answer", PLAIN, by_rewrite(queries, price)),
        empty="no turns",
    )
    order = common.TableSortByFieldState().display_name("rewrites allowed").desc(False)
    return panel.sort_by([order])


def answers(queries: Queries) -> barchart.Panel:
    """Answers at each rewrite."""
    asked = Attempts(queries=queries)
    return categories(
        "Answers found at each rewrite",
        "Answers given after exactly so many rewrites. Where the bars end, the bound may end.",
        NUMBER,
        (REWRITES, "rewrites made"),
        ("answers", by_rewrite(queries, asked.answers_at)),
        empty="no answers",
    )


def calls(queries: Queries) -> barchart.Panel:
    """Calls at each rewrite."""
    asked = Attempts(queries=queries)
    return categories(
        "Model calls spent at each rewrite",
        "Calls that were made for exactly this attempt; 0 holds the topic check and the first "
        "search too.",
        NUMBER,
        (REWRITES, "rewrites made"),
        ("model calls", by_rewrite(queries, asked.calls_at)),
        empty="no calls",
    )


def effects(queries: Queries) -> barchart.Panel:
    """What each rewrite changed."""

    def of(effect: str) -> Query:
        def made(step: int) -> str:
            attempt = has(names.LABEL_ATTEMPT, names.ATTEMPTS[step])
            return queries.gained(names.REWRITES, has(names.LABEL_EFFECT, effect), attempt)

        return by_rewrite(queries, made, steps=_STEPS[1:])

    panel = categories(
        "What each rewrite changes in the search",
        "A rewrite that brings the same chunks cannot find an answer.",
        NUMBER,
        (REWRITES, "rewrite"),
        *((effect, of(effect)) for effect in names.EFFECTS),
        empty="no rewrites",
    )
    return colored(panel, EFFECTS)


def answers_over_time(queries: Queries) -> timeseries.Panel:
    """Answers a minute by rewrite."""
    asked = Attempts(queries=queries, is_rate=True)
    return stacked(
        "Answers a minute, by rewrites made",
        "The upper areas are what rewriting earns.",
        PER_MINUTE,
        *(
            Query(
                expr=f"60 * {asked.answers_at(step)}",
                legend=f"after {SHOWN[step]} rewrites",
            )
            for step in _STEPS
        ),
        empty="no answers",
    ).interval(queries.smoothing)


def price_over_time(queries: Queries) -> timeseries.Panel:
    """Calls for one more answer, by rewrite."""
    asked = Attempts(queries=queries, is_rate=True)
    answered = asked.answers_within(3)
    panel = lines(
        "Calls for one more answer, by rewrite",
        "Model calls that an attempt makes over the answers that it finds; no line where it finds "
        "none. Above the dashed line an answer costs more than the mean one.",
        PLAIN,
        *(
            Query(
                expr=f"{asked.calls_at(step)} / ({asked.answers_at(step)} > 0)",
                legend=f"rewrite {SHOWN[step]}",
            )
            for step in _STEPS[1:]
        ),
        Query(
            expr=ratio(queries.per_second(names.LLM_CALLS), answered),
            legend="mean of all answers",
        ),
        empty="no rewrite found an answer",
    )
    return limit_line(panel.decimals(1).interval(queries.smoothing), "D")
