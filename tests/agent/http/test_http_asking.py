from __future__ import annotations

import asyncio
import json
import re

import pytest
from http_service import TRACE, Script, client, read_sse

from agent.events import Withdrawn
from agent.http.callers import Callers
from agent.http.limits import Limits
from agent.http.schemas import AskReply
from agent.memory.thread import Thread

KEYS = Callers({"k1": "ann", "k2": "bob"})
PIECES = ("a\n\nb", "\r\nc", " d", "event: x", "", "\u2028", "data: \x85", "\rend ")


async def test_the_reply_is_the_answer_with_the_ids_of_its_turn_and_thread() -> None:
    async with client(Script()) as http:
        body = (await http.post("/ask", json={"question": " q? ", "thread_id": "t"})).json()

    assert set(body) == set(AskReply.model_fields)
    assert (body["question"], body["outcome"], body["reason"]) == (
        "q?",
        "answered",
        "passing_chunk",
    )
    assert (body["citations"], body["trace_id"], body["thread_id"]) == (["a"], TRACE, "t")
    assert re.fullmatch("[0-9a-f]{32}", body["turn_id"])


async def test_a_question_without_thread_begins_one_of_128_random_bits() -> None:
    script = Script()
    async with client(script) as http:
        ids = [(await http.post("/ask", json={"question": "q?"})).json()["thread_id"]
               for _ in range(2)]  # fmt: skip

    assert ids[0] != ids[1]
    assert all(re.fullmatch("[0-9a-f]{32}", id_) for id_ in ids)
    assert [asked["thread"].id for asked in script.asked] == ids


async def test_the_same_thread_id_of_two_callers_names_two_threads() -> None:
    script = Script()
    async with client(script, callers=KEYS) as http:
        for key in ("k1", "k2"):
            body = {"question": "my code is 7141", "thread_id": "1"}
            await http.post("/ask", json=body, headers={"Authorization": f"Bearer {key}"})
        listed = [
            (await http.get("/conversations/1", headers={"Authorization": f"Bearer {key}"})).json()
            for key in ("k1", "k2")
        ]

    threads = [asked["thread"] for asked in script.asked]
    assert threads == [Thread(id="1", caller="ann"), Thread(id="1", caller="bob")]
    assert [len(conversation["messages"]) for conversation in listed] == [2, 2]


@pytest.mark.parametrize("thread_id", ["", "a/../b", "x" * 300, "a b", "\ud83d"])
async def test_what_is_no_thread_id_is_refused(thread_id: str) -> None:
    body = json.dumps({"question": "q?", "thread_id": thread_id})
    async with client(Script()) as http:
        reply = await http.post("/ask", content=body, headers={"Content-Type": "application/json"})

    assert reply.status_code == 422


async def test_a_question_waits_for_a_place_within_its_own_time() -> None:
    script = Script()
    script.gate.clear()
    limits = Limits(max_turns=1, max_waiting=1, turn_timeout_seconds=7)
    async with client(script, limits=limits) as http:
        tasks = [asyncio.create_task(http.post("/ask", json={"question": "q?"})) for _ in range(2)]
        await script.began.wait()
        refused = await http.post("/ask", json={"question": "q?"})
        script.gate.set()
        replies = await asyncio.gather(*tasks)

    assert [reply.status_code for reply in (*replies, refused)] == [200, 200, 503]
    assert refused.json()["code"] == "overloaded"
    assert script.asked[1]["until"] - script.asked[0]["until"] < 1  # counted from when it came


async def test_a_stream_tells_nodes_tokens_and_the_whole_answer_at_the_end() -> None:
    async with client(Script()) as http:
        body = {"question": "q?", "thread_id": "t"}
        reply = await http.post("/ask/stream", json=body)
        whole = (await http.post("/ask", json=body)).json()
    events = [(name, json.loads(data)) for name, data in read_sse(reply.content)]

    assert events[:-1] == [
        ("node", {"node": "enhance_query", "attempt": 0}),
        ("token", {"text": "It is "}),
        ("token", {"text": "so [a]."}),
    ]
    assert events[-1][0] == "final"
    assert events[-1][1] | {"turn_id": ""} == whole | {"turn_id": ""}


async def test_a_stream_is_not_cached_and_not_collected() -> None:
    async with client(Script()) as http:
        headers = (await http.post("/ask/stream", json={"question": "q?"})).headers

    assert headers["content-type"] == "text/event-stream; charset=utf-8"
    assert (headers["cache-control"], headers["x-accel-buffering"]) == ("no-store", "no")
    assert "content-length" not in headers


async def test_line_ends_and_blanks_in_tokens_arrive_as_they_were_sent() -> None:
    async with client(Script(PIECES)) as http:
        reply = await http.post("/ask/stream", json={"question": "q?"})
    events = [(name, json.loads(data)) for name, data in read_sse(reply.content)]
    text = "".join(data["text"] for name, data in events if name == "token")

    assert text == "".join(PIECES) == events[-1][1]["reply"]


async def test_pieces_that_are_void_are_withdrawn() -> None:
    async with client(Script(events=[Withdrawn()])) as http:
        reply = await http.post("/ask/stream", json={"question": "q?"})

    assert ("withdrawn", "{}") in read_sse(reply.content)


async def test_an_error_after_the_first_token_is_an_event_not_a_cut_stream() -> None:
    async with client(Script(breaks=KeyError("the question"))) as http:
        reply = await http.post("/ask/stream", json={"question": "q?"})
    name, data = read_sse(reply.content)[-1]

    assert (reply.status_code, name, json.loads(data)["code"]) == (200, "error", "internal_error")
    assert "the question" not in reply.text
