"""The memory is measured, and conversations are forgotten by age, under a clock of the test."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field

import pytest
from talking import said, turn

from agent.memory import housekeeping as housekeeping_module
from agent.memory import memory as memory_module
from agent.memory.housekeeping import FORGET_SECONDS, Housekeeping
from agent.memory.local import LocalStore
from agent.memory.memory import Memory
from agent.memory.opening import open_memory
from agent.memory.store import Size
from agent.memory.thread import Thread

DAY = 86_400.0


@dataclass
class House:
    """A memory, the clock that its age is told by, and what was measured."""

    memory: Memory
    days: float = 30.0
    later: float = 0.0
    sizes: list[Size] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.keeping = Housekeeping(
            self.memory, days=self.days, measured=self.sizes.append, clock=self.now
        )

    def now(self) -> float:
        return time.time() + self.later

    async def look(self, later: float) -> None:
        self.later = later
        await self.keeping.look()


async def test_a_conversation_is_there_for_thirty_days_and_no_longer(setting: str) -> None:
    async with open_memory(setting) as memory:
        house = House(memory)
        await turn(memory, "one?")
        await house.look(later=30 * DAY - 60)
        kept = await said(memory)
        await house.look(later=30 * DAY + FORGET_SECONDS)

        assert kept == ["one?", "re one?"]
        assert await said(memory) == []
        assert [size.conversations for size in house.sizes] == [1, 0]


async def test_without_an_age_nothing_is_forgotten(setting: str) -> None:
    async with open_memory(setting) as memory:
        house = House(memory, days=0)
        await turn(memory, "one?")
        await house.look(later=10_000 * DAY)

        assert len(await said(memory)) == 2


async def test_notes_are_forgotten_when_their_time_is_over() -> None:
    store = LocalStore()
    memory = Memory(store)
    await memory.notes("turn", 60).put("ann", {"a": "one"})
    await House(memory, days=0).look(later=61)

    assert store.notes._kinds["turn"] == {}


async def test_it_searches_once_an_hour() -> None:
    memory = Memory(LocalStore())
    house = House(memory)
    await turn(memory, "one?")
    for later in (30 * DAY - 60, 30 * DAY + 60, 30 * DAY + FORGET_SECONDS):
        await house.look(later)

    assert [size.conversations for size in house.sizes] == [1, 1, 0]


async def test_it_searches_again_at_the_next_look_when_there_may_be_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (housekeeping_module, memory_module):
        monkeypatch.setattr(module, "MAX_FORGOTTEN", 2)
    memory = Memory(LocalStore())
    house = House(memory)
    for name in "abc":
        await turn(memory, "one?", thread=Thread(id=name))
    for later in (31 * DAY, 31 * DAY + 60):
        await house.look(later)

    assert [size.conversations for size in house.sizes] == [1, 0]


async def test_a_memory_that_is_away_is_told_of_and_looked_at_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Away(LocalStore):
        errors = (OSError,)
        is_away = True

        async def ping(self) -> None:
            if self.is_away:
                raise OSError("gone")

    store = Away()
    house = House(Memory(store))
    with caplog.at_level(logging.WARNING):
        await house.look(0)
    store.is_away = False
    await house.look(0)

    assert "the memory was not looked after: conversations cannot be reached in" in caplog.text
    assert [size.conversations for size in house.sizes] == [0]


async def test_it_looks_while_the_service_runs_and_ends_with_it() -> None:
    house = House(Memory(LocalStore()))
    async with house.keeping.kept():
        while not house.sizes:
            await asyncio.sleep(0)
        tasks = len(asyncio.all_tasks())

    assert len(asyncio.all_tasks()) == tasks - 1
