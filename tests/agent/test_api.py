from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import httpx
import pytest
from fakes import make_context
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from agent.api import create_app
from agent.compose import ROLES
from agent.context import AgentContext
from agent.conversing import Conversing
from agent.graph import build_graph
from agent.memory.local import LocalStore
from agent.memory.memory import Memory
from agent.models.support import SupportModel
from agent.service import SupportAgent
from telemetry.callers import CallersTrace
from telemetry.instrumentation import instrument
from telemetry.testing import Kit

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0"


def exposition(registry: CollectorRegistry) -> Any:
    def expose(accept: str | None) -> tuple[bytes, str]:
        encode, content_type = choose_encoder(accept or "")
        return encode(registry), content_type

    return expose


def client(
    asking: Conversing, registry: CollectorRegistry | None = None, **options: Any
) -> httpx.AsyncClient:
    app = create_app(asking, exposition(registry or CollectorRegistry()), **options)
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app, raise_app_exceptions=False),
        base_url="http://service",
        follow_redirects=False,
    )


def asking(agent: SupportAgent) -> Conversing:
    return Conversing(lambda: agent, Memory(LocalStore()))


def scripted() -> Conversing:
    context = make_context({"grade": {"relevant": "yes"}})
    return asking(SupportAgent(graph=build_graph(), context=context))


class BlockingChat(BaseChatModel):
    """A model with a sync client alone, which does not reply until it is released."""

    released: threading.Event

    @property
    def _llm_type(self) -> str:
        return "blocking"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        assert self.released.wait(30)
        return ChatResult(generations=[ChatGeneration(message=AIMessage("no JSON"))])


async def test_a_question_gets_the_answer_object() -> None:
    async with client(scripted()) as http:
        reply = await http.post("/ask", json={"question": " q? "})

    body = reply.json()
    assert (reply.status_code, body["question"], body["outcome"], body["reply"]) == (
        200, "q?", "answered", "It is so [a].",
    )  # fmt: skip
    assert body["citations"] == ["a"]
    assert body["attempts"][0]["chunks"][0] == {"id": "a", "score": 0.5, "passed": True}


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        pytest.param(b'{"question": "  "}', "invalid_question", "it is empty", id="blank"),
        pytest.param(
            b'{"question": "a\\u0000b"}', "invalid_question", "control characters", id="binary"
        ),
        pytest.param(b'{"question": ', "invalid_request", "JSON decode error", id="half-a-body"),
        pytest.param(b"{}", "invalid_request", "body.question: Field required", id="no-question"),
        pytest.param(b'{"question": 7}', "invalid_request", "body.question", id="a-number"),
        pytest.param(
            b'{"question": "q?", "thread": "t"}', "invalid_request", "body.thread", id="a-typo"
        ),
        pytest.param(
            b'{"question": "q?", "thread_id": "a/../b"}',
            "invalid_thread",
            "other characters",
            id="a-thread-that-is-a-path",
        ),
    ],
)
async def test_what_is_no_question_is_refused_with_code_and_message(
    body: bytes, code: str, message: str
) -> None:
    async with client(scripted()) as http:
        reply = await http.post("/ask", content=body, headers={"Content-Type": "application/json"})

    assert (reply.status_code, reply.json()["code"]) == (422, code)
    assert message in reply.json()["message"]


async def test_a_refused_body_is_not_repeated_in_the_message() -> None:
    async with client(scripted()) as http:
        reply = await http.post("/ask", json={"question": {"secret": "x"}})

    assert "secret" not in reply.text


@pytest.mark.parametrize(
    ("path", "accept", "content_type"),
    [
        pytest.param("/metrics", "", "text/plain", id="plain-text"),
        pytest.param("/metrics/", "", "text/plain", id="with-a-slash-at-the-end"),
        pytest.param("/metrics", OPEN_METRICS, "application/openmetrics-text", id="open-metrics"),
        pytest.param("/metrics/", OPEN_METRICS, "application/openmetrics-text", id="both"),
    ],
)
async def test_metrics_are_there_without_a_redirect(
    path: str, accept: str, content_type: str
) -> None:
    registry = CollectorRegistry()
    instrument(build_graph(), roles={}, registry=registry)
    async with client(scripted(), registry) as http:
        reply = await http.get(path, headers={"Accept": accept} if accept else {})

    assert (reply.status_code, reply.headers.get("location")) == (200, None)
    assert reply.headers["content-type"].startswith(content_type)
    assert "rag_turns_total{" in reply.text


async def test_probes_and_metrics_are_answered_while_a_turn_waits_for_a_blocking_model() -> None:
    released = threading.Event()
    model = SupportModel(BlockingChat(released=released), structured_method="prompt")
    context = AgentContext(model=model, retriever=make_context().retriever)
    async with client(asking(SupportAgent(graph=build_graph(), context=context))) as http:
        asked = asyncio.create_task(http.post("/ask", json={"question": "q?"}))
        await asyncio.sleep(0)  # the request is under way
        replies = [await http.get(path) for path in ("/healthz", "/metrics")]
        is_waiting = not asked.done()
        released.set()
        reply = await asked

    assert ([r.status_code for r in replies], is_waiting) == ([200, 200], True)
    assert reply.json()["outcome"] == "answered"


def watched(kit: Kit, replies: dict[str, Any] | None = None) -> Conversing:
    context = make_context({"grade": {"relevant": "yes"}, **(replies or {})})
    roles = {node: role for node, role in ROLES.items() if node in build_graph().nodes}
    graph = kit.watch(build_graph(), roles)
    return asking(SupportAgent(graph=graph, context=context))


@pytest.mark.parametrize("path", ["/ask", "/ask/stream", "/v1/chat/completions"])
async def test_the_callers_span_is_the_parent_of_the_turns(path: str) -> None:
    kit = Kit()
    body = {"question": "q?"} if "chat" not in path else {
        "stream": True, "messages": [{"role": "user", "content": "q?"}]
    }  # fmt: skip
    async with client(watched(kit), around=CallersTrace) as http:
        reply = await http.post(path, json=body, headers={"traceparent": f"00-{TRACE}-{SPAN}-01"})
    (turn,) = [span for span in kit.spans if span.name.startswith("invoke_workflow")]

    assert reply.status_code == 200
    assert turn.parent is not None
    assert (f"{turn.parent.trace_id:032x}", f"{turn.parent.span_id:016x}") == (TRACE, SPAN)
    assert {f"{span.context.trace_id:032x}" for span in kit.spans} == {TRACE}


async def test_a_traceparent_that_is_none_begins_a_trace_of_its_own() -> None:
    kit = Kit()
    async with client(watched(kit), around=CallersTrace) as http:
        await http.post("/ask", json={"question": "q?"}, headers={"traceparent": "00-zz"})
    (turn,) = [span for span in kit.spans if span.name.startswith("invoke_workflow")]

    assert turn.parent is None


async def test_judges_tokens_never_leave_and_the_stream_says_what_the_reply_says() -> None:
    async with client(scripted()) as http:
        told = await http.post("/ask/stream", json={"question": "q?"})
        reply = (await http.post("/ask", json={"question": "q?"})).json()["reply"]
    events = [json.loads(line[6:]) for line in told.text.split("\n") if line.startswith("data: ")]

    assert "".join(event.get("text", "") for event in events) == reply == "It is so [a]."


async def test_half_a_surrogate_pair_is_refused_and_never_echoed() -> None:
    async with client(scripted()) as http:
        headers = {"Content-Type": "application/json"}
        bodies = [b'{"question": "\\ud83d"}', b'{"question": "q?", "\\ud83d": 1}']
        replies = [await http.post("/ask", content=body, headers=headers) for body in bodies]

    assert [reply.status_code for reply in replies] == [422, 422]
    assert [reply.json()["code"] for reply in replies] == ["invalid_question", "invalid_request"]


async def test_fastapis_own_telemetry_is_off() -> None:
    app = create_app(scripted(), exposition(CollectorRegistry()))

    assert not any(app._telemetry[name] for name in ("tracing", "metrics", "logs"))
