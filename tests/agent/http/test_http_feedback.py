from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from http_service import SEEN, TRACE, Script, answer, client

from agent.http.callers import Callers
from agent.http.errors import NotFoundError
from agent.http.turns import AnsweredTurn, AnsweredTurns
from agent.memory.local import LocalStore
from agent.memory.memory import Memory
from agent.memory.notes import LocalNotes
from agent.memory.opening import open_memory


def soon() -> float:
    return time.monotonic() + 20


class Taken:
    def __init__(self) -> None:
        self.given: list[dict[str, Any]] = []

    def give(self, verdict: str, **told: Any) -> None:
        self.given.append({"verdict": verdict, **told})


@pytest.mark.parametrize("by", ["turn_id", "trace_id"])
async def test_a_verdict_reaches_the_trace_of_its_turn(by: str) -> None:
    taken = Taken()
    async with client(Script(), feedback=taken) as http:
        asked = (await http.post("/ask", json={"question": "q?"})).json()
        body = {by: asked[by], "verdict": "down", "comment": "No."}
        reply = await http.post("/feedback", json=body)

    assert reply.json() == {"turn_id": asked["turn_id"], "trace_id": TRACE, "verdict": "down"}
    assert taken.given == [
        {"verdict": "down", "trace_id": TRACE, "span_id": SEEN.span_id, "comment": "No."}
    ]


async def test_the_same_verdict_counts_once_and_another_one_too() -> None:
    taken = Taken()
    async with client(Script(), feedback=taken) as http:
        turn_id = (await http.post("/ask", json={"question": "q?"})).json()["turn_id"]
        for verdict in ("up", "up", "down", "up", "down"):
            await http.post("/feedback", json={"turn_id": turn_id, "verdict": verdict})

    assert [each["verdict"] for each in taken.given] == ["up", "down"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        pytest.param({"turn_id": "0" * 32, "verdict": "up"}, 404, "not_found", id="no-such-turn"),
        pytest.param({"trace_id": "0" * 32, "verdict": "up"}, 404, "not_found", id="no-such-trace"),
        pytest.param({"verdict": "up"}, 422, "feedback", id="on-nothing"),
        pytest.param({"turn_id": "a", "trace_id": "b", "verdict": "up"}, 422, "feedback",
                     id="on-two-things"),
        pytest.param({"turn_id": "a", "verdict": "meh"}, 422, "invalid_request", id="no-verdict"),
        pytest.param({"turn_id": "a", "verdict": "up", "comment": "x" * 1_001}, 422,
                     "invalid_request", id="too-long-a-comment"),
    ],
)  # fmt: skip
async def test_feedback_on_no_answer_of_ours_is_refused(
    body: dict[str, str], status: int, code: str
) -> None:
    taken = Taken()
    async with client(Script(), feedback=taken) as http:
        reply = await http.post("/feedback", json=body)

    assert (reply.status_code, reply.json()["code"], taken.given) == (status, code, [])


async def test_nobody_judges_another_callers_answer() -> None:
    async with client(Script(), callers=Callers({"k1": "ann", "k2": "bob"})) as http:
        mine, others = ({"Authorization": f"Bearer {key}"} for key in ("k1", "k2"))
        asked = (await http.post("/ask", json={"question": "q?"}, headers=mine)).json()
        body = {"turn_id": asked["turn_id"], "verdict": "up"}
        replies = [await http.post("/feedback", json=body, headers=h) for h in (others, mine)]

    assert [reply.status_code for reply in replies] == [404, 200]


async def test_a_streamed_answer_can_be_judged_too() -> None:
    taken = Taken()
    async with client(Script(), feedback=taken) as http:
        await http.post("/ask/stream", json={"question": "q?"})
        reply = await http.post("/feedback", json={"trace_id": TRACE, "verdict": "up"})

    assert (reply.status_code, len(taken.given)) == (200, 1)


def turns_in(memory: Memory) -> AnsweredTurns:
    return AnsweredTurns(memory.notes("turn", 60), memory.notes("verdict", 60))


async def test_a_trace_of_several_turns_names_the_newest() -> None:
    turns = turns_in(Memory(LocalStore()))
    first, second = [await turns.add("ann", answer("q?"), soon()) for _ in range(2)]
    found = await turns.find("ann", TRACE)

    assert found.id == second != first
    assert (await turns.find("ann", first)).id == first


async def test_a_turn_without_trace_is_counted_all_the_same() -> None:
    turns = turns_in(Memory(LocalStore()))
    id_ = await turns.add("ann", answer("q?", trace_id=None, seen=None), soon())

    assert await turns.find("ann", id_) == AnsweredTurn(id=id_, trace_id=None, span_id=None)


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.servers)])
async def test_feedback_reaches_every_process_that_shares_the_store(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    where = str(tmp_path / "talks.sqlite")
    if kind == "postgresql":
        where = request.getfixturevalue("new_postgres_schema")()
    taken = Taken()
    async with (
        open_memory(where) as here,
        open_memory(where) as there,
        client(Script(), feedback=taken, notes=here.notes) as one,
        client(Script(), feedback=taken, notes=there.notes) as other,
    ):
        told = (await one.post("/ask", json={"question": "q?"})).json()
        body = {"turn_id": told["turn_id"], "verdict": "up"}
        replies = [await http.post("/feedback", json=body) for http in (other, one, other)]
        unknown = await other.post("/feedback", json={**body, "turn_id": "0" * 32})

    assert [reply.status_code for reply in replies] == [200] * 3
    assert taken.given == [
        {"verdict": "up", "trace_id": TRACE, "span_id": SEEN.span_id, "comment": None}
    ]
    assert "given in the last 7 days. Correct" in unknown.json()["message"]


async def test_a_process_of_its_own_says_that_it_knows_its_own_answers_alone() -> None:
    async with client(Script()) as http:
        reply = await http.post("/feedback", json={"turn_id": "0" * 32, "verdict": "up"})

    assert reply.json()["message"] == (
        "no such turn: expected the turn_id or trace_id of one of your answers, given in the last "
        "7 days, and by this process, which alone knows it. Correct the id and try again."
    )


class Away(LocalNotes):
    """Notes of a store that is away, or that answers too late."""

    def __init__(self, gate: asyncio.Event | None = None) -> None:
        super().__init__()
        self.gate = gate

    async def put(self, kind: str, values: Mapping[str, str], until: float) -> None:
        if self.gate is None:
            raise OSError("gone")
        await self.gate.wait()
        await super().put(kind, values, until)

    async def find(self, kind: str, name: str, now: float) -> str | None:
        if self.gate is None:
            raise OSError("gone")
        return await super().find(kind, name, now)


def with_notes(notes: LocalNotes) -> Memory:
    store = LocalStore()
    store.notes, store.errors = notes, (OSError,)
    return Memory(store)


async def test_an_answer_arrives_although_the_store_is_away(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with client(Script(), notes=with_notes(Away()).notes) as http:
        told = await http.post("/ask", json={"question": "q?"})
        body = {"turn_id": told.json()["turn_id"], "verdict": "up"}
        judged = await http.post("/feedback", json=body)

    assert (told.status_code, judged.status_code) == (200, 503)
    assert judged.json()["code"] == "memory_unavailable"
    assert "an answer cannot be judged" in caplog.text


async def test_an_answer_does_not_wait_for_a_slow_store_but_the_note_is_made() -> None:
    gate = asyncio.Event()
    turns = turns_in(with_notes(Away(gate)))
    id_ = await turns.add("ann", answer("q?"), time.monotonic())
    with pytest.raises(NotFoundError):
        await turns.find("ann", id_)
    gate.set()
    while turns._under_way:
        await asyncio.sleep(0)

    assert (await turns.find("ann", id_)).id == id_
