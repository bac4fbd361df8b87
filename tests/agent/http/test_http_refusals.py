from __future__ import annotations

import re
from pathlib import Path

import pytest
from http_service import Script, client

from agent.errors import RetrieverError, UnknownGoldenQuestionError
from agent.http.callers import Callers
from agent.http.limits import Limits
from agent.memory.errors import ConversationBusyError, MemoryUnavailableError

BUSY = Limits(max_turns=1, max_waiting=0)


@pytest.mark.parametrize(
    ("method", "path", "status", "code", "message"),
    [
        pytest.param("GET", "/nowhere", 404, "not_found",
                     "no such path: got GET /nowhere, expected one of /openapi.json. "
                     "Correct it and try again.", id="an-unknown-path"),
        pytest.param("GET", "/docs", 404, "not_found",
                     "no such path: got GET /docs, expected one of /openapi.json. "
                     "Correct it and try again.", id="no-page-with-scripts-from-elsewhere"),
        pytest.param("GET", "/ask", 405, "method_not_allowed",
                     "no such method: got GET /ask, expected POST. Use that and try again.",
                     id="another-method"),
        pytest.param("DELETE", "/metrics", 405, "method_not_allowed",
                     "no such method: got DELETE /metrics, expected GET. Use that and try again.",
                     id="a-method-without-body"),
    ],
)  # fmt: skip
async def test_what_is_not_there_is_refused_in_our_form(
    method: str, path: str, status: int, code: str, message: str
) -> None:
    async with client(Script()) as http:
        reply = await http.request(method, path)

    assert (reply.status_code, reply.json()) == (status, {"code": code, "message": message})


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        pytest.param("PUT", "/healthz", "GET, HEAD", id="two-routes-of-one-path"),
        pytest.param("POST", "/conversations/1", "GET, DELETE", id="with-a-parameter-in-it"),
        pytest.param("GET", "/ask", "POST", id="one-route"),
    ],
)
async def test_another_method_is_refused_with_all_that_the_path_takes(
    method: str, path: str, allowed: str
) -> None:
    async with client(Script()) as http:
        reply = await http.request(method, path)

    assert (reply.status_code, reply.headers["allow"]) == (405, allowed)


@pytest.mark.parametrize(
    ("error", "status", "code", "retry"),
    [
        pytest.param(UnknownGoldenQuestionError("q?", Path("g.yaml")), 422,
                     "unknown_golden_question", None, id="the-callers-mistake"),
        pytest.param(RetrieverError(OSError()), 500, "retriever_error", None, id="our-failure"),
        pytest.param(ConversationBusyError(1.0), 503, "conversation_busy", "1", id="a-busy-thread"),
        pytest.param(MemoryUnavailableError("m", "p"), 503, "memory_unavailable", "1",
                     id="no-memory"),
        pytest.param(KeyError("the question"), 500, "internal_error", None, id="a-bug"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/ask", "/ask/stream"])
async def test_an_error_before_the_first_event_keeps_its_status(
    path: str, error: Exception, status: int, code: str, retry: str | None
) -> None:
    async with client(Script(error=error)) as http:
        reply = await http.post(path, json={"question": "q?"})

    assert (reply.status_code, reply.json()["code"]) == (status, code)
    assert reply.headers.get("retry-after") == retry
    assert "the question" not in reply.text


async def test_who_asks_too_often_is_told_when_to_ask_again() -> None:
    async with client(Script(), limits=Limits(rate_per_minute=1)) as http:
        replies = [await http.post("/ask", json={"question": "q?"}) for _ in range(2)]

    assert [reply.status_code for reply in replies] == [200, 429]
    assert int(replies[1].headers["retry-after"]) in (59, 60)


async def test_a_question_that_cannot_be_asked_costs_the_caller_nothing() -> None:
    async with client(Script(), limits=Limits(rate_per_minute=1)) as http:
        replies = [await http.post("/ask", json={"question": q}) for q in (" ", "q?")]

    assert [reply.status_code for reply in replies] == [422, 200]


async def test_a_field_is_named_and_its_value_never_repeated() -> None:
    async with client(Script()) as http:
        reply = await http.post("/ask", json={"question": {"secret": 1}, "x" * 9_000: 1})

    assert reply.status_code == 422
    assert re.search(r"body\.question: .*; body\.x{60}: ", reply.json()["message"])
    assert "secret" not in reply.text
    assert len(reply.text) < 500


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param("/v1/chat/completions", {"messages": []}, id="a-body"),
        pytest.param("/v1/nowhere", {}, id="a-path"),
    ],
)
async def test_on_openais_paths_its_clients_can_read_it_too(path: str, body: object) -> None:
    async with client(Script()) as http:
        refused = (await http.post(path, json=body)).json()

    assert refused["error"] == {
        "message": refused["message"], "type": "invalid_request_error", "param": None,
        "code": refused["code"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/ask"), ("POST", "/ask/stream"), ("GET", "/conversations"),
        ("GET", "/conversations/a"), ("DELETE", "/conversations/a"), ("POST", "/feedback"),
        ("GET", "/v1/models"), ("POST", "/v1/chat/completions"),
    ],
)  # fmt: skip
async def test_every_path_of_a_caller_needs_the_key(method: str, path: str) -> None:
    async with client(Script(), callers=Callers({"k": "ann"})) as http:
        json = {} if method == "POST" else None
        reply = await http.request(method, path, json=json)

    assert (reply.status_code, reply.json()["code"]) == (401, "unauthorized")
    assert reply.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/openapi.json"])
async def test_probes_and_scrapers_need_none(path: str) -> None:
    async with client(Script(), callers=Callers({"k": "ann"})) as http:
        assert (await http.get(path)).status_code == 200
