"""A reader that goes away in the middle of a turn of the real graph."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from fakes import ScriptedChat, make_context
from http_service import Script, served
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from pydantic import ConfigDict

from agent.compose import ROLES
from agent.conversing import Conversing
from agent.graph import build_graph
from agent.memory.local import LocalStore
from agent.memory.memory import Memory
from agent.service import SupportAgent
from telemetry.testing import Kit


class SlowChat(ScriptedChat):
    """Waits at each call until the gate is open."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    gate: asyncio.Event

    async def _agenerate(self, messages: list[BaseMessage], *_: object, **__: object) -> ChatResult:
        result = self._generate(messages)
        await self.gate.wait()
        return result


async def test_no_further_model_call_is_made_and_the_thread_can_be_asked_again() -> None:
    kit, gate = Kit(), asyncio.Event()
    chat = SlowChat(gate=gate, replies={"grade": {"relevant": "yes"}})
    graph = kit.watch(build_graph(), {n: r for n, r in ROLES.items() if n in build_graph().nodes})
    agent = SupportAgent(graph=graph, context=make_context(chat=chat))
    conversing = Conversing(lambda: agent, Memory(LocalStore()))
    body = {"question": "q?", "thread_id": "t"}
    async with served(conversing) as url, httpx.AsyncClient(trust_env=False) as http:
        async with http.stream("POST", f"{url}/ask/stream", json=body) as reply:
            async for _ in reply.aiter_bytes():
                if chat.asked:
                    break
        async with asyncio.timeout(5):
            while conversing.turns_under_way:
                await asyncio.sleep(0.005)
        calls = len(chat.asked)
        gate.set()
        again = await http.post(f"{url}/ask", json=body)

    assert (calls, again.json()["outcome"]) == (1, "answered")
    assert kit.outcomes() == {"cancelled": 1, "answered": 1}
    assert kit.value("rag_open_turns") == 0


async def test_a_caller_that_does_not_wait_is_no_failure_of_ours(
    caplog: pytest.LogCaptureFixture,
) -> None:
    script = Script()
    script.gate.clear()
    async with served(script) as url, httpx.AsyncClient(trust_env=False) as http:
        asked = asyncio.create_task(http.post(f"{url}/ask", json={"question": "q?"}))
        await script.began.wait()
        asked.cancel()
        async with asyncio.timeout(5):
            while not script.ended:
                await asyncio.sleep(0.005)

    assert script.ended == ["cancelled"]
    assert caplog.messages == []
