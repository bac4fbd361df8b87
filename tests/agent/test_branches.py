"""The branches from their settings to their series: off by default, observed when they are on."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ValidationError

from agent.compose import Composition
from agent.graph import build_graph
from agent.settings import EIGHT_NODES, Branches, Settings

STUDENTS = "Do you offer a student discount?"


class Web(BaseRetriever):
    """Knows of the discount that the handbook does not mention."""

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
    ) -> list[Document]:
        text = "Discounts for students\n\nWe offer students a discount of 10 % on every plan."
        return [Document(page_content=text, id="students")]


FALLBACK = f"{__name__}:Web"


def composed(**settings: Any) -> Composition:
    return Composition(Settings(**settings))


def series(composition: Composition) -> int:
    body = composition.exposition(None)[0].decode()
    return sum(not line.startswith("#") for line in body.splitlines())


def value(composition: Composition, name: str, **labels: str) -> float | None:
    return composition.registry.get_sample_value(name, {"graph": "support_agent", **labels})


def test_all_branches_are_off_and_the_graph_is_the_published_one() -> None:
    assert Settings().branches == EIGHT_NODES
    assert set(build_graph().nodes) - {"__start__"} == {
        "enhance_query", "validate_topic", "handle_off_topic", "fetch_content", "assess_relevance",
        "generate_response", "optimize_query", "handle_no_results",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("branches", "added"),
    [
        pytest.param(Branches(clarify=True), {"ask_clarification"}, id="clarify"),
        pytest.param(
            Branches(fallback=True), {"search_fallback", "assess_fallback"}, id="fallback"
        ),
        pytest.param(Branches(revise=True), set(), id="revise-stands-in-for-the-answer"),
    ],
)
def test_a_branch_adds_its_nodes_alone(branches: Branches, added: set[str]) -> None:
    assert set(build_graph(branches=branches).nodes) - set(build_graph().nodes) == added


def test_without_the_topic_check_there_is_nothing_to_ask_back_about() -> None:
    graph = build_graph(topic_check=False, branches=Branches(clarify=True))

    assert "ask_clarification" not in graph.nodes


@pytest.mark.parametrize(
    ("budget", "per_draft", "expected"),
    [
        pytest.param(6000, 2000, 3, id="the-published-budget-is-three-drafts"),
        pytest.param(5999, 2000, 2, id="one-token-short-is-two"),
        pytest.param(60_000, 2000, 3, id="more-buys-no-fourth"),
        pytest.param(2000, 1000, 2, id="cheaper-drafts-buy-more"),
    ],
)
def test_the_cap_is_what_the_budget_affords(budget: int, per_draft: int, expected: int) -> None:
    settings = Settings(revise=True, revise_budget_tokens=budget, revise_tokens_per_draft=per_draft)

    assert settings.max_drafts == expected


def test_a_budget_for_one_draft_is_refused_with_what_it_must_be() -> None:
    with pytest.raises(ValidationError, match="revise_budget_tokens got 3999, expected: at least"):
        Settings(revise=True, revise_budget_tokens=3999)

    assert Settings(revise_budget_tokens=3999).max_drafts == 1, "off, the budget is no matter"


def test_the_second_source_answers_what_the_documents_do_not() -> None:
    composition = composed(fallback=FALLBACK)
    before = composed().default_agent.answer(STUDENTS)
    after = composition.default_agent.answer(STUDENTS)

    assert (before.outcome, before.reason) == ("no_results", "nothing_passed")
    assert (after.outcome, after.reason, after.citations) == (
        "answered", "fallback_chunk", ("fallback:students",),
    )  # fmt: skip
    assert after.attempts[-1].similarity is None
    assert after.retrievals == before.retrievals + 1
    assert value(
        composition, "rag_turns_total",
        version="dev", outcome="answered", retrieved="yes", last_grade="pass",
    ) == 1  # fmt: skip


def test_a_second_source_does_not_hide_what_the_last_rewrite_did() -> None:
    plain, with_web = composed(), composed(fallback=FALLBACK)
    effects = []
    for composition in (plain, with_web):
        composition.default_agent.answer(STUDENTS)
        effects.append(
            {
                (effect, attempt): value(
                    composition, "rag_rewrites_total",
                    version="dev", effect=effect, attempt=attempt,
                )
                for effect in ("new_chunks", "same_chunks", "same_chunks_and_scores",
                               "nothing_matched")
                for attempt in ("1", "2")
            }
        )  # fmt: skip

    assert effects[0] == effects[1]
    assert sum(v or 0 for v in effects[0].values()) == 2


def test_the_loop_is_told_from_its_answer_in_calls_ends_and_nodes() -> None:
    composition = composed(revise=True)
    answer = composition.default_agent.answer("How do I cancel my plan?")

    assert (answer.outcome, answer.llm_calls) == ("answered", 5)
    assert value(composition, "rag_loop_ends_total", loop="revise", end="passed") == 1
    assert value(composition, "rag_llm_calls_total", role="critique", model="local") == 1
    assert value(composition, "rag_llm_calls_total", role="revise", model="local") == 1
    assert value(
        composition, "rag_node_duration_seconds_count",
        node="generate_response/critique_draft", role="critique",
    ) == 1  # fmt: skip
    assert composition.registry.get_sample_value(
        "rag_telemetry_errors_total", {"where": "reader"}
    ) == 0  # fmt: skip


def test_another_model_revises_where_a_setting_names_one() -> None:
    composition = composed(revise=True, revise_model="golden")
    support = composition.default_agent.context.model

    assert support.structured_method("revise") == "prompt"
    assert type(support._output("revise").model).__name__ == "GoldenChat"
    assert type(support._output("answer").model).__name__ == "LocalChat"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({}, 0, id="none"),
        pytest.param({"clarify": True}, 10, id="clarify"),
        pytest.param({"revise": True}, 55, id="revise"),
        pytest.param({"fallback": FALLBACK}, 19, id="fallback"),
    ],
)
def test_what_a_branch_adds_to_the_series_of_a_replica(
    settings: dict[str, Any], expected: int
) -> None:
    plain, branched = composed(), composed(**settings)
    for composition in (plain, branched):
        composition.default_agent.answer("How do I cancel my plan?")

    assert series(plain) <= 400
    assert series(branched) - series(plain) == expected
