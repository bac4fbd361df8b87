"""When which question arrives: a Poisson process that waits for no reply, the same for a seed."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from agent.traffic.mix import Conversation, Mix

PAUSE_SECONDS: Final = 5.0
"""Least time between a question and its follow-up; chosen by us: longer than most replies take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """One question."""

    at: float
    """Seconds since the start."""
    kind: str
    question: str
    thread_id: str | None = None
    """The conversation; None for a question on its own."""


def arrivals(mix: Mix, *, rate: float, seed: int = 0) -> Iterator[Arrival]:
    """Yield questions in the order of their times, without end.

    Args:
        mix: What is asked, and the shape of a day.
        rate: Mean number of questions a second, above 0.
        seed: The same seed gives the same questions at the same times.
    """
    chance = random.Random(seed)
    weights = [kind.weight for kind in mix.kinds]
    open_talks = {kind.name: deque[_Talk]() for kind in mix.kinds}
    started = 0
    for at in _times(mix, rate, chance):
        (kind,) = chance.choices(mix.kinds, weights)
        waiting = open_talks[kind.name]
        if waiting and at - waiting[0].asked_at >= PAUSE_SECONDS:
            talk = waiting.popleft()
        else:
            started += 1
            talk = _Talk(chance.choice(kind.conversations), f"{seed}-{started}")
        yield Arrival(
            at=at, kind=kind.name, question=talk.next_question(at), thread_id=talk.thread_id
        )
        if talk.left:
            waiting.append(talk)


def _times(mix: Mix, rate: float, chance: random.Random) -> Iterator[float]:
    """Yield the times of a Poisson process whose rate swings: a faster one, thinned out."""
    at = 0.0
    while True:
        at += chance.expovariate(rate * mix.day.peak)
        if chance.random() * mix.day.peak < mix.day.factor(at):
            yield at


class _Talk:
    """A conversation under way."""

    def __init__(self, questions: Conversation, name: str) -> None:
        self.thread_id = name if len(questions) > 1 else None
        self.left = deque(questions)
        self.asked_at = 0.0

    def next_question(self, at: float) -> str:
        self.asked_at = at
        return self.left.popleft()
