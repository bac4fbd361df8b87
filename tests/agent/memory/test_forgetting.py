"""Conversations by age, and how much is kept: on every kind of memory."""

from __future__ import annotations

import time

import pytest
from langgraph.checkpoint.base.id import uuid6
from talking import said, soon, turn

from agent.memory.local import LocalStore
from agent.memory.memory import Memory, first_checkpoint_id
from agent.memory.opening import open_memory
from agent.memory.thread import Thread


async def test_a_conversation_is_forgotten_when_it_was_silent_for_long(setting: str) -> None:
    async with open_memory(setting) as memory:
        for name in ("old", "kept"):
            await turn(memory, "one?", thread=Thread(id=name))
        between = time.time()
        await turn(memory, "two?", thread=Thread(id="kept"))
        nothing = await memory.forget_silent(between - 3600)
        forgotten = await memory.forget_silent(between)

        assert (nothing, forgotten) == (0, 1)
        assert await said(memory, Thread(id="old")) == []
        assert await said(memory, Thread(id="kept")) == ["one?", "re one?", "two?", "re two?"]
        assert [thread.id for thread in await memory.threads("")] == ["kept"]
        assert await memory.forget_silent(time.time() + 1) == 1


async def test_a_conversation_with_a_turn_under_way_is_not_silent(setting: str) -> None:
    async with open_memory(setting) as memory:
        await turn(memory, "one?")
        async with memory.turn(Thread(id="t"), soon()):
            forgotten = await memory.forget_silent(time.time() + 3600)

        assert forgotten == 0
        assert await said(memory) == ["one?", "re one?"]


async def test_the_size_counts_conversations_and_not_their_turns(setting: str) -> None:
    async with open_memory(setting) as memory:
        empty = await memory.size()
        for name in "aab":
            await turn(memory, "one?", thread=Thread(id=name))
        await memory.messages(Thread(id="never"))
        full = await memory.size()
        for name in "ab":
            await memory.forget(Thread(id=name), soon())
        left = await memory.size()

    assert (empty.conversations, full.conversations, left.conversations) == (0, 2, 0)
    assert full.bytes > 0


async def test_in_a_process_the_bytes_are_those_of_the_conversations() -> None:
    memory = Memory(LocalStore(limit=2))
    sizes = [(await memory.size()).bytes]
    for name in "abcd":
        await turn(memory, "one?", thread=Thread(id=name))
        sizes.append((await memory.size()).bytes)
    await turn(memory, "two? " * 100, thread=Thread(id="d"))
    sizes.append((await memory.size()).bytes)

    assert sizes[0] == 0
    # Versions hold random numbers of a few digits more or less.
    assert sizes[2:5] == pytest.approx([2 * sizes[1]] * 3, rel=0.02)
    assert sizes[5] > sizes[4] + 500


async def test_in_a_process_a_look_at_an_unknown_conversation_leaves_nothing() -> None:
    store = LocalStore()
    memory = Memory(store)
    for number in range(10):
        await memory.messages(Thread(id=f"t{number}"))
    await memory.size()

    assert len(store.saver.storage) == 0


def test_ids_of_checkpoints_are_in_the_order_of_time() -> None:
    before, id_, after = time.time() - 1e-3, str(uuid6()), time.time() + 1e-3

    assert first_checkpoint_id(before) < id_ < first_checkpoint_id(after)
