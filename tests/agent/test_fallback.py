"""The second source: asked once, after the bound, and told in reason and citations."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import DictRetriever, ScriptedChat, make_context
from langchain_core.retrievers import BaseRetriever
from langgraph.errors import GraphRecursionError

from agent.errors import FallbackError
from agent.graph import build_graph, limit_for, longest_path
from agent.retrieval.second_source import load_retriever
from agent.routers import (
    GradingRouter,
    route_after_fallback,
    route_budget_first,
    route_evidence_first,
    with_fallback,
)
from agent.settings import Branches
from agent.state import SupportState

WEB = DictRetriever(found={None: (("page", 0.9), ("other", 0.8), ("third", 0.7))})
WITH_FALLBACK = Branches(fallback=True)


def state(grades: tuple[str, ...], rewrites: int) -> SupportState:
    chunks: Any = [{"id": str(n), "score": 0.1, "grade": g} for n, g in enumerate(grades)]
    return {
        "attempts": [{"query": "q", "chunks": chunks}], "rewrites": rewrites, "max_rewrites": 2
    }  # fmt: skip


@pytest.mark.parametrize(
    ("route", "grades", "rewrites", "expected"),
    [
        pytest.param(
            route_evidence_first, ("fail",), 2, "search_fallback", id="nothing-at-the-bound-asks-it"
        ),
        pytest.param(
            route_evidence_first, (), 2, "search_fallback", id="nothing-retrieved-asks-it"
        ),
        pytest.param(
            route_evidence_first, ("fail",), 1, "optimize_query", id="never-below-the-bound"
        ),
        pytest.param(
            route_evidence_first, ("pass",), 2, "generate_response", id="evidence-needs-none"
        ),
        pytest.param(
            route_budget_first, ("pass",), 2, "handle_no_results",
            id="discarded-evidence-is-not-looked-for-elsewhere",
        ),
    ],
)  # fmt: skip
def test_when_the_second_source_is_asked(
    route: GradingRouter, grades: tuple[str, ...], rewrites: int, expected: str
) -> None:
    assert with_fallback(route)(state(grades, rewrites)) == expected


@pytest.mark.parametrize(
    ("grades", "expected"),
    [
        pytest.param(("fail", "pass"), "generate_response", id="evidence-answers"),
        pytest.param(("ungraded",), "generate_response", id="an-ungraded-chunk-is-evidence"),
        pytest.param(("fail",), "handle_no_results", id="nothing-passed-ends-it"),
        pytest.param((), "handle_no_results", id="nothing-found-ends-it"),
    ],
)
def test_route_after_fallback(grades: tuple[str, ...], expected: str) -> None:
    assert route_after_fallback(state(grades, 2)) == expected


def run(
    fallback: BaseRetriever, grade: Any, *, branches: Branches = WITH_FALLBACK, **changes: Any
) -> tuple[SupportState, ScriptedChat]:
    chat = ScriptedChat(
        replies={"grade": grade, "answer": lambda d: f"So [{d['chunks'][0]['id']}]."}
    )
    context = make_context(chat=chat, fallback=fallback, **changes)
    config: Any = {"recursion_limit": limit_for(context)}
    graph = build_graph(branches=branches)
    return graph.invoke({"question": "q?"}, config, context=context), chat


def web_alone(data: dict[str, Any]) -> dict[str, str]:
    return {"relevant": "yes" if data["chunk"]["id"] == "fallback:page" else "no"}


def test_an_answer_from_it_says_so_in_reason_and_citations() -> None:
    end, _ = run(WEB, web_alone)

    assert (end["outcome"], end["reason"], end["citations"], end["reply"]) == (
        "answered", "fallback_chunk", ["fallback:page"], "So [fallback:page].",
    )  # fmt: skip
    assert (end["retrievals"], end["rewrites"], end["llm_calls"]) == (4, 2, 12)
    assert [a["query"] for a in end["attempts"]] == ["q?", "other words", "other words", "q?"]


def test_with_the_revise_loop_an_answer_from_it_says_so_too() -> None:
    end, _ = run(WEB, web_alone, branches=Branches(fallback=True, revise=True), max_drafts=3)

    assert (end["outcome"], end["reason"], end["citations"]) == (
        "answered", "fallback_chunk", ["fallback:page"],
    )  # fmt: skip


def test_it_is_graded_once_and_not_rewritten_for() -> None:
    end, chat = run(WEB, {"relevant": "no"})
    tasks = [task for task, _ in chat.asked]

    assert (end["outcome"], end["reason"]) == ("no_results", "nothing_passed")
    assert (tasks.count("rewrite"), tasks.count("grade")) == (2, 8)


def test_a_second_source_that_fails_is_a_no_results_reply_with_its_reason() -> None:
    end, _ = run(DictRetriever(error=OSError("gone")), {"relevant": "no"})

    assert (end["outcome"], end["reason"], end["retrievals"]) == (
        "no_results",
        "fallback_failed",
        4,
    )


def test_evidence_of_the_documents_leaves_it_unasked() -> None:
    end, _ = run(DictRetriever(error=OSError("gone")), {"relevant": "yes"})

    assert (end["outcome"], end["reason"], end["retrievals"]) == ("answered", "passing_chunk", 1)


@pytest.mark.parametrize("bound", [0, 2])
def test_the_recursion_limit_leaves_room_for_it(bound: int) -> None:
    longest = longest_path(bound, has_fallback=True)
    context = make_context({"grade": web_alone}, fallback=WEB, max_rewrites=bound)
    graph = build_graph(branches=WITH_FALLBACK)

    assert longest == 3 * bound + 7
    with pytest.raises(GraphRecursionError):
        graph.invoke({"question": "q"}, {"recursion_limit": longest}, context=context)
    end = graph.invoke({"question": "q"}, {"recursion_limit": longest + 1}, context=context)
    assert end["outcome"] == "answered"


def make_web() -> DictRetriever:
    return WEB


NOT_ONE = object()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(f"{__name__}:WEB", id="a-retriever"),
        pytest.param(f"{__name__}:make_web", id="a-function-that-makes-one"),
        pytest.param(f"{__name__}:DictRetriever", id="a-class-of-one"),
    ],
)
def test_any_retriever_can_be_named(name: str) -> None:
    assert isinstance(load_retriever(name), DictRetriever)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("WEB", "it is no 'module:attribute'", id="no-colon"),
        pytest.param("no_such_module:x", "it raised ModuleNotFoundError", id="no-module"),
        pytest.param(f"{__name__}:nothing", "it raised AttributeError", id="no-attribute"),
        pytest.param(f"{__name__}:NOT_ONE", "got object", id="no-retriever"),
    ],
)
def test_a_name_that_leads_to_no_retriever_is_refused(name: str, told: str) -> None:
    with pytest.raises(FallbackError, match=told) as caught:
        load_retriever(name)

    assert caught.value.code == "fallback"
    assert "expected 'module:attribute' of a LangChain retriever" in str(caught.value)
