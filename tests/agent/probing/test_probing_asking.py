from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from agent.probing.asking import MAX_REPLY_BYTES, HttpProbe, Result
from agent.probing.known import KnownQuestion

QUESTION = KnownQuestion(
    id="3", question="What if?", expected="answered", chunks=frozenset({"sla"}),
    history=(("Hi?", "Hello."),),
)  # fmt: skip


class Service(httpx.AsyncBaseTransport):
    """Replies as told, and keeps what it was sent."""

    def __init__(
        self, content: Any = b"", *, status: int = 200, error: Exception | None = None
    ) -> None:
        self.content, self.status, self.error = content, status, error
        self.sent: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        if self.error is not None:
            raise self.error
        content = self.content() if callable(self.content) else self.content
        return httpx.Response(self.status, content=content, request=request)


def completion(**told: Any) -> bytes:
    return json.dumps({"choices": [], "loopscope": {"citations": [], **told}}).encode()


async def ask(service: Service, *, timeout_seconds: float = 5) -> Result:
    async with httpx.AsyncClient(transport=service) as client:
        probe = HttpProbe("http://s/", "key", timeout_seconds=timeout_seconds, client=client)
        return await probe(QUESTION)


async def endless() -> AsyncIterator[bytes]:
    while True:
        yield b"x" * 65_536


async def never() -> AsyncIterator[bytes]:
    yield b"{"
    await asyncio.Event().wait()


async def test_a_question_goes_out_as_a_probe_with_its_history_and_no_thread() -> None:
    service = Service(completion(outcome="answered", citations=["sla"], trace_id="ab"))
    result = await ask(service)
    (sent,) = service.sent

    assert (result.got, result.is_expected, result.trace_id, result.problem) == (
        "answered", True, "ab", None,
    )  # fmt: skip
    assert str(sent.url) == "http://s/v1/chat/completions"
    assert (sent.headers["authorization"], "loopscope-probe" in sent.headers) == (
        "Bearer key", True,
    )  # fmt: skip
    assert json.loads(sent.content)["messages"] == [
        {"role": "user", "content": "Hi?"},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "What if?"},
    ]


@pytest.mark.parametrize(
    ("told", "got"),
    [
        pytest.param({"outcome": "answered", "citations": ["plans"]}, "wrong_chunk", id="wrong"),
        pytest.param({"outcome": "no_results"}, "no_results", id="not-found"),
        pytest.param({"outcome": "gave_up"}, "gave_up", id="gave-up"),
    ],
)
async def test_another_outcome_is_told(told: dict[str, Any], got: str) -> None:
    result = await ask(Service(completion(**told)))

    assert (result.got, result.is_expected, result.problem) == (got, False, None)


@pytest.mark.parametrize(
    ("service", "problem"),
    [
        pytest.param(
            Service(error=httpx.ConnectError("refused")), "ConnectError: refused", id="down"
        ),
        pytest.param(Service(error=httpx.ReadError("")), "ReadError", id="hung-up"),
        pytest.param(
            Service(b'{"code": "probe_refused", "message": "No."}', status=403),
            "HTTP 403: No.",
            id="refuses-the-key",
        ),
        pytest.param(Service(b"<h1>Bad gateway</h1>", status=502), "HTTP 502", id="a-gateway"),
        pytest.param(Service(b"", status=307), "HTTP 307", id="a-redirect-is-not-followed"),
        pytest.param(Service(b"<html>"), "a reply that is none of `loopscope serve`", id="html"),
        pytest.param(Service(b"[" * 100_000), "none of `loopscope serve`", id="deep-json"),
        pytest.param(Service(b'{"choices": []}'), "none of `loopscope serve`", id="a-stranger"),
        pytest.param(Service(b"\xff\xfe"), "none of `loopscope serve`", id="no-text"),
        pytest.param(Service(completion(outcome="yes")), "an outcome of 'yes'", id="new-outcome"),
        pytest.param(Service(completion(outcome=["answered"])), "an outcome of", id="a-list"),
        pytest.param(
            Service(completion(outcome="answered", citations=None)), "an outcome of", id="no-list"
        ),
        pytest.param(
            Service(completion(outcome="error", reason="timeout")),
            "the turn failed: timeout",
            id="a-failed-turn",
        ),
        pytest.param(Service(endless), f"a reply above {MAX_REPLY_BYTES:,} bytes", id="endless"),
        pytest.param(Service(never), "no reply in 0.2 s", id="slow"),
    ],
)
async def test_whatever_is_no_answer_is_an_error_that_says_why(
    service: Service, problem: str
) -> None:
    result = await ask(service, timeout_seconds=0.2 if problem.startswith("no reply") else 5)

    assert result.got == "error"
    assert not result.is_expected
    assert result.problem is not None
    assert problem in result.problem
    assert len(service.sent) == 1
