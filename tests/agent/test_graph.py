from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from fakes import DictRetriever, ScriptedChat, in_turn, make_context
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError

from agent.context import AgentContext
from agent.errors import RecursionLimitTooLowError
from agent.graph import build_graph, longest_path, recursion_limit
from agent.routers import route_budget_first
from agent.state import SupportState


def run(
    context: AgentContext,
    *,
    mode: str = "sync",
    limit: int | None = None,
    question: str = "q?",
    **shape: Any,
) -> SupportState:
    graph = build_graph(**shape)
    config = {"recursion_limit": limit or recursion_limit(context.max_rewrites)}
    if mode == "sync":
        return graph.invoke({"question": question}, config, context=context)
    return asyncio.run(graph.ainvoke({"question": question}, config, context=context))


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize(
    ("replies", "outcome", "reason", "llm_calls", "retrievals", "rewrites"),
    [
        pytest.param(
            {"grade": {"relevant": "yes"}}, "answered", "passing_chunk", 4, 1, 0,
            id="answered-on-the-first-retrieval-costs-1-check-2-grades-1-answer",
        ),
        pytest.param({}, "no_results", "nothing_passed", 9, 3, 2, id="never-answered-pays-it-all"),
        pytest.param(
            {"guard": {"classification": "IRRELEVANT", "confidence": "LOW"}},
            "off_topic", "classified_irrelevant", 1, 0, 0, id="off-topic-costs-one-call",
        ),
        pytest.param(
            {"grade": in_turn("no", "no", "no", "no", "yes", "no")},
            "answered", "passing_chunk", 10, 3, 2, id="evidence-on-the-last-retrieval-is-answered",
        ),
        pytest.param(
            {"grade": {"relevant": "perhaps"}}, "answered", "ungraded_chunk", 6, 1, 0,
            id="a-grader-that-cannot-be-read-keeps-the-chunks",
        ),
        pytest.param(
            {"guard": "no verdict"}, "no_results", "nothing_passed", 10, 3, 2,
            id="a-guard-that-cannot-be-read-lets-the-question-through",
        ),
        pytest.param(
            {"grade": {"relevant": "yes"}, "answer": ""}, "error", "none", 5, 1, 0,
            id="an-empty-answer-is-an-error-with-a-polite-reply",
        ),
    ],
)  # fmt: skip
def test_a_turn_ends_in_one_named_outcome(
    mode: str, replies: dict[str, Any], outcome: str, reason: str, llm_calls: int,
    retrievals: int, rewrites: int,
) -> None:  # fmt: skip
    if "grade" in replies and callable(replies["grade"]):
        replies = {**replies, "grade": in_turn("no", "no", "no", "no", "yes", "no")}
    end = run(make_context(replies), mode=mode)

    assert (
        end["outcome"], end["reason"], end["llm_calls"], end["retrievals"], end["rewrites"]
    ) == (outcome, reason, llm_calls, retrievals, rewrites)  # fmt: skip
    assert end["reply"]


@pytest.mark.parametrize("bound", [0, 1, 2, 3, 5])
def test_a_grader_that_always_says_no_pays_the_full_bound(bound: int) -> None:
    end = run(make_context(max_rewrites=bound))

    assert (end["outcome"], end["rewrites"], end["retrievals"], end["llm_calls"]) == (
        "no_results", bound, bound + 1, 1 + 2 * (bound + 1) + bound,
    )  # fmt: skip


@pytest.mark.parametrize("bound", [0, 1, 2, 3])
def test_recursion_limit_is_the_smallest_that_lets_the_longest_turn_end(bound: int) -> None:
    context = make_context(max_rewrites=bound)

    assert run(context, limit=recursion_limit(bound))["outcome"] == "no_results"
    with pytest.raises(GraphRecursionError):
        run(context, limit=longest_path(bound))


def test_a_limit_that_cuts_a_legitimate_turn_is_refused_by_name() -> None:
    with pytest.raises(RecursionLimitTooLowError, match="got 9, expected at least 12") as caught:
        recursion_limit(2, 9)

    assert caught.value.code == "recursion_limit_too_low"


def test_topic_check_off_leaves_the_guard_and_its_handler_out() -> None:
    graph = build_graph(topic_check=False)
    end = run(make_context(), topic_check=False)

    assert not {"validate_topic", "handle_off_topic"} & set(graph.nodes)
    assert (end["outcome"], end["topic"], end["llm_calls"]) == ("no_results", None, 8)


def test_budget_first_discards_a_hit_on_the_last_retrieval() -> None:
    replies = {"grade": in_turn("no", "no", "no", "no", "yes", "no")}
    end = run(make_context(replies), route_after_grading=route_budget_first)

    assert (end["outcome"], end["reason"], end["llm_calls"]) == (
        "no_results",
        "evidence_discarded",
        9,
    )


def test_a_route_that_the_graph_does_not_know_raises_at_the_edge() -> None:
    with pytest.raises(KeyError, match="nowhere"):
        run(make_context(), route_after_grading=lambda _: "nowhere")


def test_rewriting_does_nothing_when_an_edge_reaches_it_at_the_limit() -> None:
    chat = ScriptedChat()
    context = make_context(chat=chat, max_rewrites=0)
    graph = build_graph()
    node = graph.nodes["optimize_query"]
    state: SupportState = {"rewrites": 0, "max_rewrites": 0, "query": "q", "llm_calls": 3}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agent.steps.get_runtime", lambda: type("R", (), {"context": context}))
        update = node.bound.invoke(state)

    assert (update, chat.asked) == ({"llm_calls": 3}, [])


class TestTurnsOfOneConversation:
    """Nothing that belongs to one question is left for the next (checkpointer on, one thread)."""

    def conversation(self, context: AgentContext, questions: list[str]) -> list[SupportState]:
        graph = build_graph(checkpointer=InMemorySaver())
        config: Any = {
            "recursion_limit": recursion_limit(context.max_rewrites),
            "configurable": {"thread_id": "t"},
        }
        return [graph.invoke({"question": q}, config, context=context) for q in questions]

    def test_every_turn_has_the_whole_bound(self) -> None:
        one, two = self.conversation(make_context(), ["one", "two"])

        assert [(t["rewrites"], t["retrievals"], len(t["attempts"])) for t in (one, two)] == [
            (2, 3, 3),
            (2, 3, 3),
        ]

    def test_calls_are_counted_per_turn_with_one_more_for_the_follow_up(self) -> None:
        one, two = self.conversation(make_context(), ["one", "two"])

        assert (one["llm_calls"], two["llm_calls"]) == (9, 10)

    def test_a_follow_up_is_judged_and_searched_standalone(self) -> None:
        chat = ScriptedChat(replies={"grade": {"relevant": "yes"}})
        _, two = self.conversation(make_context(chat=chat), ["one", "and then?"])
        asked = [(task, data) for task, data in chat.asked if task in ("enhance", "guard")][-2:]

        assert two["standalone"] == "standalone question"
        assert asked[0][1]["history"] == [
            {"role": "user", "text": "one"},
            {"role": "assistant", "text": "It is so [a]."},
        ]
        assert asked[1][1]["question"] == "standalone question"

    def test_a_turn_that_crashed_leaves_nothing_for_the_next(self) -> None:
        graph = build_graph(checkpointer=InMemorySaver())
        config: Any = {"recursion_limit": 12, "configurable": {"thread_id": "t"}}
        broken = make_context(retriever=DictRetriever(error=OSError("gone")))
        with pytest.raises(Exception, match="the retriever failed with OSError"):
            graph.invoke({"question": "one"}, config, context=broken)
        sound = make_context({"grade": {"relevant": "yes"}})
        end = graph.invoke({"question": "two"}, config, context=sound)

        assert (end["outcome"], end["retrievals"], end["llm_calls"], end["standalone"]) == (
            "answered", 1, 4, "two",
        )  # fmt: skip
        assert [message.text for message in end["messages"]] == ["two", "It is so [a]."]

    def test_the_history_is_bounded(self) -> None:
        turns = self.conversation(make_context(max_rewrites=0), [str(n) for n in range(15)])

        assert len(turns[-1]["messages"]) == 20


def test_state_is_json_but_for_the_messages() -> None:
    end = run(make_context({"grade": {"relevant": "perhaps"}}))

    plain = {key: value for key, value in end.items() if key != "messages"}
    assert json.loads(json.dumps(plain)) == plain


@pytest.mark.parametrize(
    ("rewrite_from", "expected"),
    [
        pytest.param("original", {"question", "query", "attempts"}, id="original-and-attempts"),
        pytest.param("current", {"query"}, id="the-current-query-alone"),
    ],
)
def test_what_the_rewriter_reads(rewrite_from: Any, expected: set[str]) -> None:
    chat = ScriptedChat()
    run(make_context(chat=chat, rewrite_from=rewrite_from))
    second = [data for task, data in chat.asked if task == "rewrite"][1]

    assert set(second) == expected
    assert second["query"] == "other words"
    if rewrite_from == "original":
        assert second["question"] == "q?"
        assert second["attempts"][0] == {"query": "q?", "chunk_ids": ["a", "b"]}


def test_the_grader_judges_against_the_question_and_never_against_a_rewrite() -> None:
    chat = ScriptedChat()
    run(make_context(chat=chat))

    assert {data["question"] for task, data in chat.asked if task == "grade"} == {"q?"}


@pytest.mark.parametrize(
    ("min_score", "graded"),
    [
        pytest.param(None, 2, id="all-k-chunks-are-graded-by-default"),
        pytest.param(0.25, 2, id="the-limit-itself-is-kept"),
        pytest.param(0.3, 1, id="below-the-limit-is-dropped"),
        pytest.param(0.9, 0, id="nothing-left-is-an-empty-retrieval"),
    ],
)
def test_min_score_saves_grades(min_score: float | None, graded: int) -> None:
    end = run(make_context(min_score=min_score, max_rewrites=0))

    assert (len(end["attempts"][0]["chunks"]), end["llm_calls"]) == (graded, 1 + graded)
    assert end["reason"] == ("nothing_passed" if graded else "nothing_retrieved")
