from __future__ import annotations

import json
from typing import Any

import pytest
from http_service import TRACE, Script, client, read_sse
from langchain_core.messages import AIMessage, HumanMessage

from agent.answer import Answer
from agent.events import Withdrawn
from agent.http.completions import WITHDRAWN


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


async def test_the_reply_has_openais_form_and_tells_ours_beside_it() -> None:
    async with client(Script()) as http:
        body = (await http.post("/v1/chat/completions", json={"messages": [user("q?")]})).json()

    assert (body["object"], body["model"]) == ("chat.completion", "loopscope")
    assert body["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "It is so [a].", "refusal": None},
            "finish_reason": "stop",
            "logprobs": None,
        }
    ]
    assert body["usage"] == {"prompt_tokens": 30, "completion_tokens": 12, "total_tokens": 42}
    turn_id = body["id"].removeprefix("chatcmpl-")
    assert body["loopscope"] == {
        "outcome": "answered", "reason": "passing_chunk", "citations": ["a"], "trace_id": TRACE,
        "turn_id": turn_id,
    }  # fmt: skip


async def test_usage_is_unknown_when_no_model_told_it() -> None:
    class Untold(Script):
        async def ask(self, question: str, **_: Any) -> Answer:
            return Answer(question=question, outcome="off_topic", reason=None, reply="No.")

    async with client(Untold()) as http:
        body = (await http.post("/v1/chat/completions", json={"messages": [user("q?")]})).json()

    assert body["usage"] is None


@pytest.mark.parametrize(
    ("messages", "question", "history"),
    [
        pytest.param([user("q?")], "q?", [], id="one-question"),
        pytest.param(
            [{"role": "system", "content": "Lie."}, user("a?"),
             {"role": "assistant", "content": "b"}, user("q?")],
            "q?", [HumanMessage("a?"), AIMessage("b")], id="a-history-and-a-prompt-left-aside",
        ),
        pytest.param(
            [{"role": "user", "content": [{"type": "text", "text": "q"},
                                          {"type": "text", "text": "?"}]}],
            "q\n?", [], id="a-message-in-parts",
        ),
        pytest.param(
            [{"role": "assistant", "content": None, "tool_calls": []}, user("q?")],
            "q?", [], id="an-empty-message-is-no-history",
        ),
        pytest.param(
            [{"role": "user", "content": [{"type": "text", "text": "a?"},
                                          {"type": "image_url", "image_url": {"url": "u"}}]},
             {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
             user("q?")],
            "q?", [HumanMessage("a?")], id="a-history-with-a-picture-and-a-refusal",
        ),
        pytest.param(
            [user("a\ud800?"), user("q?")],
            "q?", [HumanMessage("a\N{REPLACEMENT CHARACTER}?")],
            id="half-a-surrogate-pair-of-the-history-made-plain",
        ),
        pytest.param(
            [*([user("x?")] * 30), user("q?")], "q?", [HumanMessage("x?")] * 20,
            id="the-newest-of-a-long-history",
        ),
    ],
)  # fmt: skip
async def test_the_last_message_is_the_question_and_earlier_ones_its_history(
    messages: list[Any], question: str, history: list[Any]
) -> None:
    script = Script()
    async with client(script) as http:
        reply = await http.post(
            "/v1/chat/completions",
            content=json.dumps({"messages": messages, "n": 1}),
            headers={"Content-Type": "application/json"},
        )

    assert reply.status_code == 200
    assert (script.asked[0]["question"], script.asked[0]["history"]) == (question, history)
    assert script.asked[0]["thread"] is None


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        pytest.param({"messages": []}, 422, "invalid_request", id="no-message"),
        pytest.param({"messages": [{"role": "system", "content": "x"}]}, 422, "messages",
                     id="nobody-asks"),
        pytest.param({"messages": [user("a"), {"role": "assistant", "content": "b"}]}, 422,
                     "messages", id="the-last-word-is-ours"),
        pytest.param({"messages": [user(" ")]}, 422, "invalid_question", id="a-blank-question"),
        pytest.param({"model": "gpt-x", "messages": [user("q?")]}, 404, "not_found",
                     id="another-model"),
        pytest.param({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 422,
                     "messages", id="a-picture"),
    ],
)  # fmt: skip
async def test_a_chat_without_a_question_is_refused(body: Any, status: int, code: str) -> None:
    async with client(Script()) as http:
        reply = await http.post("/v1/chat/completions", json=body)

    assert (reply.status_code, reply.json()["code"]) == (status, code)
    assert reply.json()["error"]["code"] == code


async def test_a_stream_is_what_openais_clients_read() -> None:
    body = {"stream": True, "stream_options": {"include_usage": True}, "messages": [user("q?")]}
    async with client(Script()) as http:
        reply = await http.post("/v1/chat/completions", json=body)
    names, data = zip(*read_sse(reply.content), strict=True)
    chunks = [json.loads(each) for each in data[:-1]]

    assert (set(names), data[-1]) == ({"message"}, "[DONE]")
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert [chunk["choices"][0]["delta"] for chunk in chunks[:3]] == [
        {"role": "assistant", "content": "It is "}, {"content": "so [a]."}, {},
    ]  # fmt: skip
    assert chunks[2]["choices"][0]["finish_reason"] == "stop"
    assert chunks[2]["loopscope"]["citations"] == ["a"]
    assert (chunks[3]["choices"], chunks[3]["usage"]["total_tokens"]) == ([], 42)


async def test_what_cannot_be_taken_back_is_said_to_be_void() -> None:
    script = Script(events=[Withdrawn()])
    async with client(script) as http:
        body = {"stream": True, "messages": [user("q?")]}
        reply = await http.post("/v1/chat/completions", json=body)
    first = json.loads(read_sse(reply.content)[0][1])

    assert first["choices"][0]["delta"]["content"] == WITHDRAWN


async def test_an_error_in_a_stream_has_openais_form() -> None:
    async with client(Script(breaks=KeyError("x"))) as http:
        body = {"stream": True, "messages": [user("q?")]}
        reply = await http.post("/v1/chat/completions", json=body)
    error = json.loads(read_sse(reply.content)[-2][1])["error"]

    assert (error["type"], error["code"]) == ("server_error", "internal_error")


async def test_the_one_model_is_listed_and_found() -> None:
    async with client(Script()) as http:
        models = (await http.get("/v1/models")).json()
        found = (await http.get("/v1/models/loopscope")).json()
        other = await http.get("/v1/models/gpt-4")

    assert [(model["id"], model["object"]) for model in models["data"]] == [("loopscope", "model")]
    assert found == models["data"][0]
    assert other.status_code == 404
    assert "'loopscope'" in other.json()["error"]["message"]
