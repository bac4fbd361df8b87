"""Turns of a small made-up loop: fast, seeded, with faults."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace

from telemetry.compare.from_records import side_of
from telemetry.compare.observed import observe
from telemetry.compare.side import Side
from telemetry.detectors import rewrite_effect
from telemetry.records import TurnRecord
from telemetry.records.record import Labels, new_id, record_of
from telemetry.turn import Retrieval, Turn

START = 1_700_000_000.0


@dataclass(frozen=True)
class Loop:
    """How a made agent behaves; the default is sound."""

    questions: int = 40
    unanswerable: float = 0.1
    """Share of the turns that ask what no document says."""
    lost: float = 0.0
    """Share of the answers that are gone from the index."""
    refused: float = 0.0
    """Share of the good chunks that the grader fails."""
    rewrites_help: bool = True
    off_topic: float = 0.05


def make_turns(number: int, seed: int, loop: Loop = Loop()) -> list[TurnRecord]:
    chance = random.Random(seed)
    return [record_of(_turn(chance, loop, START + 60.0 * n)) for n in range(number)]


def make_side(number: int, seed: int, loop: Loop = Loop()) -> Side:
    return side_of("", "", map(observe, make_turns(number, seed, loop)))


def _turn(chance: random.Random, loop: Loop, at: float) -> Turn:
    common = {"graph": "g", "version": "1", "started_at": at, "duration_seconds": chance.random()}
    if chance.random() < loop.off_topic:
        return Turn(**common, outcome="off_topic", classification="irrelevant", confidence="high")
    question = chance.randrange(loop.questions)
    answerable = chance.random() >= loop.unanswerable
    name = f"{'asked' if answerable else 'unanswerable'} {question}"
    fixed = random.Random(name)  # what the question and the documents decide
    at_once, is_lost, score = fixed.random() < 0.7, fixed.random() < loop.lost, fixed.random()
    retrievals: list[Retrieval] = []
    for attempt in range(3):
        is_swap = attempt > 0 and not loop.rewrites_help
        found = answerable and not is_lost and (at_once or (attempt > 0 and not is_swap))
        wrong = 0 if is_swap else attempt
        passed = found and chance.random() >= loop.refused
        retrieval = Retrieval(
            attempt=attempt,
            query=f"{name} {attempt}" if attempt else name,
            chunk_ids=(f"right {name}" if found else f"wrong {question} {wrong}",),
            scores=((0.3 if found else 0.1) + 0.3 * score + 0.01 * wrong,),
            grades=(passed,),
            similarity=0.9,
        )
        if retrievals:
            retrieval = replace(retrieval, effect=rewrite_effect(retrievals[-1], retrieval))
        retrievals.append(retrieval)
        if passed:
            break
    return Turn(
        **common,
        outcome="answered" if retrievals[-1].passed else "no_results",
        classification="relevant",
        confidence="high",
        retrievals=tuple(retrievals),
        rewrites=len(retrievals) - 1,
        llm_calls=3 + 2 * len(retrievals),
        input_tokens=400 * len(retrievals),
        output_tokens=50,
    )


def build(records: Iterable[TurnRecord], version: str, start: float) -> list[TurnRecord]:
    """Return the turns as one build made them, a minute apart from `start` on."""
    labels = Labels(index=f"index of {version}", prompt="p", grader="g", model="m")
    moved = ((record, start + 60.0 * number) for number, record in enumerate(records))
    return [
        replace(record, id=new_id(at), started_at=at, version=version, labels=labels)
        for record, at in moved
    ]
