from __future__ import annotations

from typing import Any

import pytest
from http_service import SEEN, TRACE, Script, answer, client

from agent.http.callers import Callers
from agent.http.errors import NotFoundError
from agent.http.turns import AnsweredTurns


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


def test_the_oldest_turn_is_forgotten_first() -> None:
    turns = AnsweredTurns(limit=2)
    ids = [turns.add("ann", answer("q?", trace_id=None, seen=None)) for _ in range(3)]
    with pytest.raises(NotFoundError, match="one of your last 2 answers here"):
        turns.find("ann", ids[0])

    assert [turns.find("ann", id_).id for id_ in ids[1:]] == ids[1:]


def test_a_trace_of_several_turns_names_the_newest_as_long_as_it_is_known() -> None:
    turns = AnsweredTurns(limit=2)
    first, second = (turns.add("ann", answer("q?")) for _ in range(2))
    found = turns.find("ann", TRACE).id
    turns.add("ann", answer("q?", trace_id=None, seen=None))  # forgets the first
    still_found = turns.find("ann", TRACE).id
    for _ in range(2):
        turns.add("ann", answer("q?", trace_id=None, seen=None))
    with pytest.raises(NotFoundError):
        turns.find("ann", TRACE)

    assert (found, still_found) == (second, second) != (first, first)
