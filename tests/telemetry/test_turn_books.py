"""What the books say of a turn: retrievals, grades, rewrites, their effects, and nothing twice."""

from __future__ import annotations

import gc
import weakref
from itertools import pairwise
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from loop_graphs import LOOP_ROLES, LoopState, found, line_graph, loop_graph

from telemetry.attributes import MARKER
from telemetry.testing import Kit

QUESTION = {"question": "where is it?"}


def test_a_turn_of_two_rewrites_in_every_book() -> None:
    kit = Kit()
    kit.watch(loop_graph(bound=2), LOOP_ROLES, version="7", max_rewrites=2).invoke(QUESTION)

    assert kit.counted("rag_turns_total", "version", "outcome", "retrieved", "last_grade") == {
        ("7", "no_results", "yes", "fail"): 1
    }
    assert kit.counted("rag_retrievals_total", "result", "attempt") == {
        ("hit", "0"): 1, ("hit", "1"): 1, ("hit", "2"): 1,
    }  # fmt: skip
    assert kit.counted("rag_grades_total", "grade", "attempt") == {
        ("fail", "0"): 2, ("fail", "1"): 2, ("fail", "2"): 2,
    }  # fmt: skip
    assert kit.counted("rag_rewrites_total", "effect", "attempt") == {
        ("new_chunks", "1"): 1, ("new_chunks", "2"): 1,
    }  # fmt: skip
    assert kit.counted("rag_chunk_score_count", "grade") == {("fail",): 6}
    assert kit.counted("rag_rewrites_per_turn_sum", "outcome") == {("no_results",): 2}
    assert kit.counted("rag_routes_total", "router", "route") == {
        ("judge", "rephrase"): 2, ("judge", "give_up"): 1,
    }  # fmt: skip
    root = kit.span("invoke_workflow loop").attributes
    assert {key: root[key] for key in root if key.startswith("rag.")} == {
        "rag.outcome": "no_results",
        "rag.rewrites": 2,
        "rag.max_rewrites": 2,
        "rag.llm_calls": 0,
        "rag.retrievals": 3,
        "rag.synonym_swaps": 0,
        "rag.budget_first": False,
        "rag.drifted": False,
        "rag.recursion_limit": 10_007,
    }


def test_node_spans_say_what_the_node_found() -> None:
    kit = Kit()
    graph = loop_graph(bound=1, grade=lambda s: "yes" if s["rewrites"] else "no")
    kit.watch(graph, LOOP_ROLES, similarity=lambda question, query: 0.25).invoke(QUESTION)
    searches, judges = kit.named("node search"), kit.named("node judge")

    assert dict(kit.span("node begin").attributes) == {
        "rag.node": "begin", "rag.step": 1, "rag.attempt": 0,
    }  # fmt: skip
    assert dict(searches[0].attributes) == {
        "rag.node": "search", "rag.role": "retrieve", "rag.step": 2, "rag.attempt": 0,
        "rag.chunk.ids": ("a0", "b"), "rag.chunk.scores": (0.5, 0.5),
    }  # fmt: skip
    assert dict(judges[0].attributes) == {
        "rag.node": "judge", "rag.role": "grade", "rag.step": 3, "rag.attempt": 0,
        "rag.grades": ("fail", "fail"), "rag.grade.passed": False,
    }  # fmt: skip
    assert dict(kit.span("node rephrase").attributes) == {
        "rag.node": "rephrase", "rag.role": "rewrite", "rag.step": 4, "rag.attempt": 1,
        "rag.rewrite.similarity": 0.25,
    }  # fmt: skip
    assert searches[1].attributes["rag.rewrite.effect"] == "new_chunks"
    assert judges[1].attributes["rag.grades"] == ("pass", "pass")
    assert kit.turn.retrievals[1].similarity == 0.25
    assert kit.value("rag_rewrite_similarity_sum", attempt="1") == 0.25


@pytest.mark.parametrize("log_events", [False, True], ids=["on the span", "as log events"])
def test_verdicts_are_events_of_their_span(log_events: bool) -> None:
    kit = Kit(log_events=log_events)
    kit.watch(loop_graph(bound=0, search=lambda _: found("a")), LOOP_ROLES).invoke(QUESTION)
    judge = kit.span("node judge")
    if log_events:
        (log,) = kit.log_exporter.get_finished_logs()
        record = log.log_record
        assert (record.event_name, record.span_id) == (
            "gen_ai.evaluation.result",
            judge.context.span_id,
        )
        attributes = record.attributes
        assert judge.events == ()
    else:
        (event,) = judge.events
        assert event.name == "gen_ai.evaluation.result"
        attributes = event.attributes

    assert dict(attributes or {}) == {
        "gen_ai.evaluation.name": "relevance",
        "gen_ai.evaluation.score.label": "fail",
        "gen_ai.evaluation.score.value": 0.0,
    }


@pytest.mark.parametrize(
    ("first", "second", "effect"),
    [
        pytest.param(found("a", "b"), found("c", "b"), "new_chunks", id="another chunk"),
        pytest.param(found("a", "b"), found("b", "a"), "new_chunks", id="another order"),
        pytest.param(
            found("a"), found("a", score=0.6), "same_chunks", id="same chunks, other scores"
        ),
        pytest.param(found("a"), found("a"), "same_chunks_and_scores", id="a synonym swap"),
        pytest.param([], [], "nothing_matched", id="empty twice"),
        pytest.param(
            found("a", score=0.0), found("b", score=0.0), "nothing_matched", id="all scores 0"
        ),
        pytest.param([], found("a"), "new_chunks", id="something at last"),
    ],
)
def test_the_effect_of_a_rewrite(
    first: list[dict[str, Any]], second: list[dict[str, Any]], effect: str
) -> None:
    kit = Kit()
    graph = loop_graph(bound=1, search=lambda s: second if s["rewrites"] else first)
    kit.watch(graph, LOOP_ROLES).invoke(QUESTION)

    assert kit.counted("rag_rewrites_total", "effect", "attempt") == {(effect, "1"): 1}
    swaps = int(effect == "same_chunks_and_scores")
    assert kit.span("invoke_workflow loop").attributes["rag.synonym_swaps"] == swaps
    findings = [finding.detector for finding in kit.records.findings[-1]]
    assert ("synonym_swap" in findings) == bool(swaps)


def test_a_rewrite_whose_retrieval_never_came_has_no_effect() -> None:
    kit = Kit()

    def search(state: LoopState) -> list[dict[str, Any]]:
        if state["rewrites"]:
            raise ConnectionError
        return found("a")

    with pytest.raises(ConnectionError):
        kit.watch(loop_graph(search=search), LOOP_ROLES).invoke(QUESTION)

    assert kit.value("rag_rewrites_total") == 0
    assert (kit.turn.rewrites, [r.failed for r in kit.turn.retrievals]) == (1, [False, True])


class Kept(TypedDict, total=False):
    docs: list[dict[str, Any]]
    query: str


def test_a_list_changed_in_place_is_read_and_compared_as_it_was() -> None:
    """Nodes may change the state's list and return nothing: what was found must not move."""
    kit = Kit()
    answers = iter([found("a"), found("b"), found("b")])

    def search(state: Kept) -> Kept:
        state["docs"].clear()
        state["docs"].extend(next(answers))
        return {}

    def rephrase(_: Kept) -> Kept:
        return {"query": "x"}

    graph = StateGraph(Kept)
    path = ["search", "rephrase", "search again", "rephrase again", "search at last"]
    for node in path:
        graph.add_node(node, search if node.startswith("search") else rephrase)
    for one, other in pairwise([START, *path]):
        graph.add_edge(one, other)
    roles = {n: "retrieve" if n.startswith("search") else "rewrite" for n in path}
    compiled = graph.compile(name="mutating")
    kit.watch(compiled, roles).invoke({"docs": []})

    assert [r.chunk_ids for r in kit.turn.retrievals] == [("a",), ("b",), ("b",)]
    assert [r.effect for r in kit.turn.retrievals] == [None, "new_chunks", "same_chunks_and_scores"]


def test_rewrites_are_counted_by_turn_though_the_state_remembers() -> None:
    """The state's own counter survives in a conversation; the books count what ran."""
    kit = Kit()
    graph = loop_graph(bound=2, checkpointer=InMemorySaver())
    graph = kit.watch(graph, LOOP_ROLES)
    config = {"configurable": {"thread_id": "1"}}
    graph.invoke(QUESTION, config)
    graph.invoke(QUESTION, config)

    assert [(t.rewrites, len(t.retrievals)) for t in kit.turns] == [(2, 3), (2, 3)]
    assert kit.value("rag_rewrites_per_turn_count") == 2
    assert kit.value("rag_rewrites_per_turn_sum") == 4


def test_a_rewriter_that_finds_its_budget_spent_has_not_rewritten() -> None:
    kit = Kit()

    def rephrase(_: dict[str, Any]) -> dict[str, Any]:
        return {}

    kit.watch(line_graph(rephrase), {"rephrase": "rewrite"}).invoke({})

    assert kit.turn.rewrites == 0


def test_the_answer_after_a_failed_grading_and_budget_first_are_told_apart() -> None:
    kit = Kit()
    graph = loop_graph(bound=0, grade=lambda _: "yes")
    kit.watch(graph, {**LOOP_ROLES, "reply": "no_results"}).invoke(QUESTION)

    assert kit.counted("rag_turns_total", "outcome", "last_grade") == {("no_results", "pass"): 1}
    assert kit.span("invoke_workflow loop").attributes["rag.budget_first"] is True
    assert "budget_checked_first" in [f.detector for f in kit.records.findings[-1]]


def test_drift_is_counted_when_the_turn_was_answered() -> None:
    kit = Kit()
    graph = loop_graph(bound=2, grade=lambda s: "yes" if s["rewrites"] == 2 else "no")
    kit.watch(graph, LOOP_ROLES, similarity=lambda *_: 0.1).invoke(QUESTION)

    assert kit.value("rag_answered_after_drift_total") == 1
    root = kit.span("invoke_workflow loop").attributes
    assert root["rag.drifted"] is True
    assert "rewrite_drift" in root["rag.findings"]


def test_judgement_failures_are_counted_once_each() -> None:
    kit = Kit()
    failure = {"role": "guard", "reason": "timeout"}

    def guard(_: dict[str, Any]) -> dict[str, Any]:
        verdict = {"classification": "RELEVANT", "confidence": "LOW"}
        return {"topic": verdict, "judgement_failures": [failure]}

    def judge(_: dict[str, Any]) -> dict[str, Any]:
        second = {"role": "grade", "reason": "unparsed"}
        return {"grade": "yes", "judgement_failures": [failure, second]}

    kit.watch(line_graph(guard, judge), {"guard": "guard", "judge": "grade"}).invoke({})

    assert kit.counted("rag_judgement_failures_total", "role", "reason") == {
        ("guard", "timeout"): 1,
        ("grade", "unparsed"): 1,
    }


class Heavy:
    """Stands for a user's object in the state."""


@pytest.mark.parametrize("how", ["finished", "abandoned", "failed"])
def test_no_reference_to_the_state_is_kept(how: str) -> None:
    kit = Kit()
    heavy = Heavy()
    alive = weakref.ref(heavy)

    def work(state: dict[str, Any]) -> dict[str, Any]:
        if how == "failed":
            raise ValueError
        return {"heavy": state["heavy"], "answer": "x"}

    graph = kit.watch(line_graph(work), {"work": "answer"})
    if how == "abandoned":
        next(graph.stream({"heavy": heavy}, stream_mode="values"))
    elif how == "failed":
        with pytest.raises(ValueError):
            graph.invoke({"heavy": heavy})
    else:
        graph.invoke({"heavy": heavy})
    del heavy
    gc.collect()

    assert alive() is None
    assert kit.value("rag_turns_total") == 1


def test_attribute_bytes_do_not_grow_with_the_state() -> None:
    def weigh(text: str) -> int:
        kit = Kit()
        chunks = [{"id": f"c{n}", "text": text, "score": 0.5} for n in range(5)]
        kit.watch(loop_graph(search=lambda _: chunks), LOOP_ROLES).invoke(QUESTION)
        return sum(len(str(dict(span.attributes or {}))) for span in kit.spans)

    assert weigh("x" * 200_000) == weigh("x")


def test_a_hundred_thousand_ids_are_cut() -> None:
    kit = Kit()
    many = [{"id": "i" * 5000, "score": 0.5} for _ in range(1000)]
    kit.watch(loop_graph(bound=0, search=lambda _: many), LOOP_ROLES).invoke(QUESTION)

    ids = kit.span("node search").attributes["rag.chunk.ids"]
    assert ids[-1] == MARKER
    assert len(ids) == 31
    assert max(len(id_) for id_ in ids) < 140
