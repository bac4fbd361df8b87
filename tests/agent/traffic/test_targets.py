from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from fakes import make_context

from agent.errors import TargetError, UnknownGoldenQuestionError
from agent.graph import build_graph
from agent.service import SupportAgent
from agent.traffic.load import NoReplyError
from agent.traffic.targets import HttpTarget, InProcessTarget


def target(reply: Callable[[httpx.Request], httpx.Response]) -> HttpTarget:
    return HttpTarget("http://service:8000/", transport=httpx.MockTransport(reply))


def refuses(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused", request=request)


def hangs(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("slow", request=request)


async def test_a_question_is_posted_and_its_outcome_returned() -> None:
    seen: list[tuple[str, bytes]] = []

    def reply(request: httpx.Request) -> httpx.Response:
        seen.append((str(request.url), request.content))
        return httpx.Response(200, json={"outcome": "answered"})

    async with target(reply) as ask:
        assert await ask("q?", "t") == "answered"
    assert seen == [("http://service:8000/ask", b'{"question":"q?","thread_id":"t"}')]


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        pytest.param(hangs, "timeout", id="no-reply-in-time"),
        pytest.param(refuses, "ConnectError", id="nobody-listens"),
        pytest.param(lambda _: httpx.Response(503), "http_503", id="overloaded"),
        pytest.param(lambda _: httpx.Response(422), "http_422", id="refused"),
    ],
)
async def test_no_reply_has_a_kind(
    reply: Callable[[httpx.Request], httpx.Response], kind: str
) -> None:
    async with target(reply) as ask:
        with pytest.raises(NoReplyError, match=f"^{kind}$"):
            await ask("q?", None)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        pytest.param(refuses, "ConnectError: refused", id="nobody-listens"),
        pytest.param(lambda _: httpx.Response(404), "/readyz answered 404", id="another-server"),
        pytest.param(hangs, "no answer within 10 s; expected", id="one-that-says-nothing"),
    ],
)
async def test_an_address_without_our_service_is_refused_at_the_start(
    reply: Callable[[httpx.Request], httpx.Response], message: str
) -> None:
    async with target(reply) as ask:
        with pytest.raises(TargetError, match=message):
            await ask.check()


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://service", "http://", ""])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(TargetError, match="no service to ask at"):
        HttpTarget(url)


async def test_an_agent_in_process_sees_the_conversation() -> None:
    agent = SupportAgent(graph=build_graph(), context=make_context({"grade": {"relevant": "yes"}}))
    ask = InProcessTarget(lambda: agent)

    assert await ask("one?", "t") == "answered"
    assert await ask("two?", "t") == "answered"
    model = agent.context.model.structured_method
    asked = [task for task, _ in agent.context.model._default.model.asked]  # type: ignore[attr-defined]  # the scripted chat
    assert (model("guard"), asked.count("enhance")) == ("prompt", 1)


async def test_an_error_of_ours_is_no_reply() -> None:
    refusing = make_context({"guard": UnknownGoldenQuestionError("q?", Path("golden.yaml"))})
    agent = SupportAgent(graph=build_graph(), context=refusing)

    with pytest.raises(NoReplyError, match="unknown_golden_question"):
        await InProcessTarget(lambda: agent)("q?", None)
