"""An agent that talks from a script, and one turn of it on a memory."""

from __future__ import annotations

import time
from typing import Any

from fakes import ScriptedChat, make_context
from langchain_core.retrievers import BaseRetriever

from agent.answer import Answer
from agent.graph import build_graph
from agent.memory.memory import Memory
from agent.memory.thread import Thread
from agent.service import SupportAgent

ANSWERED = {"grade": {"relevant": "yes"}, "answer": lambda data: f"re {data['question']}",
            "enhance": lambda data: {"question": data["question"]}}  # fmt: skip


def make_agent(
    replies: dict[str, Any] | None = None,
    *,
    chat: ScriptedChat | None = None,
    retriever: BaseRetriever | None = None,
) -> SupportAgent:
    chat = chat or ScriptedChat(replies={**ANSWERED, **(replies or {})})
    return SupportAgent(graph=build_graph(), context=make_context(chat=chat, retriever=retriever))


def soon(seconds: float = 20.0) -> float:
    return time.monotonic() + seconds


async def turn(
    memory: Memory,
    question: str,
    *,
    thread: Thread | None = None,
    agent: SupportAgent | None = None,
    seconds: float = 20.0,
) -> Answer:
    """Ask in a thread, as the service does."""
    thread, until = thread or Thread(id="t"), soon(seconds)
    remembering = (agent or make_agent()).with_memory(memory.checkpointer)
    async with memory.turn(thread, until):
        return await remembering.aanswer(question, thread_id=thread.key, deadline=until)


async def said(memory: Memory, thread: Thread | None = None) -> list[str]:
    return [message.text for message in await memory.messages(thread or Thread(id="t"))]
