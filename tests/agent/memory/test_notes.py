"""What every kind of store promises of notes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent.memory.errors import MemoryUnavailableError
from agent.memory.local import LocalStore
from agent.memory.notes import LocalNotes, Notes
from agent.memory.opening import open_memory
from telemetry.testing import Clock

DAY = 86_400.0


NOW = 1_800_000_000.0


def notes_of(memory: Any, clock: Clock, kind: str = "turn") -> Notes:
    return Notes(memory._store, kind, DAY, clock=clock)


async def test_a_note_is_found_by_its_caller_alone_until_its_time_is_over(setting: str) -> None:
    clock = Clock(NOW)
    async with open_memory(setting) as memory:
        notes = notes_of(memory, clock)
        await notes.put("ann", {"a": "one", "b": "two"})
        at_once = [await notes.find("ann", id_) for id_ in "abc"]
        others = [await notes.find("bob", "a"), await notes_of(memory, clock, "x").find("ann", "a")]
        clock.now += DAY - 1
        nearly = await notes.find("ann", "a")
        clock.now += 1
        over = await notes.find("ann", "a")

    assert at_once == ["one", "two", None]
    assert others == [None, None]
    assert (nearly, over) == ("one", None)


async def test_a_note_is_replaced_and_removed(setting: str) -> None:
    async with open_memory(setting) as memory:
        notes = notes_of(memory, Clock(NOW))
        await notes.put("ann", {"a": "one"})
        await notes.put("ann", {"a": "two"})
        replaced = await notes.find("ann", "a")
        await notes.remove("ann", "a")
        await notes.remove("ann", "a")

        assert (replaced, await notes.find("ann", "a")) == ("two", None)


async def test_of_many_who_add_a_note_at_once_one_does(setting: str) -> None:
    async with open_memory(setting) as memory:
        notes = notes_of(memory, Clock(NOW))
        added = await asyncio.gather(*(notes.add("ann", "a", str(n)) for n in range(10)))
        found = await notes.find("ann", "a")

    assert sorted(added) == [False] * 9 + [True]
    assert found == str(added.index(True))


async def test_a_note_whose_time_is_over_is_no_hindrance(setting: str) -> None:
    clock = Clock(NOW)
    async with open_memory(setting) as memory:
        notes = notes_of(memory, clock)
        added = [await notes.add("ann", "a", "one", seconds=60), await notes.add("ann", "a", "two")]
        clock.now += 60
        added.append(await notes.add("ann", "a", "three"))

        assert (added, await notes.find("ann", "a")) == ([True, False, True], "three")


async def test_a_sweep_removes_what_is_over_and_nothing_else(setting: str) -> None:
    clock = Clock(NOW)
    async with open_memory(setting) as memory:
        notes = notes_of(memory, clock)
        await notes.add("ann", "old", "one", seconds=60)
        await notes.add("ann", "new", "two")
        await memory.sweep_notes(clock.now + 60)

        assert await notes.find("ann", "old") is None
        assert await notes.find("ann", "new") == "two"
        assert await notes.add("ann", "old", "three")


async def test_notes_outlive_their_process(lasting: str) -> None:
    clock = Clock(NOW)
    async with open_memory(lasting) as memory:
        await notes_of(memory, clock).put("ann", {"a": "one"})
    async with open_memory(lasting) as memory:
        notes = notes_of(memory, clock)

        assert (await notes.find("ann", "a"), notes.is_shared) == ("one", True)


@pytest.mark.parametrize(
    ("store", "kept"),
    [
        pytest.param(LocalNotes(max_notes=2), ["b", "c"], id="by-their-number"),
        pytest.param(LocalNotes(max_chars=7), ["b", "c"], id="by-their-length"),
        pytest.param(LocalNotes(), ["a", "b", "c"], id="not-before"),
    ],
)
async def test_in_a_process_the_oldest_notes_of_a_kind_are_forgotten(
    store: LocalNotes, kept: list[str]
) -> None:
    for name in "abc":
        await store.put("turn", {name: "now"}, until=1.0)
    await store.put("other", {"a": "now"}, until=1.0)

    assert [name for name in "abc" if await store.find("turn", name, 0.0)] == kept
    assert await store.find("other", "a", 0.0) == "now"


async def test_a_store_that_fails_is_told_as_an_error_of_the_memory() -> None:
    class Broken(LocalNotes):
        async def find(self, kind: str, name: str, now: float) -> str | None:
            raise OSError("the disk is gone\nSELECT secret")

    store = LocalStore()
    store.notes, store.errors = Broken(), (OSError,)
    with pytest.raises(MemoryUnavailableError, match="the disk is gone; expected") as raised:
        await Notes(store, "turn", DAY).find("ann", "a")

    assert "secret" not in str(raised.value)
