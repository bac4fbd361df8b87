from __future__ import annotations

import asyncio

import pytest

from agent.http.crowd import Crowd
from agent.http.errors import OverloadedError

FOREVER = 60.0


class Turns:
    """Turns that hold their places until they are let go."""

    def __init__(self, crowd: Crowd) -> None:
        self.crowd = crowd
        self.order: list[int] = []
        self.gates: dict[int, asyncio.Event] = {}
        self.tasks: list[asyncio.Task[None]] = []

    async def start(self, number: int) -> None:
        self.tasks.append(asyncio.create_task(self._turn(number)))
        await settle()

    async def _turn(self, number: int) -> None:
        async with self.crowd.place():
            self.order.append(number)
            self.gates[number] = asyncio.Event()
            await self.gates[number].wait()

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_places_are_given_in_the_order_in_which_they_were_asked_for() -> None:
    turns = Turns(Crowd(1, 5, FOREVER))
    for number in range(3):
        await turns.start(number)
    at_once = list(turns.order)
    for number in (0, 1):
        turns.gates[number].set()
        await settle()
    await turns.end()

    assert (at_once, turns.order) == ([0], [0, 1, 2])


async def test_more_than_may_wait_are_refused_at_once() -> None:
    turns = Turns(Crowd(1, 1, FOREVER))
    await turns.start(0)
    await turns.start(1)
    with pytest.raises(OverloadedError, match="got 1 turns under way and 1 waiting"):
        async with turns.crowd.place():
            raise AssertionError("there was no place")
    await turns.end()


async def test_nobody_waits_longer_than_the_limit() -> None:
    turns = Turns(Crowd(1, 1, 0.01))
    await turns.start(0)
    with pytest.raises(OverloadedError, match="none that ended within") as refused:
        async with turns.crowd.place():
            raise AssertionError("there was no place")
    await turns.end()

    assert refused.value.headers == {"Retry-After": "1"}


async def test_who_gives_up_waiting_leaves_room_for_another() -> None:
    turns = Turns(Crowd(1, 1, FOREVER))
    await turns.start(0)
    await turns.start(1)
    turns.tasks[1].cancel()
    await settle()
    await turns.start(2)
    turns.gates[0].set()
    await settle()
    await turns.end()

    assert turns.order == [0, 2]


async def test_a_turn_that_fails_gives_its_place_back() -> None:
    crowd = Crowd(1, 0, FOREVER)
    with pytest.raises(ZeroDivisionError):
        async with crowd.place():
            raise ZeroDivisionError
    async with crowd.place():
        pass
