from __future__ import annotations

import asyncio
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

from agent.answer import Answer
from agent.api import create_app
from agent.context import AgentContext
from agent.conversing import Conversing
from agent.errors import RetrieverError, UnknownGoldenQuestionError
from agent.graph import build_graph
from agent.memory.errors import ConversationBusyError, MemoryUnavailableError
from agent.memory.local import LocalStore
from agent.memory.memory import Memory
from agent.memory.thread import Thread
from agent.models.support import SupportModel
from agent.service import SupportAgent
from telemetry.instrumentation import instrument

OPEN_METRICS = "application/openmetrics-text; version=1.0.0"


def exposition(registry: CollectorRegistry) -> Any:
    def expose(accept: str | None) -> tuple[bytes, str]:
        encode, content_type = choose_encoder(accept or "")
        return encode(registry), content_type

    return expose


def client(asked: Any, registry: CollectorRegistry | None = None) -> httpx.AsyncClient:
    app = create_app(asked, exposition(registry or CollectorRegistry()))
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


class Recorder:
    """Answers with the question, or fails; keeps the threads that it was asked in."""

    def __init__(self, error: Exception | None = None) -> None:
        self.threads: list[str | None] = []
        self._error = error

    async def ask(self, question: str, *, thread: Thread | None = None) -> Answer:
        self.threads.append(thread.id if thread else None)
        if self._error is not None:
            raise self._error
        return Answer(question=question, outcome="answered", reason=None, reply=f"re {question}")

    async def ping(self) -> None:
        if self._error is not None:
            raise self._error


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
    ("error", "status", "code"),
    [
        pytest.param(
            UnknownGoldenQuestionError("q?", "golden.yaml"), 422, "unknown_golden_question",
            id="the-golden-model-does-not-know-it",
        ),
        pytest.param(RetrieverError(OSError()), 500, "retriever_error", id="our-own-failure"),
        pytest.param(
            ConversationBusyError(1.0), 503, "conversation_busy", id="another-turn-is-under-way"
        ),
    ],
)  # fmt: skip
async def test_an_error_of_ours_keeps_its_code(error: Exception, status: int, code: str) -> None:
    async with client(Recorder(error)) as http:
        reply = await http.post("/ask", json={"question": "q?"})

    assert (reply.status_code, reply.json()["code"]) == (status, code)


async def test_a_question_is_asked_in_its_thread_or_on_its_own() -> None:
    asked = Recorder()
    async with client(asked) as http:
        for thread in ("a", None):
            await http.post("/ask", json={"question": "q?", "thread_id": thread})

    assert asked.threads == ["a", None]


async def test_a_memory_that_cannot_be_reached_is_told_by_the_readiness_probe_alone() -> None:
    async with client(Recorder(MemoryUnavailableError("a store", "it is away"))) as http:
        replies = [await http.get(path) for path in ("/readyz", "/healthz")]

    assert [reply.status_code for reply in replies] == [503, 200]
    assert replies[0].json()["code"] == "memory_unavailable"


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_probes_are_answered(path: str) -> None:
    async with client(Recorder()) as http:
        assert (await http.get(path)).status_code == 200


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
    async with client(Recorder(), registry) as http:
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
