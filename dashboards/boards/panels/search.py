"""Panels of the search: topic checks, retrievals, grades, rewrites."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders import heatmap, timeseries

from dashboards.boards.colors import EFFECTS, GOOD, OUTCOMES, TICKET
from dashboards.boards.over_time import heat, lines, stacked
from dashboards.boards.queries import RATE, Queries, has, ratio
from dashboards.boards.style import NUMBER, PER_MINUTE, PLAIN, SHARE, colored
from dashboards.boards.targets import Query
from telemetry import names

_ATTEMPT: Final = names.LABEL_ATTEMPT


def verdicts(queries: Queries) -> timeseries.Panel:
    """Verdicts of the topic check by confidence."""
    by = (names.LABEL_CLASSIFICATION, names.LABEL_CONFIDENCE)
    return stacked(
        "Verdicts of the topic check",
        "Many refusals with low confidence mean an unsure topic check; with high confidence, a "
        "changed one.",
        PER_MINUTE,
        Query(
            expr=queries.per_minute(names.TOPIC_CHECKS, by=by),
            legend="{{classification}}, {{confidence}} confidence",
        ),
        empty="no topic check",
    )


def retrievals(queries: Queries) -> timeseries.Panel:
    """Retrievals by result."""
    panel = stacked(
        "Retrievals by result",
        "An empty result is no error.",
        PER_MINUTE,
        Query(
            expr=queries.per_minute(names.RETRIEVALS, by=(names.LABEL_RESULT,)),
            legend="{{result}}",
        ),
        empty="no retrievals",
    )
    return colored(panel, {names.HIT: GOOD, names.EMPTY: TICKET, names.ERROR: OUTCOMES["error"]})


def retrievals_by_attempt(queries: Queries) -> timeseries.Panel:
    """Retrievals by the rewrites before them."""
    return stacked(
        "Retrievals by rewrites before",
        "0 are first searches; the rest is what rewriting costs the search.",
        PER_MINUTE,
        Query(
            expr=queries.per_minute(names.RETRIEVALS, by=(_ATTEMPT,)),
            legend="after {{attempt}} rewrites",
        ),
        empty="no retrievals",
    )


def scores(queries: Queries) -> heatmap.Panel:
    """Scores of the chunks by bucket."""
    return heat(
        "Scores of retrieved chunks",
        "How many chunks had which score, in the retriever's own unit; the darker, the more. A "
        "band that sinks means an index or embedding that fits worse.",
        NUMBER,
        PLAIN,
        Query(expr=queries.buckets(names.CHUNK_SCORE), legend="{{le}}", kind="heatmap"),
        empty="no chunks",
    ).interval(queries.smoothing)


def scores_by_grade(queries: Queries) -> timeseries.Panel:
    """Median score of passed and of failed chunks."""
    return lines(
        "Score of passed and failed chunks, median",
        "Lines that come near each other: the grader decides by something else than the score. "
        "Passed chunks whose score rises alone: a stricter grader.",
        PLAIN,
        Query(
            expr=queries.quantile(0.5, names.CHUNK_SCORE, by=(names.LABEL_GRADE,)),
            legend="grade {{grade}}",
        ),
        empty="no chunks",
    ).interval(queries.smoothing)


def passed(queries: Queries) -> timeseries.Panel:
    """Share of chunks that passed, by the rewrites before."""
    by = (_ATTEMPT,)
    part = queries.gained(names.GRADES_GIVEN, has(names.LABEL_GRADE, names.PASS), by=by, over=RATE)
    whole = queries.gained(names.GRADES_GIVEN, by=by, over=RATE)
    return lines(
        "Chunks that pass their grading",
        "Share by the rewrites before. First searches tell about index and grader, later ones "
        "about the rewriter.",
        SHARE,
        Query(expr=ratio(part, whole), legend="after {{attempt}} rewrites"),
        empty="no grades",
    ).interval(queries.smoothing)


def grades(queries: Queries) -> timeseries.Panel:
    """Chunks graded."""
    panel = stacked(
        "Chunks graded",
        "Each is a model call where a model grades.",
        PER_MINUTE,
        Query(
            expr=queries.per_minute(names.GRADES_GIVEN, by=(names.LABEL_GRADE,)),
            legend="{{grade}}",
        ),
        empty="no grades",
    )
    return colored(panel, {names.PASS: GOOD, names.FAIL: TICKET})


def effects(queries: Queries) -> timeseries.Panel:
    """Rewrites by what they changed."""
    panel = stacked(
        "Rewrites by effect",
        "Same chunks and scores is the synonym swap. Nothing matched twice is a gap in the "
        "documents, not a fault of the rewriter.",
        PER_MINUTE,
        Query(
            expr=queries.per_minute(names.REWRITES, by=(names.LABEL_EFFECT,)),
            legend="{{effect}}",
        ),
        empty="no rewrites",
    )
    return colored(panel, EFFECTS)


def rewrites_by_attempt(queries: Queries) -> timeseries.Panel:
    """Rewrites by their place in the turn."""
    return stacked(
        "Rewrites by their place in the turn",
        "1 is the first of a turn.",
        PER_MINUTE,
        Query(
            expr=queries.per_minute(names.REWRITES, by=(_ATTEMPT,)), legend="rewrite {{attempt}}"
        ),
        empty="no rewrites",
    )


def swaps_by_attempt(queries: Queries) -> timeseries.Panel:
    """Share of swaps at each rewrite of a turn."""
    by = (_ATTEMPT,)
    swapped = has(names.LABEL_EFFECT, names.SAME_CHUNKS_AND_SCORES)
    part = queries.gained(names.REWRITES, swapped, by=by, over=RATE)
    return lines(
        "Share of swaps, by rewrite",
        "Swaps mostly at later rewrites mean that the rewriter repeats itself.",
        SHARE,
        Query(
            expr=ratio(part, queries.gained(names.REWRITES, by=by, over=RATE)),
            legend="rewrite {{attempt}}",
        ),
        empty="no rewrites",
    ).interval(queries.smoothing)


def rewrites_per_turn(queries: Queries) -> timeseries.Panel:
    """Mean rewrites of a turn by how it ended."""
    panel = lines(
        "Rewrites a turn",
        "Mean by outcome; turns that find nothing make all that are allowed.",
        PLAIN,
        Query(
            expr=queries.mean(names.REWRITES_PER_TURN, by=(names.LABEL_OUTCOME,)),
            legend="{{outcome}}",
        ),
        empty="no turns",
    )
    return colored(panel.decimals(1), OUTCOMES).interval(queries.smoothing)


def similarity(queries: Queries) -> timeseries.Panel:
    """Median similarity of a rewrite to the question."""
    return lines(
        "Similarity to the question, median",
        "How near the rewrites of a turn stay to the standalone question; a drop from one rewrite "
        "to the next is drift.",
        PLAIN,
        Query(
            expr=queries.quantile(0.5, names.REWRITE_SIMILARITY, by=(_ATTEMPT,)),
            legend="rewrite {{attempt}}",
        ),
        empty="no rewrites",
    ).interval(queries.smoothing)


def answered_after_drift(queries: Queries) -> timeseries.Panel:
    """Answers from a drifted search."""
    return stacked(
        "Answers after drift",
        "Answers to what may be another question. Dots lead to traces.",
        PER_MINUTE,
        Query(
            expr=queries.per_minute(names.ANSWERED_AFTER_DRIFT, by=(names.LABEL_GRAPH,)),
            legend="{{graph}}",
            exemplar=True,
        ),
    )
