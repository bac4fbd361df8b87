"""Two `loopscope serve` on one PostgreSQL, as behind a proxy: what was acknowledged stays."""

from __future__ import annotations

import asyncio
import itertools
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
import native_servers
import pytest
from native_servers import Postgres
from replica import PATIENCE_SECONDS, Replica

from agent.memory.opening import open_memory
from agent.memory.thread import Thread

pytestmark = pytest.mark.servers
SLOW = "slow-model:0.1"
"""Some model calls take 2.5 s longer, so that turns are under way when something is killed."""

CHAT = {
    "model": "loopscope",
    "messages": [{"role": "user", "content": "Which payment methods do you take?"}],
}


@pytest.fixture(scope="module")
def database() -> Iterator[Postgres]:
    """A server of its own: the tests restart it."""
    with native_servers.postgres_server() as server:
        yield server


@pytest.fixture(scope="module")
def replicas(
    database: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Replica]]:
    folder = tmp_path_factory.mktemp("replicas")
    both = [Replica(database.url, folder) for _ in range(2)]
    for replica in both:
        replica.start("--fault", SLOW)
    try:
        for replica in both:
            replica.wait()
        yield both
    finally:
        for replica in both:
            replica.end()


@dataclass
class Proxy:
    """Gives questions to the replicas in turn, and to the next one when one does not answer."""

    replicas: list[Replica]
    client: httpx.AsyncClient
    turns: Iterator[int] = field(default_factory=itertools.count)
    acknowledged: dict[str, list[str]] = field(default_factory=dict)
    """Thread -> questions whose answer arrived, in order of arrival."""
    lost: list[str] = field(default_factory=list)
    """Questions of which nobody told how they ended, or that they failed."""

    async def ask(self, question: str, thread: str) -> bool:
        """Ask once and return whether it was answered."""
        number = next(self.turns)
        replica = self.replicas[number % len(self.replicas)]
        replica.under_way[number] = time.monotonic()
        try:
            reply = await self.client.post(
                f"{replica.url}/ask",
                json={"question": question, "thread_id": thread},
            )
        except httpx.HTTPError:
            is_answered = False
        else:
            told = reply.json()
            is_answered = reply.status_code == 200 and told["outcome"] != "error"
            assert is_answered or "memory_unavailable" in (told.get("code"), told.get("reason"))
        finally:
            del replica.under_way[number]
        kept = self.acknowledged.setdefault(thread, []) if is_answered else self.lost
        kept.append(question)
        return is_answered

    async def talk(self, thread: str, client: str, acknowledged: int) -> None:
        """Ask until that many were answered; after a failure something else, as a person would."""
        for number in itertools.count():
            if await self.ask(f"Can I get a refund for invoice {client}-{number}?", thread):
                acknowledged -= 1
            else:
                await asyncio.sleep(0.1)
            if not acknowledged:
                return


@asynccontextmanager
async def proxy(replicas: list[Replica]) -> AsyncIterator[Proxy]:
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_SECONDS) as client:
        yield Proxy(replicas, client)


async def stored(database: Postgres, thread: str) -> list[str]:
    """Return the questions of a thread, each with a reply after it."""
    async with open_memory(database.url) as memory:
        messages = await memory.messages(Thread(id=thread))
    assert [message.role for message in messages] == ["user", "assistant"] * (len(messages) // 2)
    return [message.text for message in messages[::2]]


async def test_two_clients_in_one_thread_and_two_alone_lose_no_turn(
    database: Postgres, replicas: list[Replica]
) -> None:
    async with proxy(replicas) as asked, asyncio.timeout(2 * PATIENCE_SECONDS):
        clients = [("shared", "a"), ("shared", "b"), ("c", "c"), ("d", "d")]
        await asyncio.gather(*(asked.talk(*client, 4) for client in clients))
    kept = {thread: await stored(database, thread) for thread in ("shared", "c", "d")}

    assert asked.lost == []
    assert {thread: sorted(questions) for thread, questions in kept.items()} == {
        thread: sorted(questions) for thread, questions in asked.acknowledged.items()
    }
    assert (kept["c"], kept["d"]) == (asked.acknowledged["c"], asked.acknowledged["d"])


async def in_a_slow_turn(replica: Replica) -> None:
    """Wait until a turn has been under way for longer than a quick one takes."""
    while not any(time.monotonic() - sent > 1 for sent in replica.under_way.values()):
        await asyncio.sleep(0.02)


async def test_what_was_acknowledged_survives_a_killed_replica_and_a_restarted_database(
    database: Postgres, replicas: list[Replica]
) -> None:
    async def disturb() -> None:
        await in_a_slow_turn(replicas[0])
        replicas[0].end(signal.SIGKILL)
        replicas[0].start("--fault", SLOW)
        await asyncio.to_thread(replicas[0].wait)
        await in_a_slow_turn(replicas[1])
        await asyncio.to_thread(database.stop)
        await asyncio.to_thread(database.start)

    async def talk(client: int) -> None:
        for number in itertools.count():
            if disturbed.done():
                return
            await asked.talk(f"{client}.{number}", f"{client}.{number}", 4)

    async with proxy(replicas) as asked, asyncio.timeout(4 * PATIENCE_SECONDS):
        disturbed = asyncio.create_task(disturb())
        await asyncio.gather(*map(talk, range(4)))
        await disturbed
    kept = {thread: await stored(database, thread) for thread in asked.acknowledged}

    assert asked.lost
    for thread, answered in asked.acknowledged.items():
        assert [question for question in kept[thread] if question in answered] == answered
        assert len(set(kept[thread])) == len(kept[thread])
        assert set(kept[thread]) <= {*answered, *asked.lost}


async def test_a_database_that_is_away_is_told_and_found_again(
    database: Postgres, replicas: list[Replica]
) -> None:
    urls = [replica.url for replica in replicas]
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_SECONDS) as client:
        database.stop()
        body = {"question": "Can I get a refund?", "thread_id": "away"}
        away = [
            await client.get(f"{urls[0]}/readyz"),
            await client.post(f"{urls[0]}/ask", json=body),
            await client.get(f"{urls[0]}/healthz"),
            await client.post(f"{urls[0]}/v1/chat/completions", json=CHAT),
        ]
        database.start()
        back = [
            await client.get(f"{urls[0]}/readyz"),
            await client.post(f"{urls[1]}/ask", json=body),
        ]

    assert [reply.status_code for reply in [*away, *back]] == [503, 503, 200, 200, 200, 200]
    assert away[1].json()["code"] == "memory_unavailable"
    assert away[3].json()["loopscope"]["outcome"] == "answered"
    assert await stored(database, "away") == [body["question"]]


async def test_one_replica_takes_what_is_said_of_the_others_answer_and_repeats_its_reply(
    replicas: list[Replica],
) -> None:
    urls = [replica.url for replica in replicas]
    key = {"Idempotency-Key": "8e03978e-40d5-43dd-bc93-6894a57f9324"}
    body = {"question": "Can I get a refund?"}
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_SECONDS) as client:
        told = await client.post(f"{urls[0]}/ask", json=body, headers=key)
        again = await client.post(f"{urls[1]}/ask", json=body, headers=key)
        given = {"turn_id": told.json()["turn_id"], "verdict": "down"}
        judged = await client.post(f"{urls[1]}/feedback", json=given)
        counted = (await client.get(f"{urls[1]}/metrics")).text

    assert (told.content, again.headers["Idempotency-Replayed"]) == (again.content, "true")
    assert judged.json()["turn_id"] == told.json()["turn_id"]
    assert 'rag_feedback_total{verdict="down"} 1.0' in counted


def test_replicas_end_in_order_when_told_to(replicas: list[Replica]) -> None:
    assert [replica.end(signal.SIGTERM) for replica in replicas] == [0, 0]
