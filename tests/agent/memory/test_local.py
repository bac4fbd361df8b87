from __future__ import annotations

from talking import said, turn

from agent.memory.local import LocalStore
from agent.memory.memory import Memory
from agent.memory.thread import Thread


async def test_the_conversation_that_was_silent_longest_is_forgotten() -> None:
    store = LocalStore(limit=2)
    memory = Memory(store)
    for name in ("a", "b", "a", "c"):
        await turn(memory, "one?", thread=Thread(id=name))

    assert [len(await said(memory, Thread(id=name))) for name in "abc"] == [4, 0, 2]
    assert len(store) == 2
    assert len([found async for found in memory.checkpointer.alist(None)]) == 2
