"""Probes over HTTP: kept apart for who has the probe key, refused for everybody else."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import httpx
import pytest
from fakes import make_context
from http_service import Script, client

from agent.api import create_app
from agent.compose import ROLES
from agent.conversing import Conversing
from agent.graph import build_graph
from agent.http.callers import Callers
from agent.http.limits import Limits
from agent.memory.local import LocalStore
from agent.memory.memory import Memory
from agent.service import SupportAgent
from telemetry import names, synthetic_turns
from telemetry.testing import Kit

KEYS = Callers({"k1": "ann"}, "p")
OPEN = Callers({}, "p")
BODY = {"question": "q?"}
CHAT = {"messages": [{"role": "user", "content": "q?"}]}
PROBE = {"Loopscope-Probe": "1", "Authorization": "Bearer p"}


@pytest.mark.parametrize(
    ("callers", "sent", "status", "code"),
    [
        pytest.param(OPEN, {}, 403, "probe_refused", id="a-stranger-where-everyone-may-ask"),
        pytest.param(OPEN, {"Authorization": "Bearer x"}, 403, "probe_refused", id="a-wrong-key"),
        pytest.param(OPEN, {"Authorization": "Basic p"}, 403, "probe_refused", id="of-a-scheme"),
        pytest.param(KEYS, {}, 401, "unauthorized", id="a-stranger-where-keys-are-needed"),
        pytest.param(
            KEYS, {"Authorization": "Bearer k1"}, 403, "probe_refused", id="another-caller"
        ),
        pytest.param(
            Callers({}), {"Authorization": "Bearer p"}, 403, "probe_refused", id="no-probe-key-set"
        ),
    ],
)
@pytest.mark.parametrize("path", ["/ask", "/ask/stream", "/v1/chat/completions"])
async def test_nobody_hides_a_turn_without_the_probe_key(
    path: str, callers: Callers, sent: dict[str, str], status: int, code: str
) -> None:
    script = Script()
    body = CHAT if "chat" in path else BODY
    async with client(script, callers=callers, apart=synthetic_turns) as http:
        reply = await http.post(path, json=body, headers={"loopscope-probe": "", **sent})

    assert (reply.status_code, reply.json()["code"]) == (status, code)
    assert script.asked == []


async def test_a_service_that_cannot_keep_turns_apart_takes_no_probe() -> None:
    async with client(Script(), callers=OPEN) as http:
        reply = await http.post("/ask", json=BODY, headers=PROBE)

    assert (reply.status_code, reply.json()["code"]) == (403, "probe_refused")


def watched(kit: Kit) -> httpx.AsyncClient:
    roles = {node: role for node, role in ROLES.items() if node in build_graph().nodes}
    context = make_context({"grade": {"relevant": "yes"}})
    agent = SupportAgent(graph=kit.watch(build_graph(), roles), context=context)
    app = create_app(
        Conversing(lambda: agent, Memory(LocalStore())),
        lambda _: (b"", "text/plain"),
        callers=OPEN,
        apart=synthetic_turns,
    )
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://service")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param("/ask", BODY, id="at-once"),
        pytest.param("/ask/stream", BODY, id="streamed"),
        pytest.param("/v1/chat/completions", CHAT, id="a-completion"),
        pytest.param("/v1/chat/completions", {**CHAT, "stream": True}, id="a-streamed-completion"),
    ],
)
async def test_a_probe_is_answered_and_counted_apart(path: str, body: dict[str, Any]) -> None:
    kit = Kit()
    async with watched(kit) as http:
        reply = await http.post(path, json=body, headers=PROBE)

    assert (reply.status_code, "It is so [a]." in reply.text) == (200, True)
    assert (kit.value(names.PROBE_TURNS), kit.value(names.TURNS)) == (1, 0)


async def test_the_probe_key_without_the_header_asks_as_a_user() -> None:
    kit = Kit()
    async with watched(kit) as http:
        await http.post("/ask", json=BODY, headers={"Authorization": "Bearer p"})

    assert (kit.value(names.PROBE_TURNS), kit.value(names.TURNS)) == (0, 1)


async def test_probes_beside_users_on_the_same_connections_are_told_apart() -> None:
    kit = Kit()
    rng = random.Random(3)
    kinds = [rng.random() < 0.4 for _ in range(40)]
    async with watched(kit) as http:
        await asyncio.gather(
            *(http.post("/ask", json=BODY, headers=PROBE if probe else {}) for probe in kinds)
        )

    assert kit.value(names.PROBE_TURNS) == sum(kinds)
    assert kit.value(names.TURNS) == len(kinds) - sum(kinds)


async def test_the_rate_of_users_does_not_hold_probes_back() -> None:
    limits = Limits(rate_per_minute=1)
    async with client(Script(), callers=OPEN, limits=limits, apart=synthetic_turns) as http:
        probes = [await http.post("/ask", json=BODY, headers=PROBE) for _ in range(3)]
        users = [await http.post("/ask", json=BODY) for _ in range(2)]

    assert [reply.status_code for reply in probes] == [200, 200, 200]
    assert [reply.status_code for reply in users] == [200, 429]


async def test_a_probe_takes_no_feedback_and_is_not_remembered() -> None:
    told: list[object] = []

    class Taken:
        def give(self, verdict: str, **_: object) -> None:
            told.append(verdict)

    options: dict[str, Any] = {"callers": OPEN, "apart": synthetic_turns, "feedback": Taken()}
    async with client(Script(), **options) as http:
        turn_id = (await http.post("/ask", json=BODY, headers=PROBE)).json()["turn_id"]
        body = {"turn_id": turn_id, "verdict": "up"}
        reply = await http.post(
            "/feedback", json=body, headers={"Authorization": PROBE["Authorization"]}
        )

    assert (reply.status_code, reply.json()["code"], told) == (404, "not_found", [])
