"""Half an hour of mixed faults in about a minute: nothing that was accepted is lost or waits.

Two `loopscope serve` share one PostgreSQL for conversations and turn records. Their model answers,
is slow, hangs, fails and talks nonsense in turn; their collector is dead, then takes connections
and never answers; one process is stopped and started again; the database crashes and comes back.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import signal
import socket
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import httpx
import native_servers
import openai_server
import pytest
from native_servers import Postgres
from openai_server import Body, OpenAIServer, Reply
from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector
from replica import PATIENCE_SECONDS, Replica

from agent.memory.opening import open_memory
from agent.memory.thread import Thread
from agent.server import FAREWELL_SECONDS, GRACE_SECONDS
from agent.state import Outcome
from telemetry.records import open_reader

pytestmark = pytest.mark.servers
TURN_SECONDS = 4.0
MODEL_SECONDS = 1.0
SLACK_SECONDS = 2.0
"""For a machine that does other things too."""
TURNS_OF_A_THREAD = 8
"""Fewer than what is kept of a conversation."""
VERDICTS = {
    "enhance": {"question": "Can I get a refund?"},
    "guard": {"classification": "RELEVANT", "confidence": "HIGH"},
    "grade": {"relevant": "yes"},
    "rewrite": {"query": "refund"},
}


def good(handler: Any, body: Body) -> None:
    """What a working model says to the role that asks."""
    told = next(m["content"] for m in body["messages"] if m["role"] == "user")
    verdict = VERDICTS.get(json.loads(told)["task"])
    said = openai_server.content("Within 14 days [refunds].")
    (said if verdict is None else openai_server.obeys_schema(verdict))(handler, body)


def slow(handler: Any, body: Body) -> None:
    handler.server.openai.released.wait(0.6)
    good(handler, body)


FAULTS: tuple[Reply, ...] = (
    slow,
    openai_server.error(500),
    openai_server.hangs,
    openai_server.error(429, "rate_limit_exceeded", Retry_After="1"),
    openai_server.raw(b"<html>Bad gateway"),
    openai_server.resets,
    openai_server.content(None),
    openai_server.no_choices,
)
SCRIPT: tuple[Reply, ...] = tuple(
    reply for fault in FAULTS for reply in (*[good] * 6, slow, *[good] * 5, fault)
)


@pytest.fixture
def database() -> Iterator[Postgres]:
    with native_servers.postgres_server() as server:
        yield server


@pytest.fixture
def model() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        server.plays(*SCRIPT * 200)
        yield server


@pytest.fixture
def collector() -> Iterator[socket.socket]:
    """A port that refuses connections until `listen`; then it takes them and never answers."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield reserved


@pytest.fixture
def replicas(
    database: Postgres,
    model: OpenAIServer,
    collector: socket.socket,
    tmp_path: Path,
    counters: Path,
) -> Iterator[list[Replica]]:
    environment = {
        "LOOPSCOPE_MODEL": "openai:gpt-x",
        "LOOPSCOPE_BASE_URL": model.base_url,
        "LOOPSCOPE_MODEL_TIMEOUT_SECONDS": f"{MODEL_SECONDS}",
        "LOOPSCOPE_TURN_TIMEOUT_SECONDS": f"{TURN_SECONDS}",
        "LOOPSCOPE_RECORDS": database.url,
        "OPENAI_API_KEY": "none",
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.getsockname()[1]}",
        "PROMETHEUS_MULTIPROC_DIR": str(counters),
    }
    both = [Replica(database.url, tmp_path, environment) for _ in range(2)]
    for replica in both:
        replica.start()
    try:
        for replica in both:
            replica.wait()
        yield both
    finally:
        for replica in both:
            replica.end()


@pytest.fixture
def counters(tmp_path: Path) -> Path:
    """Where every process counts, so that what it counted until its end is there after it."""
    folder = tmp_path / "counters"
    folder.mkdir()
    return folder


@dataclass
class Clients:
    """Ask both replicas in turn, and keep book of what came of it."""

    http: httpx.AsyncClient
    ready: list[Replica]
    """Where a proxy would send questions: without those that are starting."""
    numbers: Iterator[int] = field(default_factory=itertools.count)
    outcomes: Counter[str] = field(default_factory=Counter)
    """Of the turns that began, as their callers were told; `left` for those who did not wait."""
    refusals: Counter[str] = field(default_factory=Counter)
    unnamed: list[str] = field(default_factory=list)
    """What was accepted and came to no named end."""
    traces: list[str] = field(default_factory=list)
    waits: list[tuple[float, str]] = field(default_factory=list)
    """Seconds until a caller knew how its request ended, and how that was."""
    kept: dict[str, list[str]] = field(default_factory=dict)
    """Thread -> questions whose answer arrived, in this order."""
    asked: set[str] = field(default_factory=set)

    def request(self, path: str, body: dict[str, Any]) -> Any:
        replica = self.ready[next(self.numbers) % len(self.ready)]
        return self.http.stream("POST", f"{replica.url}{path}", json=body)

    async def once(self, path: str, body: dict[str, Any], *, leaves: bool = False) -> bool:
        """Ask once and return whether an answer came; `leaves` goes when the turn has begun."""
        sent, began = time.monotonic(), None
        try:
            async with self.request(path, body) as reply:
                began = reply.status_code
                if reply.status_code == 200 and path == "/ask/stream":
                    told = await self.streamed(reply, leaves)
                else:
                    told = json.loads(await reply.aread())
        except httpx.HTTPError as error:
            if began is not None:
                self.unnamed.append(f"{path}: {error!r}")
            return False
        if told is None:
            self.outcomes["left"] += 1
            return False
        end = f"{path}: {told.get('reason') or told.get('code')}"
        self.waits.append((time.monotonic() - sent, end))
        return self.noted(path, began, told)

    async def streamed(self, reply: httpx.Response, leaves: bool) -> dict[str, Any] | None:
        """Return the last event; None when the caller left after the first node had begun."""
        name, data = "", {}
        async for line in reply.aiter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
                if leaves and name == "node":
                    return None
            elif line.startswith("data: "):
                data = json.loads(line.removeprefix("data: "))
        return data if name in ("final", "error") else {"cut": name}

    def noted(self, path: str, status: int, told: dict[str, Any]) -> bool:
        told = {**told, **told.get("loopscope", {})}
        outcome = told.get("outcome")
        if status == 200 and outcome in get_args(Outcome):
            self.outcomes[outcome] += 1
            self.traces.append(told["trace_id"])
            return outcome not in ("error", "cancelled")
        if told.get("code") in ("memory_unavailable", "conversation_busy", "overloaded"):
            self.refusals[f"{status} {told['code']}"] += 1
        else:
            self.unnamed.append(f"{path}: {status} {told}")
        return False

    async def talk(self, client: str, path: str, over: asyncio.Event) -> None:
        """Ask in one conversation after another, one question at a time."""
        for number in itertools.count():
            thread = f"{client}.{number // TURNS_OF_A_THREAD}"
            question = f"Can I get a refund for invoice {client}-{number}?"
            self.asked.add(question)
            if await self.once(path, {"question": question, "thread_id": thread}):
                self.kept.setdefault(thread, []).append(question)
            else:
                await asyncio.sleep(0.1)
            if over.is_set():
                return

    async def ask(self, body: dict[str, Any], path: str, over: asyncio.Event) -> None:
        """Ask the same again and again, without a conversation of one's own."""
        while not over.is_set():
            if not await self.once(path, body):
                await asyncio.sleep(0.1)

    async def leave(self, over: asyncio.Event) -> None:
        """Begin to listen to an answer, and go."""
        while not over.is_set():
            await self.once("/ask/stream", {"question": "Is there a free trial?"}, leaves=True)
            await asyncio.sleep(0.1)

    async def further(self, turns: int) -> None:
        """Wait until that many further turns were answered."""
        goal = self.outcomes["answered"] + turns
        while self.outcomes["answered"] < goal:
            await asyncio.sleep(0.05)


@dataclass
class Disturbance:
    """What goes wrong, one after the other, each after a while of ordinary load."""

    clients: Clients
    database: Postgres
    collector: socket.socket
    stops: list[tuple[int, float]] = field(default_factory=list)
    """Exit code of each stop and the seconds it took."""

    async def run(self) -> None:
        await self.clients.further(40)  # with a collector that refuses
        self.collector.listen(1_024)
        await self.clients.further(40)  # with one that never answers
        await self.restart(self.clients.ready[0])
        await self.clients.further(40)
        await asyncio.to_thread(self.database.stop)
        await asyncio.sleep(1)  # a while without a database
        await asyncio.to_thread(self.database.start)
        await self.clients.further(80)

    async def restart(self, replica: Replica) -> None:
        await self.stop(replica)
        self.clients.ready.remove(replica)
        await asyncio.to_thread(replica.start)
        await asyncio.to_thread(replica.wait)
        self.clients.ready.append(replica)

    async def stop(self, replica: Replica) -> None:
        began = time.monotonic()
        code = await asyncio.to_thread(replica.end, signal.SIGTERM)
        self.stops.append((code, time.monotonic() - began))


async def under_faults(
    replicas: list[Replica], database: Postgres, collector: socket.socket
) -> tuple[Clients, Disturbance]:
    """Ask under every fault; return the books when both processes have ended."""
    limits = httpx.Limits(max_keepalive_connections=0)
    chat = {"messages": [{"role": "user", "content": "Which payment methods do you take?"}]}
    async with (
        httpx.AsyncClient(trust_env=False, timeout=PATIENCE_SECONDS, limits=limits) as http,
        asyncio.timeout(4 * PATIENCE_SECONDS),
        asyncio.TaskGroup() as group,
    ):
        clients, over = Clients(http, list(replicas)), asyncio.Event()
        for number in range(4):
            group.create_task(clients.talk(f"a{number}", "/ask", over))
            group.create_task(clients.talk(f"s{number}", "/ask/stream", over))
        for _ in range(2):
            group.create_task(clients.ask({"question": "How do I pay?"}, "/ask", over))
            group.create_task(clients.ask(chat, "/v1/chat/completions", over))
            group.create_task(clients.leave(over))
        disturbance = Disturbance(clients, database, collector)
        await disturbance.run()
        over.set()
    for replica in replicas:
        await disturbance.stop(replica)
    return clients, disturbance


def counted(counters: Path) -> Counter[str]:
    """Return the turns by outcome that all processes counted, ended ones too."""
    registry, turns = CollectorRegistry(), Counter[str]()
    MultiProcessCollector(registry, path=str(counters))  # type: ignore[no-untyped-call]  # theirs
    for family in registry.collect():
        for sample in family.samples:
            if sample.name == "rag_turns_total":
                turns[sample.labels["outcome"]] += int(sample.value)
    return +turns


async def stored(database: Postgres, thread: str) -> list[str]:
    """Return the questions of a thread."""
    async with open_memory(database.url) as memory:
        return [m.text for m in await memory.messages(Thread(id=thread)) if m.role == "user"]


async def test_mixed_faults_lose_no_answer_and_keep_nobody_waiting(
    replicas: list[Replica], database: Postgres, collector: socket.socket, counters: Path
) -> None:
    clients, disturbance = await under_faults(replicas, database, collector)
    turns = counted(counters)
    with open_reader(database.url) as reader:
        records = Counter(record.trace_id for record in reader.walk())
    kept = {thread: await stored(database, thread) for thread in clients.kept}
    logs = "".join(replica.log.read_text() for replica in replicas)

    assert clients.unnamed == []
    assert max(clients.waits) < (TURN_SECONDS + SLACK_SECONDS, "")
    assert turns.total() == clients.outcomes.total()
    assert turns["cancelled"] <= clients.outcomes["left"] + clients.outcomes["cancelled"]
    assert records.total() == turns.total()
    assert set(clients.traces) <= set(records)
    for thread, answered in clients.kept.items():
        assert [question for question in kept[thread] if question in answered] == answered
        assert len(set(kept[thread])) == len(kept[thread])
        assert set(kept[thread]) <= clients.asked
    assert [code for code, _ in disturbance.stops] == [0, 0, 0]
    assert max(seconds for _, seconds in disturbance.stops) < math.fsum(
        [GRACE_SECONDS, FAREWELL_SECONDS, SLACK_SECONDS]
    )
    assert "Traceback" not in logs
    assert clients.outcomes["left"] > 0
    assert clients.refusals["503 memory_unavailable"] > 0
