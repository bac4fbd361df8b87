"""The observed agent under load: what telemetry saw of a turn stays with that turn."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes import ScriptedChat
from langchain_core.exceptions import ModelRateLimitError, ModelRefusalError
from langchain_core.language_models import FakeListChatModel
from langchain_core.language_models.chat_models import BaseChatModel
from prometheus_client import CollectorRegistry

from agent.answer import Answer
from agent.compose import Composition
from agent.service import SupportAgent
from agent.settings import Settings

TURNS = 50


@pytest.fixture(scope="module")
def composition() -> Composition:
    return Composition(Settings(model="golden"))


@pytest.fixture(scope="module")
def agent(composition: Composition) -> SupportAgent:
    return composition.default_agent


@pytest.fixture(scope="module")
def questions(composition: Composition) -> list[str]:
    return ([entry.question for entry in composition.golden] * TURNS)[:TURNS]


@pytest.fixture(scope="module")
def one_by_one(agent: SupportAgent, questions: list[str]) -> list[Answer]:
    return [timeless(agent.answer(question)) for question in questions]


def timeless(answer: Answer) -> Answer:
    seen = answer.seen and replace(answer.seen, nodes=())
    return replace(answer, duration_seconds=0.0, seen=seen)


def test_a_synonym_swap_and_a_likeness_are_seen_where_they_happened(
    one_by_one: list[Answer],
) -> None:
    outage = next(a for a in one_by_one if "server goes down" in a.question)

    assert [attempt.synonym_swap for attempt in outage.attempts] == [False, True, False]
    assert outage.attempts[2].similarity is not None


class CallsNoTool(FakeListChatModel):
    """Accepts tools, as most providers' models do, and replies in prose all the same."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


def scripted(**replies: Any) -> ScriptedChat:
    return ScriptedChat(replies={"grade": {"relevant": "yes"}, **replies})


@pytest.mark.parametrize(
    ("chat", "ends", "calls", "failures"),
    [
        pytest.param(
            CallsNoTool(responses=["It is about servers."]),
            ("answered", "ungraded_chunk"),
            1 + 1 + 2 * 2 + 1,
            {("guard", "none"): 1, ("grade", "none"): 2},
            id="prose-for-a-verdict",
        ),
        pytest.param(
            scripted(grade=ModelRateLimitError()),
            ("answered", "ungraded_chunk"),
            1 + 2 * 2 + 1,
            {("grade", "rate_limit"): 2},
            id="a-rate-limit-is-no-verdict-and-no-reason-to-rewrite",
        ),
        pytest.param(
            scripted(guard=ModelRefusalError()),
            ("answered", "passing_chunk"),
            1 + 2 + 1,
            {("guard", "refused"): 1},
            id="a-topic-check-that-refuses-lets-the-question-through",
        ),
        pytest.param(
            scripted(answer=ModelRefusalError()),
            ("error", "refused"),
            1 + 2 + 1,
            {("answer", "refused"): 1},
            id="an-answer-that-is-refused-is-a-polite-error",
        ),
    ],
)
def test_a_failed_judgement_is_counted_once_and_never_taken_for_a_verdict(
    composition: Composition,
    chat: BaseChatModel,
    ends: tuple[str, str],
    calls: int,
    failures: dict[tuple[str, str], int],
) -> None:
    observed = composition.with_registry(CollectorRegistry())
    parts = replace(observed.parts(observed.settings), chat=chat)

    answer = observed.agent(observed.settings, parts).answer("How do I resize a server?")

    assert ((answer.outcome, answer.reason), answer.llm_calls) == (ends, calls)
    assert answer.rewrites == 0
    assert "Error" not in answer.reply
    assert nonzero(observed.registry, "rag_judgement_failures_total", "role", "reason") == failures
    assert nonzero(observed.registry, "rag_turns_total", "outcome") == {(ends[0],): 1}


def test_a_model_without_structured_output_answers_and_is_warned_of_once(
    composition: Composition, caplog: pytest.LogCaptureFixture
) -> None:
    said = ['{"classification": "RELEVANT", "confidence": "HIGH"}', *['{"relevant": "yes"}'] * 2,
            "It is so."]  # fmt: skip
    parts = replace(composition.parts(composition.settings), chat=FakeListChatModel(responses=said))

    agent = composition.agent(composition.settings, parts)
    outcomes = [agent.answer("How do I resize a server?").outcome for _ in range(3)]

    assert outcomes == ["answered"] * 3
    assert [r.levelno for r in caplog.records if r.levelno >= logging.WARNING] == [logging.WARNING]


def nonzero(registry: CollectorRegistry, sample: str, *labels: str) -> dict[tuple[str, ...], float]:
    """Return the series of a metric that are not 0, by some of their labels."""
    return {
        tuple(s.labels[label] for label in labels): s.value
        for family in registry.collect()
        for s in family.samples
        if s.name == sample and s.value
    }


def test_threads_at_once_get_what_one_after_another_gets(
    agent: SupportAgent, questions: list[str], one_by_one: list[Answer]
) -> None:
    with ThreadPoolExecutor(TURNS) as pool:
        answers = list(pool.map(agent.answer, questions))

    assert list(map(timeless, answers)) == one_by_one


async def test_tasks_at_once_get_what_one_after_another_gets(
    agent: SupportAgent, questions: list[str], one_by_one: list[Answer]
) -> None:
    answers = await asyncio.gather(*map(agent.aanswer, questions))

    assert list(map(timeless, answers)) == one_by_one


def test_a_record_store_that_cannot_be_written_is_counted_as_a_failure_of_telemetry(
    tmp_path: Path,
) -> None:
    composition = Composition(Settings(model="golden"))
    composition.keep_records(str(tmp_path))  # a directory is no database
    composition.default_agent.answer(next(iter(composition.golden)).question)
    written = composition.exposition(None)
    waiting = threading.Event()
    for _ in range(1_000):
        if b'rag_telemetry_errors_total{where="record"} 0.0' not in written[0]:
            break
        waiting.wait(0.01)
        written = composition.exposition(None)

    assert b'rag_telemetry_errors_total{where="record"}' in written[0]
    assert b'rag_telemetry_errors_total{where="record"} 0.0' not in written[0]
    assert b'rag_telemetry_dropped_total{signal="records"} 0.0' in written[0]
