"""When each node of a turn ran: what a record shows as its waterfall."""

from __future__ import annotations

from typing import Any

import pytest
from graphs import QUESTION, SUPPORT_ROLES, support_graph
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler

from telemetry import names
from telemetry.testing import Kit


class Broken(Exception):
    pass


def fail_at_grading(node: str) -> None:
    if node == "assess_relevance":
        raise Broken


def run(graph: Any, kit: Kit) -> None:
    kit.watch(graph, SUPPORT_ROLES).invoke(QUESTION)


@pytest.mark.parametrize(
    "sampler", [pytest.param(ALWAYS_ON, id="sampled"), pytest.param(ALWAYS_OFF, id="not-sampled")]
)
def test_every_execution_is_told_in_order(sampler: Sampler) -> None:
    kit = Kit(sampler)
    run(support_graph(bound=1), kit)

    runs = kit.turn.node_runs

    assert [(run.node, run.role, run.attempt) for run in runs] == [
        ("enhance_query", names.ENHANCE, 0),
        ("validate_topic", names.GUARD, 0),
        ("fetch_content", names.RETRIEVE, 0),
        ("assess_relevance", names.GRADE, 0),
        ("optimize_query", names.REWRITE, 1),
        ("fetch_content", names.RETRIEVE, 1),
        ("assess_relevance", names.GRADE, 1),
        ("handle_no_results", names.NO_RESULTS, 1),
    ]


def test_nodes_that_follow_each_other_do_not_overlap_and_fit_into_the_turn() -> None:
    kit = Kit()
    run(support_graph(bound=2), kit)

    runs = kit.turn.node_runs
    ends = [run.began + run.seconds for run in runs]

    assert runs[0].began >= 0
    assert all(end <= after.began for end, after in zip(ends, runs[1:], strict=False))
    assert ends[-1] <= kit.turn.duration_seconds


def test_the_times_are_those_of_the_metric() -> None:
    kit = Kit()
    run(support_graph(bound=2), kit)

    told = sum(run.seconds for run in kit.turn.node_runs)

    assert kit.value(f"{names.NODE_DURATION}_sum") == pytest.approx(told)


def test_a_node_that_raised_is_told_too() -> None:
    kit = Kit()
    with pytest.raises(Broken):
        run(support_graph(inside=fail_at_grading), kit)

    assert kit.turn.node_runs[-1].node == "assess_relevance"


def test_model_calls_that_raised_are_counted() -> None:
    kit = Kit()
    with pytest.raises(Broken):
        run(support_graph(grades=[Broken()]), kit)

    assert (kit.turn.llm_calls, kit.turn.failed_calls) == (2, 1)
