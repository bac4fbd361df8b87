"""What every kind of memory promises."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from fakes import DictRetriever, ScriptedChat
from langchain_core.documents import Document
from talking import ANSWERED, make_agent, said, soon, turn

from agent.errors import UnknownGoldenQuestionError
from agent.memory.errors import ConversationBusyError
from agent.memory.memory import Message
from agent.memory.opening import open_memory
from agent.memory.thread import Thread
from agent.state import HISTORY_MESSAGES

TURNS = 5


async def test_a_conversation_is_told_with_who_spoke_and_how_each_turn_ended(setting: str) -> None:
    agent = make_agent({"guard": {"classification": "IRRELEVANT", "confidence": "HIGH"}})
    async with open_memory(setting) as memory:
        await turn(memory, "one?")
        await turn(memory, "two?", agent=agent)
        messages = await memory.messages(Thread(id="t"))

    assert messages[:3] == [
        Message(role="user", text="one?"),
        Message(role="assistant", text="re one?", outcome="answered"),
        Message(role="user", text="two?"),
    ]
    assert messages[3].outcome == "off_topic"


async def test_a_conversation_goes_on_after_a_restart(lasting: str) -> None:
    async with open_memory(lasting) as memory:
        await turn(memory, "one?")
    chat = ScriptedChat(replies=ANSWERED)
    async with open_memory(lasting) as memory:
        await turn(memory, "two?", agent=make_agent(chat=chat))

        assert await said(memory) == ["one?", "re one?", "two?", "re two?"]
    assert [said["text"] for said in chat.asked[0][1]["history"]] == ["one?", "re one?"]


async def test_turns_at_once_in_one_thread_run_one_after_another_and_none_is_lost(
    setting: str,
) -> None:
    questions = [f"q{number}?" for number in range(TURNS)]
    async with open_memory(setting) as memory:
        answers = await asyncio.gather(*(turn(memory, question) for question in questions))
        messages = await said(memory)

    assert [answer.reply for answer in answers] == [f"re {question}" for question in questions]
    assert messages == [text for question in questions for text in (question, f"re {question}")]


async def test_turns_in_other_threads_do_not_wait(setting: str) -> None:
    async with open_memory(setting) as memory, memory.turn(Thread(id="a"), soon()):
        answer = await asyncio.wait_for(turn(memory, "one?", thread=Thread(id="b")), 20)

    assert answer.outcome == "answered"


async def test_who_waits_too_long_for_the_turn_before_is_told(setting: str) -> None:
    async with open_memory(setting) as memory:
        async with memory.turn(Thread(id="t"), soon()):
            with pytest.raises(ConversationBusyError, match="another turn under way for 0"):
                await turn(memory, "one?", seconds=0.05)
        await turn(memory, "two?")

        assert await said(memory) == ["two?", "re two?"]


async def test_a_cancelled_wait_leaves_the_thread_usable(setting: str) -> None:
    async with open_memory(setting) as memory:
        async with memory.turn(Thread(id="t"), soon()):
            waiting = asyncio.create_task(turn(memory, "one?"))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait({waiting})
        await turn(memory, "two?")

        assert waiting.cancelled()
        assert await said(memory) == ["two?", "re two?"]


@pytest.mark.parametrize(
    ("replies", "retriever"),
    [
        pytest.param({}, DictRetriever(error=OSError("down")), id="the-retriever-is-down"),
        pytest.param({"guard": UnknownGoldenQuestionError("q?", Path("g.yaml"))}, None,
                     id="the-caller-made-a-mistake"),
    ],
)  # fmt: skip
async def test_a_turn_that_fails_leaves_the_conversation_as_it_was(
    setting: str, replies: dict[str, Any], retriever: DictRetriever | None
) -> None:
    failing = make_agent(replies, retriever=retriever)
    async with open_memory(setting) as memory:
        await turn(memory, "one?")
        for thread in (Thread(id="t"), Thread(id="new")):
            try:
                failed = (await turn(memory, "two?", agent=failing, thread=thread)).outcome
            except UnknownGoldenQuestionError:
                failed = "error"
            assert failed == "error"
        await turn(memory, "three?")

        assert await said(memory) == ["one?", "re one?", "three?", "re three?"]
        assert await said(memory, Thread(id="new")) == []


async def test_a_forgotten_conversation_is_gone_and_others_are_not(setting: str) -> None:
    threads = [Thread(id="1", caller="u1"), Thread(id="1", caller="u2")]
    async with open_memory(setting) as memory:
        for thread in threads:
            await turn(memory, "my code is 7141", thread=thread)
        await memory.forget(threads[0], soon())
        await memory.forget(Thread(id="never-seen"), soon())

        assert [len(await said(memory, thread)) for thread in threads] == [0, 2]


async def test_forgetting_waits_for_the_turn_under_way(setting: str) -> None:
    async with open_memory(setting) as memory, memory.turn(Thread(id="t"), soon()):
        with pytest.raises(ConversationBusyError):
            await memory.forget(Thread(id="t"), soon(0.05))


async def test_the_rewrites_and_chunks_of_a_turn_are_its_own(setting: str) -> None:
    chat = ScriptedChat(replies=ANSWERED)
    never = make_agent({"grade": {"relevant": "no"}}, retriever=finds("old"))
    always = make_agent(chat=chat, retriever=finds("new"))
    async with open_memory(setting) as memory:
        answers = [await turn(memory, f"q{n}?", agent=never) for n in range(2)]
        answers.append(await turn(memory, "q2?", agent=always))

    assert [(a.rewrites, a.retrievals) for a in answers] == [(2, 3), (2, 3), (0, 1)]
    assert [chunk["id"] for chunk in dict(chat.asked)["answer"]["chunks"]] == ["new"]


def finds(*ids: str) -> DictRetriever:
    return DictRetriever(found={None: [(id_, 0.5) for id_ in ids]})


class LongDocuments(DictRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(page_content=f"secret {query} " * 1_000, id="a", metadata={"id": "a"})]


async def test_the_store_grows_with_conversations_and_not_with_turns(setting: str) -> None:
    chat = ScriptedChat(replies=ANSWERED)
    agent = make_agent(chat=chat, retriever=LongDocuments())
    turns = HISTORY_MESSAGES // 2 + 3
    async with open_memory(setting) as memory:
        for number in range(turns):
            await turn(memory, f"question {number:03}?", agent=agent)
        kept = [found async for found in memory.checkpointer.alist(None)]
        history = await said(memory)
    prompts = [len(json.dumps(data["history"])) for task, data in chat.asked if task == "enhance"]

    assert len(kept) == 1
    assert "secret" not in str(kept[0].checkpoint)
    assert len(history) == HISTORY_MESSAGES
    assert history[-1] == f"re question {turns - 1:03}?"
    assert prompts[-1] == prompts[-2] == max(prompts)


async def test_what_is_stored_is_messages_and_json(setting: str) -> None:
    async with open_memory(setting) as memory:
        await turn(memory, "one?")
        await turn(memory, "two?")
        graph = make_agent().with_memory(memory.checkpointer).remembering
        assert graph is not None
        state = await graph.aget_state({"configurable": {"thread_id": Thread(id="t").key}})
    values = dict(state.values)

    assert [message.type for message in values.pop("messages")] == ["human", "ai"] * 2
    assert json.loads(json.dumps(values)) == values


async def test_a_subgraph_leaves_nothing_in_the_store(setting: str) -> None:
    async with open_memory(setting) as memory:
        await turn(memory, "one?")
        kept = [found async for found in memory.checkpointer.alist(None)]
        inner = {"configurable": {**kept[0].config["configurable"], "checkpoint_ns": "revise:1"}}
        state = {**kept[0].checkpoint, "id": "2", "channel_values": {"outcome": "published"}}
        await memory.checkpointer.aput(inner, state, kept[0].metadata, {})

        assert [found async for found in memory.checkpointer.alist(None)] == kept
        assert await said(memory) == ["one?", "re one?"]


async def test_a_memory_that_answers_is_ready(setting: str) -> None:
    async with open_memory(setting) as memory:
        await memory.ping()
