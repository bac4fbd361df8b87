"""Each fault, in our own agent with the real handbook, and what it does to a question."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import pytest
from fakes import ScriptedChat
from langchain_core.messages import HumanMessage

from agent.answer import Answer
from agent.compose import Composition
from agent.errors import FaultError
from agent.faults.catalogue import FAULTS, SLOW_SECONDS, read_fault
from agent.gameday import GameDay
from agent.models.requests import prompt_version
from agent.parts import Parts
from agent.settings import Settings
from telemetry.batching import close_all
from telemetry.records.record import record_of
from telemetry.testing import KeptTurns

LAST_HIT = "What happens if my server goes down?"
"""Found on the second rewrite of two by the golden model."""
NO_ANSWER = "Do you offer a student discount?"
FOUND = "Can I export my data after I cancel my plan?"


@pytest.fixture(scope="module")
def composition() -> Composition:
    return Composition(Settings(model="golden"))


@pytest.fixture(scope="module")
def settings(composition: Composition) -> Settings:
    return composition.settings


def ask(composition: Composition, fault: str, question: str, **changes: Any) -> Answer:
    settings = composition.settings.model_copy(update=changes)
    parts = read_fault(fault).into(composition.parts(settings))
    return composition.agent(settings, parts).answer(question)


@pytest.mark.parametrize(
    ("fault", "question", "sound", "struck"),
    [
        pytest.param("silent-rejection:1", FOUND, "answered", "off_topic", id="silent-rejection"),
        pytest.param("runaway-loop", NO_ANSWER, "no_results", "recursion_limit", id="runaway-loop"),
        pytest.param("budget-first", LAST_HIT, "answered", "no_results", id="budget-first"),
        pytest.param("synonym-swap", LAST_HIT, "answered", "no_results", id="synonym-swap"),
        pytest.param("drift", LAST_HIT, "answered", "no_results", id="drift"),
        pytest.param("index-regression:1", FOUND, "answered", "no_results", id="index-regression"),
        pytest.param("grader-regression", FOUND, "answered", "no_results", id="grader-regression"),
        pytest.param("model-outage", FOUND, "answered", "error", id="model-outage"),
        pytest.param("retriever-outage", FOUND, "answered", "error", id="retriever-outage"),
        pytest.param("metrics-gone", FOUND, "answered", "answered", id="metrics-gone"),
        pytest.param("traffic-stopped", FOUND, "answered", "answered", id="traffic-stopped"),
    ],
)  # fmt: skip
def test_a_fault_changes_how_a_turn_ends(
    composition: Composition, fault: str, question: str, sound: str, struck: str
) -> None:
    assert composition.default_agent.answer(question).outcome == sound
    assert ask(composition, fault, question).outcome == struck


def test_a_share_leaves_the_other_questions_alone(composition: Composition) -> None:
    questions = [golden.question for golden in composition.golden]
    outcomes = [ask(composition, "silent-rejection:0.5", q).outcome for q in questions]
    sound = [composition.default_agent.answer(q).outcome for q in questions]

    assert 0 < sum(a != b for a, b in zip(outcomes, sound, strict=True)) < len(questions)


def test_a_swap_searches_again_for_the_same_chunks(composition: Composition) -> None:
    attempts = ask(composition, "synonym-swap", LAST_HIT).attempts

    assert [attempt.synonym_swap for attempt in attempts] == [False, True, True]
    assert len({attempt.query for attempt in attempts}) == 3


def test_a_drift_leaves_the_question_from_the_first_rewrite_on(composition: Composition) -> None:
    attempts = ask(composition, "drift", LAST_HIT, max_rewrites=3).attempts
    similarities = [attempt.similarity for attempt in attempts if attempt.similarity is not None]

    assert len(similarities) == 3
    assert max(similarities) < 0.5


def test_budget_first_shows_as_discarded_evidence(composition: Composition) -> None:
    assert ask(composition, "budget-first", LAST_HIT).reason == "evidence_discarded"


def test_a_worse_index_and_a_stricter_grader_are_other_builds(
    composition: Composition, settings: Settings
) -> None:
    sound = composition.parts(settings)
    index = read_fault("index-regression").into(sound)
    grader = read_fault("grader-regression").into(sound)

    assert index.retriever.index.fingerprint != sound.retriever.index.fingerprint
    assert index.retriever.k == sound.retriever.k
    assert (sound.grader, grader.grader) == ("golden", "golden stricter")


def test_a_slow_model_waits_before_every_call(
    composition: Composition, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("agent.faults.chat.time.sleep", waits.append)
    answer = ask(composition, "slow-model", FOUND)

    assert waits == [SLOW_SECONDS] * answer.llm_calls


def test_a_collector_that_is_down_costs_spans_and_no_answer(composition: Composition) -> None:
    alone = Composition(composition.settings)
    parts = read_fault("collector-down").into(alone.parts(alone.settings))
    agent = alone.agent(alone.settings, parts)
    answer = agent.answer(FOUND)
    close_all(timeout_seconds=5.0)
    text, _ = alone.exposition(None)
    dropped = [line for line in text.decode().splitlines() if "dropped_total{" in line]
    lost = {line.split('"')[1]: float(line.split()[-1]) for line in dropped}

    assert (answer.outcome, lost["spans"] > 5) == ("answered", True)


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_says_what_it_wraps_and_does(name: str) -> None:
    fault = FAULTS[name]

    assert fault.name == name
    assert 0 < fault.share <= 1
    assert "\n" not in fault.does
    assert fault.wraps and len(fault.does) < 80


@pytest.mark.parametrize(
    ("text", "share"),
    [
        pytest.param("silent-rejection", 0.6, id="its-own-share"),
        pytest.param("silent-rejection:0.25", 0.25, id="a-given-share"),
    ],
)
def test_read_fault(text: str, share: float) -> None:
    injection = read_fault(text, seed=7)

    assert (injection.name, injection.chance.share, injection.chance.seed) == (
        "silent-rejection", share, 7,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("rejection", "fault got 'rejection', expected one of silent", id="unknown"),
        pytest.param("drift:", "share got '', expected a number", id="no-share"),
        pytest.param("drift:all", "share got 'all', expected a number", id="a-word"),
        pytest.param("drift:2", "share got 2.0, expected more than 0", id="too-much"),
    ],
)
def test_what_is_no_fault_is_refused(text: str, message: str) -> None:
    with pytest.raises(FaultError, match=message):
        read_fault(text)


@pytest.fixture
def chat() -> Iterator[ScriptedChat]:
    yield ScriptedChat()


@pytest.mark.parametrize(
    ("messages", "task"),
    [
        pytest.param([], None, id="no-message"),
        pytest.param([HumanMessage("hello")], None, id="no-json"),
        pytest.param([HumanMessage("[1]")], None, id="json-that-is-no-object"),
        pytest.param([HumanMessage('{"task": "grade"}')], "grade", id="another-task"),
    ],
)
def test_the_faulty_topic_check_meddles_with_nothing_else(
    composition: Composition,
    settings: Settings,
    chat: ScriptedChat,
    messages: list[HumanMessage],
    task: str | None,
) -> None:
    parts: Parts = replace(composition.parts(settings), chat=chat)
    faulty = read_fault("silent-rejection:1").into(parts).chat
    if task is None:
        with pytest.raises(Exception, match="cannot read its request"):
            faulty.invoke(messages)
    else:
        assert json.loads(faulty.invoke(messages).text) == {"relevant": "no"}


async def test_a_game_day_is_switched_on_and_off_between_turns(
    composition: Composition, settings: Settings
) -> None:
    game_day = GameDay(composition, settings, read_fault("retriever-outage"), is_on=False)
    outcomes = []
    for _ in range(3):
        outcomes.append((await game_day.agent().aanswer(FOUND)).outcome)
        game_day.toggle()

    assert outcomes == ["answered", "error", "answered"]
    assert game_day.is_on


async def test_a_game_day_counts_both_agents_in_one_registry(settings: Settings) -> None:
    alone = Composition(settings)
    game_day = GameDay(alone, settings, read_fault("index-regression:1"), is_on=True)
    await game_day.agent().aanswer(FOUND)
    game_day.toggle()
    await game_day.agent().aanswer(FOUND)
    text = alone.exposition(None)[0].decode()
    builds = [line for line in text.splitlines() if line.startswith("rag_build_info{")]
    turns = sum(
        float(line.split()[-1]) for line in text.splitlines() if line.startswith("rag_turns_total{")
    )

    assert (len(builds), turns) == (2, 2)


@pytest.mark.parametrize(
    ("fault", "moved"),
    [
        pytest.param("index-regression", {"index"}, id="another-index"),
        pytest.param("grader-regression", {"grader"}, id="another-grader"),
        pytest.param("budget-first", set(), id="the-same-build"),
    ],
)
async def test_records_of_a_game_day_tell_which_build_answered(
    fault: str, moved: set[str], settings: Settings
) -> None:
    kept = KeptTurns()
    alone = Composition(settings, records=kept)
    game_day = GameDay(alone, settings, read_fault(fault), is_on=False)
    for _ in range(3):
        await game_day.agent().aanswer(FOUND)
        game_day.toggle()
    first, struck, third = (asdict(record_of(turn).labels) for turn in kept.turns)

    assert first == third
    assert {label for label in first if first[label] != struck[label]} == moved
    assert first == {
        "index": alone.index.fingerprint,
        "prompt": prompt_version(),
        "grader": "golden",
        "model": "golden",
    }
