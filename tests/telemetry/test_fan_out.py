"""Several retrievals side by side are one attempt: compared, graded and measured together."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import permutations
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from loop_graphs import found

from telemetry import names
from telemetry.detectors import attempt_effects, synonym_swap
from telemetry.testing import Kit
from telemetry.turn import Retrieval, Turn

ROLES = {
    "search": "retrieve",
    "judge": "grade",
    "rephrase": "rewrite",
    "reply": "answer",
    "give_up": "no_results",
}
QUESTION = {"question": "where is it?"}
ONE_BY_ONE: Any = {"max_concurrency": 1}
Found = list[dict[str, Any]]
A, B, C, ZERO = (
    found("a", score=0.5), found("b", score=0.25), found("c", score=0.125), found("z", score=0.0),
)  # fmt: skip
ORDERS = list(permutations(range(3)))


class FanState(TypedDict, total=False):
    question: str
    wanted: Any
    documents: Annotated[list[Any], operator.add]
    attempts: list[Any]
    rewrites: int
    answer: str


def fan_out(attempts: Sequence[Sequence[Found]], good: Sequence[str] = ()) -> Any:
    """Return a graph that searches in branches, and in other ones after each rewrite.

    Args:
        attempts: What each branch finds, for each attempt, in the order in which they come back.
        good: Ids of the chunks that the grader passes.
    """

    def split(state: FanState) -> list[Send]:
        return [Send("search", {"wanted": some}) for some in attempts[state.get("rewrites", 0)]]

    def search(state: FanState) -> dict[str, Any]:
        return {"documents": list(state["wanted"])}

    def judge(state: FanState) -> dict[str, Any]:
        ids = dict.fromkeys(document["id"] for document in state["documents"])
        return {"attempts": [{"chunks": [{"id": i, "grade": i in good} for i in ids]}]}

    def after(state: FanState) -> str:
        if any(chunk["grade"] for chunk in state["attempts"][-1]["chunks"]):
            return "reply"
        return "rephrase" if state.get("rewrites", 0) + 1 < len(attempts) else "give_up"

    def rephrase(state: FanState) -> dict[str, Any]:
        rewrites = state.get("rewrites", 0) + 1
        return {"rewrites": rewrites, "query": f"query {rewrites}"}

    graph = StateGraph(FanState)
    for body in (search, judge, rephrase):
        graph.add_node(body.__name__, body)
    graph.add_node("reply", lambda _: {"answer": "here it is"})
    graph.add_node("give_up", lambda _: {"answer": "nothing found"})
    graph.add_conditional_edges(START, split, ["search"])
    graph.add_edge("search", "judge")
    graph.add_conditional_edges("judge", after, ["reply", "rephrase", "give_up"])
    graph.add_conditional_edges("rephrase", split, ["search"])
    graph.add_edge("reply", END)
    graph.add_edge("give_up", END)
    return graph.compile(name="fan")


def reordered(branches: Sequence[Found], order: Sequence[int]) -> list[Found]:
    return [branches[i] for i in order if i < len(branches)]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("after", "effect"),
    [
        pytest.param([A, B, C], "same_chunks_and_scores", id="all the same is a swap"),
        pytest.param([A, B, found("c", score=0.2)], "same_chunks", id="one score is another"),
        pytest.param([A, B, found("d")], "new_chunks", id="one branch found something else"),
        pytest.param([A, B], "new_chunks", id="a chunk is missing"),
        pytest.param([A, [*B, *C]], "same_chunks_and_scores", id="the same in fewer branches"),
        pytest.param([A, B, [*C, *A]], "same_chunks_and_scores", id="a chunk found twice"),
        pytest.param([ZERO, ZERO, []], "new_chunks", id="nothing matches any more"),
    ],
)
def test_the_branches_of_an_attempt_are_compared_together_in_whatever_order_they_come(
    after: list[Found], effect: str, order: Sequence[int]
) -> None:
    kit = Kit()
    graph = fan_out([[A, B, C], reordered(after, order)])
    kit.watch(graph, ROLES).invoke(QUESTION, ONE_BY_ONE)

    assert kit.counted("rag_rewrites_total", "effect", "attempt") == {(effect, "1"): 1}
    is_swap = effect == "same_chunks_and_scores"
    assert [f.detector for f in kit.records.findings[0]] == ["synonym_swap"] * is_swap
    assert kit.span("invoke_workflow fan").attributes["rag.synonym_swaps"] == int(is_swap)
    assert [r.effect for r in kit.turn.retrievals if r.effect] == [effect]


@pytest.mark.parametrize("order", ORDERS)
def test_the_branch_that_completes_the_attempt_shows_the_effect(order: Sequence[int]) -> None:
    kit = Kit()
    graph = fan_out([[A, B, C], reordered([A, B, C], order)])
    kit.watch(graph, ROLES).invoke(QUESTION, ONE_BY_ONE)
    shown = [span.attributes.get("rag.rewrite.effect") for span in kit.named("node search")]

    assert shown == [None] * 5 + ["same_chunks_and_scores"]


def test_branches_at_once_in_threads_are_compared_as_those_one_by_one() -> None:
    kit = Kit()
    branches = [found(f"chunk {n}", score=n / 20) for n in range(20)]
    graph = kit.watch(fan_out([branches, branches[::-1]]), ROLES)
    for _ in range(20):
        graph.invoke(QUESTION)

    assert kit.counted("rag_rewrites_total", "effect") == {("same_chunks_and_scores",): 20}


def test_nothing_found_in_any_branch_is_a_gap_in_the_documents_and_no_swap() -> None:
    kit = Kit()
    kit.watch(fan_out([[ZERO, [], ZERO], [[], ZERO]]), ROLES).invoke(QUESTION)

    assert kit.counted("rag_rewrites_total", "effect") == {("nothing_matched",): 1}


def test_a_rewrite_is_measured_once_however_many_branches_it_has() -> None:
    kit = Kit()
    watched = kit.watch(fan_out([[A], [B, C], [A, B, C]]), ROLES, similarity=lambda *_: 0.75)
    watched.invoke(QUESTION)

    assert kit.counted("rag_rewrite_similarity_count", "attempt") == {("1",): 1, ("2",): 1}
    assert kit.counted("rag_rewrites_total", "attempt") == {("1",): 1, ("2",): 1}
    assert kit.counted("rag_retrievals_total", "attempt") == {("0",): 1, ("1",): 2, ("2",): 3}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("good", ["a", "b", "c"])
def test_a_chunk_that_passed_in_any_branch_is_the_grade_of_the_turn(
    good: str, order: Sequence[int]
) -> None:
    kit = Kit()
    graph = fan_out([reordered([A, B, C], order)], good=[good])
    kit.watch(graph, ROLES).invoke(QUESTION, ONE_BY_ONE)

    assert kit.counted("rag_turns_total", "outcome", "last_grade") == {("answered", "pass"): 1}
    assert kit.counted("rag_grades_total", "grade") == {("pass",): 1, ("fail",): 2}
    assert kit.counted("rag_chunk_score_count", "grade") == {("pass",): 1, ("fail",): 2}
    assert kit.span("node judge").attributes["rag.grade.passed"] is True
    assert kit.records.findings[0] == ()


def test_branches_of_which_none_passed_are_a_fail() -> None:
    kit = Kit()
    kit.watch(fan_out([[A, B], [C]]), ROLES).invoke(QUESTION)

    assert kit.counted("rag_turns_total", "outcome", "last_grade") == {("no_results", "fail"): 1}
    assert kit.counted("rag_grades_total", "grade") == {("fail",): 3}


def retrieval(attempt: int, *chunks: tuple[str, float | None], **changes: Any) -> Retrieval:
    ids, scores = tuple(c[0] for c in chunks), tuple(c[1] for c in chunks)
    return Retrieval(attempt=attempt, chunk_ids=ids, scores=scores, **changes)


@pytest.mark.parametrize("order", list(permutations(range(4))))
@pytest.mark.parametrize(
    ("retrievals", "expected"),
    [
        pytest.param(
            [retrieval(0, ("a", 0.5)), retrieval(0, ("b", None)), retrieval(1, ("b", None)),
             retrieval(1, ("a", 0.5))],
            {1: "same_chunks"}, id="without a score no swap can be proved",
        ),
        pytest.param(
            [retrieval(0, ("a", 0.5)), retrieval(0, ("a", 0.25)),
             retrieval(1, ("a", 0.5 + 1e-10)), retrieval(1, ("a", 0.25 - 1e-10))],
            {1: "same_chunks_and_scores"}, id="scores within the tolerance are the same",
        ),
        pytest.param(
            [retrieval(0, ("a", 0.5)), retrieval(0, ("b", 0.5)), retrieval(1, failed=True),
             retrieval(2, ("a", 0.5), ("b", 0.5))],
            {2: "same_chunks_and_scores"}, id="an attempt that failed is passed over",
        ),
        pytest.param(
            [retrieval(0, ("a", 0.5), is_remote=True), retrieval(0, ("b", 0.5)),
             retrieval(1, ("a", 0.5 + 1e-8)), retrieval(1, ("b", 0.5))],
            {1: "same_chunks_and_scores"}, id="a remote score may differ a little more",
        ),
    ],
)  # fmt: skip
def test_effects_do_not_depend_on_the_order(
    retrievals: list[Retrieval], expected: dict[int, str], order: Sequence[int]
) -> None:
    mixed = [retrievals[i] for i in order]
    turn = Turn(graph="g", version="1", outcome=names.ANSWERED, retrievals=tuple(mixed))

    assert attempt_effects(mixed) == expected
    assert (synonym_swap(turn) is not None) == ("same_chunks_and_scores" in expected.values())
