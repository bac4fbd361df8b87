"""The observed agent under load: what telemetry saw of a turn stays with that turn."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

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
