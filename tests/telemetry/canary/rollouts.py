"""Made rollouts: counts of both sides slot by slot, and records of two versions."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from telemetry.canary.counts import Counts, Rollout
from telemetry.compare.rates import Rate
from telemetry.records import TurnRecord
from telemetry.records.record import new_id, record_of
from telemetry.turn import Retrieval, Turn

START = 1_700_000_000.0
USUAL = {"no_results": 0.1, "off_topic": 0.05, "failed": 0.01, "rewrote": 0.2, "slow": 0.1}


def made_rollout(
    seed: int, slots: int, canary: Mapping[str, float], turns: tuple[int, int] = (19, 1)
) -> Rollout:
    """Return a rollout in which a measure's share on the canary is as told, else as usual."""
    chance = np.random.default_rng(seed)
    totals = np.tile(np.array(turns, dtype=float), (slots, 1))
    counts = {
        name: Counts(
            before=Rate(round(600 * share), 600),
            hits=chance.binomial(turns, [share, canary.get(name, share)], (slots, 2)).astype(float),
            totals=totals,
        )
        for name, share in USUAL.items()
    }
    return Rollout(since=START, turns=totals, counts=counts, slow_seconds=2.0)


def first_slots(rollout: Rollout, slots: int) -> Rollout:
    """Return what was known after so many slots."""
    counts = {
        name: replace(found, hits=found.hits[:slots], totals=found.totals[:slots])
        for name, found in rollout.counts.items()
    }
    return replace(rollout, turns=rollout.turns[:slots], counts=counts)


def made_turn(
    version: str, at: float, outcome: str, *, rewrites: int = 0, seconds: float = 1.0
) -> Turn:
    """Return a turn that ended at a moment."""
    searched = outcome in ("answered", "no_results")
    search = Retrieval(attempt=0, chunk_ids=("c",), scores=(0.5,), grades=(outcome == "answered",))
    return Turn(
        graph="g", version=version, outcome=outcome, started_at=at - seconds,
        classification="irrelevant" if outcome == "off_topic" else "relevant", confidence="high",
        retrievals=(search,) if searched else (), rewrites=rewrites, llm_calls=4,
        duration_seconds=seconds,
    )  # fmt: skip


def records_of(turns: list[Turn]) -> list[TurnRecord]:
    return [replace(record_of(turn), id=new_id(turn.started_at)) for turn in turns]


def two_versions(
    seed: int, minutes: int, without: float, *, before: int = 10, each: tuple[int, int] = (10, 3)
) -> list[TurnRecord]:
    """Return records of version 1, ever a tenth without results, and of 2 from `START` on."""
    chance = random.Random(seed)
    made = []
    for minute in range(-before, minutes):
        for version, number, share in (("1", each[0], 0.1), ("2", each[1], without)):
            for _ in range(number if minute >= 0 or version == "1" else 0):
                outcome = "no_results" if chance.random() < share else "answered"
                at = START + 60 * (minute + chance.random())
                seconds = 1.0 if chance.random() < 0.95 else 9.0
                rewrites = 2 if outcome == "no_results" else 0
                made.append(made_turn(version, at, outcome, rewrites=rewrites, seconds=seconds))
    return records_of(made)
