from __future__ import annotations

import pytest
from http_service import Script, client

from agent.http.callers import Callers

KEYS = Callers({"k1": "ann", "k2": "bob"})


def key(value: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {value}"}


async def test_what_was_said_is_shown_to_who_said_it_alone() -> None:
    async with client(Script(), callers=KEYS) as http:
        body = {"question": "q?", "thread_id": "t"}
        await http.post("/ask", json=body, headers=key("k1"))
        mine, others = [await http.get("/conversations/t", headers=key(k)) for k in ("k1", "k2")]

    assert mine.json() == {
        "thread_id": "t",
        "messages": [
            {"role": "user", "text": "q?", "outcome": None},
            {"role": "assistant", "text": "It is so [a].", "outcome": "answered"},
        ],
    }
    assert (others.status_code, others.json()["message"]) == (
        404,
        "no such conversation: expected the thread_id of one of your conversations. Correct the "
        "id and try again.",
    )


async def test_a_list_holds_the_callers_own_the_newest_first() -> None:
    async with client(Script(), callers=KEYS) as http:
        for thread, caller in (("a", "k1"), ("b", "k1"), ("c", "k2")):
            body = {"question": "q?", "thread_id": thread}
            await http.post("/ask", json=body, headers=key(caller))
        listed = await http.get("/conversations", headers=key("k1"))

    assert listed.json() == {"conversations": ["b", "a"]}


async def test_what_is_removed_is_gone_and_may_be_removed_again() -> None:
    async with client(Script()) as http:
        await http.post("/ask", json={"question": "q?", "thread_id": "t"})
        removed = [(await http.delete("/conversations/t")).status_code for _ in range(2)]
        left = await http.get("/conversations/t")

    assert (removed, left.status_code) == ([204, 204], 404)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_what_is_no_id_is_refused(method: str) -> None:
    async with client(Script()) as http:
        reply = await http.request(method, "/conversations/" + "x" * 129)

    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_thread")
