"""The observed agent under load: what telemetry saw of a turn stays with that turn."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

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
    return replace(answer, duration_seconds=0.0)


def test_a_synonym_swap_and_a_likeness_are_seen_where_they_happened(
    one_by_one: list[Answer],
) -> None:
    outage = next(a for a in one_by_one if "server goes down" in a.question)

    assert [attempt.synonym_swap for attempt in outage.attempts] == [False, True, False]
    assert outage.attempts[2].similarity is not None


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
