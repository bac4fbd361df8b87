from __future__ import annotations

import asyncio
from itertools import count

from agent.traffic.arrivals import Arrival
from agent.traffic.load import Load, NoReplyError


def at(*times: float, kind: str = "k") -> list[Arrival]:
    return [Arrival(at=time, kind=kind, question=f"{time}", thread_id=None) for time in times]


class Service:
    """Replies when it is told to; keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.may_reply = asyncio.Event()

    async def __call__(self, question: str, thread_id: str | None) -> str:
        self.asked.append(question)
        await self.may_reply.wait()
        return "answered"


async def replies_at_once(question: str, thread_id: str | None) -> str:
    return "answered"


async def test_questions_go_out_whether_or_not_earlier_ones_came_back() -> None:
    service = Service()
    running = asyncio.create_task(Load(service).run(at(0, 0.001, 0.002)))
    while len(service.asked) < 3:
        await asyncio.sleep(0)
    service.may_reply.set()
    tally = await running

    assert (tally.total.sent, tally.total.outcomes) == (3, {"answered": 3})


async def test_what_comes_due_beyond_the_bound_is_counted_and_not_sent_later() -> None:
    service = Service()
    load = Load(service, max_in_flight=2)
    running = asyncio.create_task(load.run(at(0, 0, 0, 0, 0)))
    while load.tally.total.unsent < 3:
        await asyncio.sleep(0)
    service.may_reply.set()
    tally = await running

    assert (tally.total.sent, tally.total.unsent, len(service.asked)) == (2, 3, 2)


async def test_a_question_without_reply_counts_by_its_reason() -> None:
    async def ask(question: str, thread_id: str | None) -> str:
        if question == "0":
            raise NoReplyError("timeout")
        return "no_results"

    tally = await Load(ask).run([*at(0, kind="a"), *at(0.001, kind="b")])

    assert tally.kinds["a"].errors == {"timeout": 1}
    assert tally.kinds["b"].outcomes == {"no_results": 1}
    assert tally.total.errors == {"timeout": 1}
    assert not tally.is_answered


async def test_latency_counts_from_the_time_a_question_was_due() -> None:
    async def ask(question: str, thread_id: str | None) -> str:
        return "answered"

    late = [Arrival(at=-1.0, kind="k", question="q", thread_id=None)]
    tally = await Load(ask).run(late)

    assert (tally.total.durations.quantile(0.5) or 0) >= 0.99
    assert tally.latest_start_seconds >= 1.0


async def test_it_ends_when_the_time_is_up() -> None:
    endless = (Arrival(at=n / 1_000, kind="k", question="q", thread_id=None) for n in count())
    tally = await Load(replies_at_once).run(endless, seconds=0.02)

    assert tally.total.sent == 20
    assert tally.seconds >= 0.02


async def test_it_stops_between_two_questions() -> None:
    load = Load(replies_at_once)
    running = asyncio.create_task(load.run(at(0, 3_600)))
    while not load.tally.total.sent:
        await asyncio.sleep(0)
    load.stop()

    assert (await running).total.sent == 1


async def test_held_back_traffic_is_neither_sent_nor_counted() -> None:
    held = [False, True, True, False]
    tally = await Load(replies_at_once, is_held_back=lambda: held.pop(0)).run(at(0, 0, 0, 0))

    assert (tally.total.sent, tally.total.unsent) == (2, 0)
