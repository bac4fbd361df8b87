"""Turns of probes: in no count of users' turns, in no record, and nobody else's with them."""

from __future__ import annotations

import asyncio
import random
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from graphs import QUESTION, SUPPORT_ROLES, support_graph
from test_calls import TEN_AND_FIVE, Slow, in_the_background, line_graph
from test_core_books import ask, graphs

from telemetry import RecordSink, names, open_reader, synthetic_turns
from telemetry.errors import RecordsMissingError
from telemetry.synthetic import are_synthetic
from telemetry.testing import Kit

ENDS = sorted(graphs())


def series(kit: Kit) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Return every sample of the registry but the counter of probes' turns."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in kit.registry.collect()
        for sample in family.samples
        if sample.name != names.PROBE_TURNS
    }


@pytest.mark.parametrize("end", ENDS)
def test_a_synthetic_turn_changes_no_series_but_its_own(end: str) -> None:
    kit = Kit()
    graph = kit.watch(graphs()[end], SUPPORT_ROLES, name="one", build={"model": "scripted-1"})
    before = series(kit)
    with synthetic_turns():
        for seed in range(3):
            ask(end, graph, random.Random(seed))
    after = series(kit)

    gauges = {
        key for key in after if key[0] in (names.REWRITE_BUDGET, names.RECURSION_STEPS_NEEDED)
    }
    assert {key: after[key] for key in after if key not in gauges} == before
    assert kit.value(names.PROBE_TURNS) == 3


def test_every_question_is_in_exactly_one_of_the_two_counters() -> None:
    kit = Kit()
    rng = random.Random(11)
    watched = {end: kit.watch(graph, SUPPORT_ROLES, name="one") for end, graph in graphs().items()}
    asked = [rng.choice(ENDS) for _ in range(60)]
    probed = 0
    for end in asked:
        is_probe = rng.random() < 0.5
        probed += is_probe
        with synthetic_turns() if is_probe else nullcontext():
            ask(end, watched[end], rng)

    assert kit.value(names.PROBE_TURNS) == probed
    assert kit.value(names.TURNS) == len(asked) - probed
    assert kit.value(names.OPEN_TURNS) == 0


async def test_a_synthetic_turn_beside_users_turns_is_kept_apart() -> None:
    kit = Kit()
    graph = kit.watch(support_graph(grades=["yes"], is_async=True), SUPPORT_ROLES)

    async def one(is_probe: bool) -> None:
        with synthetic_turns() if is_probe else nullcontext():
            await graph.ainvoke(QUESTION)

    await asyncio.gather(*(one(number % 4 == 0) for number in range(20)))

    assert (kit.value(names.TURNS), kit.value(names.PROBE_TURNS)) == (15, 5)
    assert kit.value(names.RETRIEVALS) == 15


def test_the_span_of_the_turn_says_that_it_is_synthetic() -> None:
    kit = Kit()
    graph = kit.watch(support_graph(grades=["yes"]), SUPPORT_ROLES, name="one")
    with synthetic_turns():
        graph.invoke(QUESTION)
    graph.invoke(QUESTION)
    marks = [s.attributes.get(names.SYNTHETIC_TYPE) for s in kit.named("invoke_workflow one")]

    assert marks == ["test", None]
    assert [turn.is_synthetic for turn in kit.records.turns] == [True, False]


def test_a_synthetic_turn_leaves_no_record(tmp_path: Path) -> None:
    path = tmp_path / "turns.sqlite"
    sink = RecordSink(path)
    graph = Kit().watch(support_graph(grades=["yes"]), SUPPORT_ROLES, records=sink)
    with synthetic_turns():
        graph.invoke(QUESTION)
    assert sink.flush()
    with open_reader(path) as reader, pytest.raises(RecordsMissingError):
        reader.count()
    graph.invoke(QUESTION)
    sink.close()

    with open_reader(path) as reader:
        assert reader.count() == 1


@pytest.mark.parametrize("starts", [True, False], ids=["begun in the turn", "begun after it"])
async def test_a_call_that_outlives_a_synthetic_turn_is_not_counted_either(starts: bool) -> None:
    kit = Kit()
    gate = asyncio.Event()
    model = Slow(usage=TEN_AND_FIVE, gate=gate)
    tasks: list[Any] = []

    async def call() -> None:
        if not starts:
            await gate.wait()
        await model.ainvoke("hi")

    graph = kit.watch(
        line_graph(in_the_background(call, tasks, starts=starts)), {"leave": "answer"}
    )
    before = series(kit)
    with synthetic_turns():
        await graph.ainvoke({})
    gate.set()
    await tasks[0]

    assert series(kit) == before


def test_nothing_is_synthetic_outside() -> None:
    with synthetic_turns():
        assert are_synthetic()

    assert not are_synthetic()
