"""A question that is sent again with its key is asked once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from http_service import Script, client, served

from agent.http.callers import Callers
from agent.http.errors import IdempotencyKeyError, OverloadedError
from agent.http.limits import Limits
from agent.http.once import Once, read_key
from agent.memory.local import LocalStore
from agent.memory.memory import Memory
from agent.memory.notes import LocalNotes, Notes
from agent.memory.opening import open_memory

KEY = {"Idempotency-Key": "8e03978e-40d5-43dd-bc93-6894a57f9324"}
BODY = {"question": "How do I pay?"}


async def test_a_retry_gets_the_same_reply_without_a_second_turn() -> None:
    script = Script()
    async with client(script, limits=Limits(rate_per_minute=1)) as http:
        first, again = [await http.post("/ask", json=BODY, headers=KEY) for _ in range(2)]

    assert len(script.asked) == 1
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.content == again.content
    assert [r.headers.get("Idempotency-Replayed") for r in (first, again)] == [None, "true"]
    assert again.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        pytest.param({}, BODY, id="without-a-key"),
        pytest.param({"Idempotency-Key": "another"}, BODY, id="with-another-key"),
    ],
)
async def test_other_requests_are_questions_of_their_own(
    headers: Mapping[str, str], body: dict[str, Any]
) -> None:
    script = Script()
    async with client(script) as http:
        await http.post("/ask", json=BODY, headers=KEY)
        reply = await http.post("/ask", json=body, headers=headers)

    assert (reply.status_code, len(script.asked)) == (200, 2)
    assert "Idempotency-Replayed" not in reply.headers


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"question": "How do I leave?"}, id="another-question"),
        pytest.param({**BODY, "thread_id": "t"}, id="another-thread"),
    ],
)
async def test_a_key_with_another_body_is_refused(other: dict[str, str]) -> None:
    script = Script()
    async with client(script) as http:
        await http.post("/ask", json=BODY, headers=KEY)
        reply = await http.post("/ask", json=other, headers=KEY)

    assert (reply.status_code, reply.json()["code"]) == (422, "key_reused")
    assert len(script.asked) == 1


async def test_two_keys_in_two_headers_are_no_key() -> None:
    script = Script()
    two = [("Idempotency-Key", "one"), ("Idempotency-Key", "two")]
    async with client(script) as http:
        reply = await http.post("/ask", json=BODY, headers=two)

    assert (reply.status_code, reply.json()["code"]) == (400, "idempotency_key")
    assert not script.asked


async def test_the_same_json_in_other_bytes_is_the_same_body() -> None:
    script = Script()
    json_header = {**KEY, "Content-Type": "application/json"}
    async with client(script) as http:
        await http.post("/ask", json=BODY, headers=KEY)
        spaced = '{ "thread_id": null,\n "question": "How do I pay?" }'
        reply = await http.post("/ask", content=spaced, headers=json_header)

    assert (reply.status_code, len(script.asked)) == (200, 1)


async def test_a_key_whose_question_is_under_way_is_told_to_come_back() -> None:
    script = Script()
    script.gate.clear()
    async with client(script) as http:
        first = asyncio.create_task(http.post("/ask", json=BODY, headers=KEY))
        await script.began.wait()
        meanwhile = await http.post("/ask", json=BODY, headers=KEY)
        reused = await http.post("/ask", json={"question": "x"}, headers=KEY)
        script.gate.set()
        replies = [await first, await http.post("/ask", json=BODY, headers=KEY)]

    assert (meanwhile.status_code, meanwhile.json()["code"]) == (409, "still_under_way")
    assert meanwhile.headers["Retry-After"] == "1"
    assert reused.status_code == 422
    assert replies[0].content == replies[1].content
    assert len(script.asked) == 1


async def test_a_key_is_its_callers_own() -> None:
    script = Script()
    async with client(script, callers=Callers({"k1": "ann", "k2": "bob"})) as http:
        replies = [
            await http.post("/ask", json=BODY, headers={**KEY, "Authorization": f"Bearer {key}"})
            for key in ("k1", "k2")
        ]

    assert len(script.asked) == 2
    assert replies[0].json()["turn_id"] != replies[1].json()["turn_id"]


async def test_a_question_that_was_refused_can_be_sent_again() -> None:
    script = Script(error=OverloadedError(1, "x", 1))
    async with client(script) as http:
        refused = await http.post("/ask", json=BODY, headers=KEY)
        script.error = None
        reply = await http.post("/ask", json=BODY, headers=KEY)

    assert (refused.status_code, reply.status_code) == (503, 200)
    assert "Idempotency-Replayed" not in reply.headers


async def test_a_question_whose_caller_left_can_be_sent_again() -> None:
    script = Script()
    script.gate.clear()
    async with served(script) as url, httpx.AsyncClient(trust_env=False, timeout=20) as http:
        leaving = asyncio.create_task(http.post(f"{url}/ask", json=BODY, headers=KEY))
        await script.began.wait()
        leaving.cancel()
        await asyncio.wait({leaving})
        while not script.ended:  # the service sees it soon
            await asyncio.sleep(0)
        script.gate.set()
        statuses = [status async for status in _until_asked(http, url)]

    assert (script.ended[0], len(script.asked), statuses[-1]) == ("cancelled", 2, 200)


async def _until_asked(http: httpx.AsyncClient, url: str) -> AsyncIterator[int]:
    """Send the question again until the service has seen that its caller left."""
    status = 409
    while status == 409:
        status = (await http.post(f"{url}/ask", json=BODY, headers=KEY)).status_code
        yield status


async def test_processes_that_share_a_store_share_its_keys(tmp_path: Path) -> None:
    path, script = str(tmp_path / "talks.sqlite"), Script()
    async with (
        open_memory(path) as here,
        open_memory(path) as there,
        client(script, notes=here.notes) as one,
        client(script, notes=there.notes) as other,
    ):
        replies = [await http.post("/ask", json=BODY, headers=KEY) for http in (one, other)]

    assert replies[0].content == replies[1].content
    assert len(script.asked) == 1


async def test_an_answer_goes_out_although_its_reply_cannot_be_kept(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Full(LocalNotes):
        async def put(self, kind: str, values: Mapping[str, str], until: float) -> None:
            if kind == "reply" and "answered" in "".join(values.values()):
                raise OSError("full")
            await super().put(kind, values, until)

    store = LocalStore()
    store.notes, store.errors = Full(), (OSError,)
    async with client(Script(), notes=Memory(store).notes) as http:
        reply = await http.post("/ask", json=BODY, headers=KEY)

    assert reply.status_code == 200
    assert "a reply cannot be given again" in caplog.text


async def test_a_key_is_free_again_when_its_process_died_or_its_hour_is_over() -> None:
    now = [0.0]
    store = LocalStore()
    once = Once(Notes(store, "reply", 3_600.0, clock=lambda: now[0]), turn_seconds=60.0)

    async def work() -> str:
        return f"reply at {now[0]:g}"

    await Notes(store, "reply", 3_600.0, clock=lambda: 0.0).add(
        "ann", "k", '["x", null]', seconds=70
    )
    replies = []
    for now[0] in (70.0, 70.0 + 3_599, 70.0 + 3_600):
        replies.append(await once.reply("ann", "k", "body", work))

    assert replies == [("reply at 70", False), ("reply at 70", True), ("reply at 3670", False)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param("8e03978e-40d5", "8e03978e-40d5", id="bare-as-most-send-it"),
        pytest.param('"8e03978e-40d5"', "8e03978e-40d5", id="quoted-as-the-draft-wants-it"),
        pytest.param(r'"a\"b\\c d"', r'a"b\c d', id="with-escapes"),
        pytest.param("x" * 255, "x" * 255, id="as-long-as-may-be"),
    ],
)
def test_a_key_is_read(given: str, expected: str) -> None:
    assert read_key(given) == expected


@pytest.mark.parametrize(
    "given",
    [
        pytest.param("", id="nothing"),
        pytest.param('""', id="an-empty-string"),
        pytest.param('"open', id="an-open-string"),
        pytest.param('"a\\b"', id="an-unknown-escape"),
        pytest.param("two words", id="a-blank"),
        pytest.param("schlüssel", id="no-ascii"),
        pytest.param("x" * 256, id="too-long"),
    ],
)
def test_what_is_no_key_is_refused(given: str) -> None:
    with pytest.raises(IdempotencyKeyError, match="1 to 255 visible ASCII characters"):
        read_key(given)


async def test_a_key_that_cannot_be_read_is_a_bad_request() -> None:
    script = Script()
    async with client(script) as http:
        reply = await http.post("/ask", json=BODY, headers={"Idempotency-Key": '"open'})

    assert (reply.status_code, reply.json()["code"], script.asked) == (400, "idempotency_key", [])


async def test_the_header_is_described_with_an_example() -> None:
    async with client(Script()) as http:
        described = (await http.get("/openapi.json")).json()["paths"]["/ask"]["post"]
    header = next(p for p in described["parameters"] if p["name"] == "Idempotency-Key")

    assert (header["in"], header["required"], len(header["schema"]["examples"])) == (
        "header", False, 1,
    )  # fmt: skip
    assert "409" in described["responses"]
