"""The revise loop: its router, its rules, and its place in the whole graph."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from fakes import ScriptedChat, make_context
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError

from agent.context import AgentContext
from agent.graph import build_graph, limit_for, longest_path
from agent.models.support import SupportModel
from agent.revise import BEST_DRAFT_NOTE, build_revise_graph, route_after_critique
from agent.revise import route_after_draft as after_draft
from agent.settings import Branches
from agent.state import SupportState

PASSED = {"supported": "all", "answers": "fully", "note": "none"}
REVISING = Branches(revise=True)


@pytest.mark.parametrize(
    ("drafts", "score", "expected"),
    [
        pytest.param(0, 0.5, "revise", id="below-the-pass-score-revises"),
        pytest.param(3, 0.9, "give_up", id="no-score-overrides-the-cap"),
        pytest.param(1, 0.9, "finish", id="a-passing-draft-finishes"),
        pytest.param(3, 0.5, "give_up", id="a-failing-draft-at-the-cap-gives-up"),
        pytest.param(2, 0.8, "finish", id="the-pass-score-itself-passes"),
        pytest.param(2, 0.79, "revise", id="just-below-does-not"),
        pytest.param(4, 1.0, "give_up", id="past-the-cap-still-gives-up"),
        pytest.param(1, None, "finish", id="a-draft-without-verdict-is-let-through"),
        pytest.param(3, None, "give_up", id="but-not-at-the-cap"),
    ],
)
def test_route_after_critique(drafts: int, score: float | None, expected: str) -> None:
    assert route_after_critique({"drafts": drafts, "max_drafts": 3, "score": score}) == expected


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        pytest.param(None, "critique", id="a-draft-is-judged"),
        pytest.param("timeout", "give_up", id="no-draft-is-nothing-to-judge"),
    ],
)
def test_route_after_draft(failure: str | None, expected: str) -> None:
    assert after_draft({"draft_failure": failure}) == expected


def in_turn(*verdicts: Any) -> Callable[[Any], Any]:
    """Return a model's reply that changes from call to call; the last one repeats."""
    left = list(verdicts)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def judged(*words: tuple[str, str, str]) -> Callable[[Any], Any]:
    return in_turn(*({"supported": s, "answers": a, "note": n} for s, a, n in words))


def run(
    replies: dict[str, Any], *, mode: str = "sync", max_drafts: int = 3
) -> tuple[SupportState, ScriptedChat]:
    chat = ScriptedChat(replies={"grade": {"relevant": "yes"}, **replies})
    context = make_context(chat=chat, max_drafts=max_drafts)
    graph = build_graph(branches=REVISING)
    config: Any = {"recursion_limit": limit_for(context)}
    if mode == "sync":
        return graph.invoke({"question": "q?"}, config, context=context), chat
    return asyncio.run(graph.ainvoke({"question": "q?"}, config, context=context)), chat


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize(
    ("replies", "outcome", "reason", "reply", "llm_calls"),
    [
        pytest.param(
            lambda: {}, "answered", "passing_chunk", "It is so [a].", 5,
            id="a-draft-that-passes-costs-one-call-more",
        ),
        pytest.param(
            lambda: {"critique": in_turn({**PASSED, "supported": "some"}, PASSED)},
            "answered", "passing_chunk", "It is so, and more [a].", 7,
            id="the-second-draft-passes",
        ),
        pytest.param(
            lambda: {"critique": judged(
                ("none", "fully", "a"), ("most", "fully", "b"), ("some", "fully", "c"))},
            "gave_up", "drafts_used", f"{BEST_DRAFT_NOTE}second [a].", 9,
            id="giving-up-hands-over-the-best-draft",
        ),
        pytest.param(
            lambda: {"critique": in_turn({**PASSED, "answers": "no"}, PASSED, PASSED),
                     "revise": RuntimeError("down")},
            "gave_up", "draft_failed", f"{BEST_DRAFT_NOTE}It is so [a].", 7,
            id="a-revision-that-fails-leaves-the-draft-before",
        ),
        pytest.param(
            lambda: {"answer": ""}, "error", "none", "I'm sorry, I can't answer", 5,
            id="without-any-draft-it-is-an-error-as-without-the-loop",
        ),
        pytest.param(
            lambda: {"critique": "no verdict"}, "answered", "uncritiqued_draft",
            "It is so [a].", 6, id="a-critic-that-cannot-be-read-lets-the-draft-through",
        ),
    ],
)  # fmt: skip
def test_a_loop_ends_in_one_named_outcome(
    mode: str, replies: Callable[[], dict[str, Any]], outcome: str, reason: str, reply: str,
    llm_calls: int,
) -> None:  # fmt: skip
    given = replies()
    if outcome == "gave_up" and reason == "drafts_used":
        given["revise"] = in_turn("second [a].", "third [a].")
    end, _ = run(given, mode=mode)

    assert (end["outcome"], end["reason"], end["llm_calls"]) == (outcome, reason, llm_calls)
    assert end["reply"].startswith(reply)
    assert end["citations"] == ([] if outcome == "error" else ["a"])
    assert [m.text for m in end["messages"]] == ["q?", end["reply"]]


def test_the_second_draft_reads_the_first_and_its_critique_alone() -> None:
    _, chat = run(
        {
            "critique": judged(("none", "no", "one"), ("none", "no", "two"), ("none", "no", "3")),
            "revise": in_turn("second", "third"),
        }
    )
    read = [(d["draft"], d["critique"]) for task, d in chat.asked if task == "revise"]

    assert read == [("It is so [a].", "one"), ("second", "two")]


def test_the_critic_reads_each_draft_with_the_chunks_that_it_may_use() -> None:
    _, chat = run({"critique": in_turn({**PASSED, "answers": "partly"}, PASSED)})
    asked = [data for task, data in chat.asked if task == "critique"]

    assert [data["draft"] for data in asked] == ["It is so [a].", "It is so, and more [a]."]
    assert [chunk["id"] for chunk in asked[0]["chunks"]] == ["a", "b"]


def test_the_failures_of_critics_and_drafts_are_noted() -> None:
    end, _ = run({"critique": "no verdict"})

    assert end["judgement_failures"] == [{"role": "critique", "reason": "unparsed"}]


@pytest.mark.parametrize("cap", [2, 3])
def test_a_critic_that_is_never_pleased_pays_the_whole_cap(cap: int) -> None:
    end, chat = run({"critique": {**PASSED, "supported": "none"}}, max_drafts=cap)
    tasks = [task for task, _ in chat.asked]

    assert (end["outcome"], tasks.count("critique"), tasks.count("revise")) == (
        "gave_up", cap, cap - 1,
    )  # fmt: skip


def test_a_route_that_the_loop_does_not_know_raises_at_the_edge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agent.revise.route_after_critique", lambda _: "nowhere")
    with pytest.raises(KeyError, match="nowhere"):
        run({})


def test_later_drafts_go_to_the_stronger_model() -> None:
    weak = ScriptedChat(
        replies={
            "grade": {"relevant": "yes"},
            "critique": in_turn({**PASSED, "answers": "no"}, PASSED),
        }
    )
    strong = ScriptedChat()
    context = AgentContext(
        model=SupportModel(weak, by_role={"revise": strong}),
        retriever=make_context().retriever,
        max_drafts=3,
    )
    build_graph(branches=REVISING).invoke({"question": "q?"}, context=context)

    assert [task for task, _ in strong.asked] == ["revise"]
    assert "revise" not in [task for task, _ in weak.asked]


def test_every_turn_of_a_conversation_has_the_whole_cap_and_adds_its_words_once() -> None:
    critic = {**PASSED, "supported": "none"}
    chat = ScriptedChat(replies={"grade": {"relevant": "yes"}, "critique": critic})
    context = make_context(chat=chat, max_drafts=2)
    graph = build_graph(branches=REVISING, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    one = graph.invoke({"question": "one"}, config, context=context)
    two = graph.invoke({"question": "two"}, config, context=context)

    assert [m.text for m in two["messages"]] == ["one", one["reply"], "two", two["reply"]]
    assert [task for task, _ in chat.asked].count("revise") == 2
    assert (one["llm_calls"], two["llm_calls"]) == (7, 8)


@pytest.mark.parametrize("bound", [0, 3])
def test_the_recursion_limit_is_the_smallest_for_the_longer_of_both_paths(bound: int) -> None:
    chat = ScriptedChat(
        replies={
            "grade": {"relevant": "yes"} if bound == 0 else {"relevant": "no"},
            "critique": {**PASSED, "supported": "none"},
        }
    )
    context = make_context(chat=chat, max_drafts=3, max_rewrites=bound)
    graph = build_graph(branches=REVISING)
    longest = longest_path(bound, max_drafts=3)

    assert longest == (7 if bound == 0 else 14)
    graph.invoke({"question": "q"}, {"recursion_limit": limit_for(context)}, context=context)
    with pytest.raises(GraphRecursionError):
        graph.invoke({"question": "q"}, {"recursion_limit": longest}, context=context)


def test_the_loop_alone_says_its_status() -> None:
    graph = build_revise_graph()

    assert set(graph.nodes) >= {"write_draft", "critique_draft", "publish_draft", "give_up"}
    assert "status" in graph.channels
