"""Turns of the real agent under the packaged traffic, sound or with a fault, as turn records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from agent.compose import Composition
from agent.faults.catalogue import read_fault
from agent.settings import Settings
from agent.traffic.arrivals import arrivals
from agent.traffic.mix import Mix, read_mix
from telemetry.detectors import Finding
from telemetry.records import TurnRecord
from telemetry.records.record import record_of
from telemetry.turn import Turn

RATE = 1.0
"""Questions a second of the simulated clock; nothing waits."""


class Kept:
    """Keeps the record of every turn."""

    def __init__(self) -> None:
        self.records: list[TurnRecord] = []

    def put(self, turn: Turn, findings: Sequence[Finding] = ()) -> str:
        self.records.append(record_of(turn, findings))
        return self.records[-1].id


def shifted(mix: Mix, **weights: float) -> Mix:
    """Return the mix with other weights of some kinds of questions."""
    kinds = tuple(replace(kind, weight=weights.get(kind.name, kind.weight)) for kind in mix.kinds)
    return replace(mix, kinds=kinds)


def turns(
    number: int, *, fault: str | None = None, mix: Mix | None = None, seed: int = 0
) -> list[TurnRecord]:
    """Ask so many questions of the packaged traffic, follow-ups with their history."""
    settings = Settings(model="local")
    kept = Kept()
    composition = Composition(settings, records=kept)
    parts = composition.parts(settings)
    if fault is not None:
        parts = read_fault(fault, seed=seed).into(parts)
    agent = composition.agent(settings, parts)
    talks: defaultdict[str | None, list[AnyMessage]] = defaultdict(list)
    for arrival in islice(arrivals(mix or read_mix(), rate=RATE, seed=seed), number):
        history = talks[arrival.thread_id] if arrival.thread_id else []
        answer = agent.answer(arrival.question, history=history)
        history += [HumanMessage(arrival.question), AIMessage(answer.reply)]
    return kept.records
