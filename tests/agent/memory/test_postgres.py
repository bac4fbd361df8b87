"""Replicas on one database: each memory here stands for one of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import psycopg
import pytest
from talking import make_agent, said, soon, turn

from agent.memory.errors import ConversationBusyError
from agent.memory.memory import Memory
from agent.memory.opening import open_memory
from agent.memory.postgres import PostgresStore
from agent.memory.thread import Thread

pytestmark = pytest.mark.servers
T = Thread(id="t")
SLEEPERS = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"


@pytest.fixture
def url(new_postgres_schema: Callable[[], str]) -> str:
    return new_postgres_schema()


@asynccontextmanager
async def replicas(url: str, number: int = 2) -> AsyncIterator[list[Memory]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(open_memory(url)) for _ in range(number)]


def execute(url: str, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []


def break_sessions(url: str) -> None:
    """End every session of the memories, as a restart of the database does."""
    execute(
        url,
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
        "WHERE application_name = 'loopscope memory'",
    )


def locks(url: str) -> int:
    return int(str(execute(url, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")[0][0]))


async def test_turns_at_once_on_two_replicas_run_one_after_another(url: str) -> None:
    async with replicas(url) as both:
        await asyncio.gather(*(turn(both[n % 2], f"q{n}?") for n in range(8)))
        messages = await said(both[0])

    assert sorted(messages[::2]) == [f"q{n}?" for n in range(8)]
    assert messages[1::2] == [f"re {question}" for question in messages[::2]]
    assert locks(url) == 0


async def test_replicas_that_start_at_once_make_the_tables_once(url: str) -> None:
    async with AsyncExitStack() as stack:
        opening = (stack.enter_async_context(open_memory(url)) for _ in range(4))
        memories = await asyncio.gather(*opening)
        await turn(memories[0], "one?")

        assert [len(await said(memory)) for memory in memories] == [2] * 4


async def test_a_turn_on_another_replica_is_waited_for_no_longer_than_the_limit(url: str) -> None:
    async with replicas(url) as (one, other), one.turn(T, soon()):
        with pytest.raises(ConversationBusyError):
            await turn(other, "one?", seconds=0.1)


async def test_who_stops_waiting_for_another_replica_holds_no_lock(url: str) -> None:
    async with replicas(url) as (one, other):
        async with one.turn(T, soon()):
            for _ in range(10):
                waiting = asyncio.create_task(turn(other, "one?"))
                await asyncio.sleep(0.005)
                waiting.cancel()
                waiting.cancel()
                await asyncio.wait({waiting})

            assert locks(url) == 1
        await turn(other, "two?")

        assert locks(url) == 0


async def test_a_turn_survives_a_restart_of_the_database_in_its_middle(url: str) -> None:
    async with replicas(url) as (one, other):
        await turn(one, "one?")
        agent = make_agent({"guard": lambda _: break_sessions(url) or "no verdict"})
        answer = await turn(one, "two?", agent=agent)
        await turn(other, "three?")

        assert answer.outcome == "answered"
        assert (await said(other))[::2] == ["one?", "two?", "three?"]
    assert locks(url) == 0


async def test_a_turn_whose_lock_was_lost_to_another_replica_does_not_undo_its_turn(
    url: str,
) -> None:
    async with replicas(url) as (one, other):
        await turn(one, "one?")
        remembering = make_agent().with_memory(one.checkpointer)
        async with one.turn(T, soon()):
            graph = remembering.remembering
            assert graph is not None
            config = {"configurable": {"thread_id": T.key}}
            begun = await one.checkpointer.aget_tuple(config)
            assert begun is not None
            break_sessions(url)
            await turn(other, "two?")
            late = {**begun.checkpoint, "id": "1ffffff0-0000-6000-8000-000000000000",
                    "channel_values": {"messages": [], "outcome": "answered"}}  # fmt: skip
            with pytest.raises(Exception, match="another replica went on with the conversation"):
                await one.checkpointer.aput(begun.config, late, begun.metadata, {})

        assert (await said(one))[::2] == ["one?", "two?"]
    assert locks(url) == 0


async def test_idle_sessions_that_broke_are_made_anew(url: str) -> None:
    async with replicas(url) as (one, other):
        await turn(one, "one?")
        break_sessions(url)
        await other.ping()

        assert len(await said(other)) == 2
        answers = await asyncio.gather(*(turn(one, f"q{n}?", thread=Thread(id=f"{n}"))
                                         for n in range(4)))  # fmt: skip
        assert {answer.outcome for answer in answers} == {"answered"}
    assert locks(url) == 0


async def test_nothing_of_older_turns_stays_in_the_tables(url: str) -> None:
    async with replicas(url, 1) as (memory,):
        for number in range(3):
            await turn(memory, f"q{number}?")
        await turn(memory, "one?", thread=Thread(id="other"))

    tables = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
    assert [execute(url, f"SELECT count(*) FROM {table}")[0][0] for table in tables] == [2, 2, 0]


async def test_a_statement_that_is_cut_takes_its_session_with_it(url: str) -> None:
    async with replicas(url, 1) as (memory,):
        store = memory._store
        assert isinstance(store, PostgresStore)
        session = store._session
        cut = asyncio.create_task(store._execute("SELECT 1 AS one FROM pg_sleep(60)"))
        while not execute(url, SLEEPERS)[0][0]:
            await asyncio.sleep(0)
        next_one = asyncio.create_task(store._execute("SELECT 2 AS two"))
        cut.cancel()
        ends = await asyncio.gather(cut, next_one, return_exceptions=True)
        await turn(memory, "one?")

        assert isinstance(ends[0], asyncio.CancelledError)
        assert isinstance(ends[1], psycopg.OperationalError)  # and not what the first one asked
        assert session.closed
        assert await said(memory) == ["one?", "re one?"]
    assert locks(url) == 0
