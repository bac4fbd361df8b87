"""Error rates of `loopscope canary`, looked at every minute: false alarms, power, false promotions.

python -m benchmarks.canary [--rollouts 2000] [--pool 1500] [--workers 2] [--case 4 --case 5]

Turns come from the real agent with the local model under the packaged traffic; each simulated
rollout draws from them, with more or fewer turns without results. A rollout ends at its first look
that promotes or rolls back, or undecided when its time is up.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.compare_turns import turns
from telemetry.canary.counts import CANARY, Counts, Rollout
from telemetry.canary.course import judge, surely_fine, surely_worse
from telemetry.canary.from_records import shares
from telemetry.canary.measures import MEASURES, SLOW_SHARE
from telemetry.compare.observed import observe
from telemetry.compare.rates import Rate, p_value

MARGIN = 0.05
RATE = 60.0
"""Turns a minute of both versions together."""
SLOTS = 6
"""In a minute, and so in a look."""
HISTORY = 600
"""Stable turns known from before."""


@dataclass(frozen=True, kw_only=True)
class Pool:
    """Turns of the agent, as what each counts for."""

    counts: NDArray[np.float64]
    """Shape (n_turns, n_measures, 2): hits and total."""

    def weights(self, without: float) -> NDArray[np.float64]:
        """Return chances of the turns under which so many searches end without results."""
        hits, totals = self.counts[:, 0, 0], self.counts[:, 0, 1]
        seen = hits.sum() / totals.sum()
        weight = np.where(
            totals == 0, 1.0, np.where(hits, without / seen, (1 - without) / (1 - seen))
        )
        return weight / weight.sum()


@dataclass(frozen=True, kw_only=True)
class Case:
    """A sort of rollout."""

    name: str
    minutes: int
    stable: tuple[float, ...] = (0.1,)
    """Share of searches without results, in equal parts of the time."""
    rise: float = 0.0
    """Of the canary above it."""
    traffic: tuple[float, ...] = (0.05,)
    """Share of the canary, in equal parts of the time."""
    measures: int = len(MEASURES)


CASES = (
    Case(name="no change, 5 % of the traffic", minutes=480),
    Case(name="10 % become 20 %, 5 % of the traffic", minutes=240, rise=0.1),
    Case(name="worse by the margin, judged by it alone", minutes=240, rise=MARGIN, measures=1),
    Case(
        name="no change, 5 % to 50 % while 10 % become 30 %", minutes=240,
        stable=(0.1, 0.2, 0.3), traffic=(0.05, 0.2, 0.5),
    ),
    Case(name="no change, 50 % of the traffic", minutes=120, traffic=(0.5,)),
    Case(name="10 % become 20 %, 50 % of the traffic", minutes=120, rise=0.1, traffic=(0.5,)),
)  # fmt: skip


def pool(size: int) -> Pool:
    """Ask the agent so many questions."""
    seen = [observe(record) for record in turns(size)]
    slow = float(np.quantile([turn.duration_seconds for turn in seen], 1 - SLOW_SHARE))
    told = [shares([turn], slow) for turn in seen]
    return Pool(
        counts=np.array(
            [[(one[m.name].hits, one[m.name].total) for m in MEASURES] for one in told], dtype=float
        )
    )


def rollout(pool: Pool, case: Case, seed: int) -> Rollout:
    """Return what a rollout counts until its time is up."""
    chance = np.random.default_rng(seed)
    slots = case.minutes * SLOTS
    counted = np.zeros((slots, 2, len(MEASURES), 2))
    parts = [
        (share, canary)
        for share, canary in zip(
            spread(case.stable, slots), spread(case.traffic, slots), strict=True
        )
    ]
    for (without, canary), places in grouped(parts).items():
        for side, (share, of_all) in enumerate(
            ((without, 1 - canary), (without + case.rise, canary))
        ):
            number = chance.poisson(RATE / SLOTS * of_all, size=len(places))
            drawn = chance.choice(len(pool.counts), size=number.sum(), p=pool.weights(share))
            np.add.at(counted, (np.repeat(places, number), side), pool.counts[drawn])
    before = chance.choice(len(pool.counts), size=HISTORY, p=pool.weights(case.stable[0]))
    history = pool.counts[before].sum(axis=0)
    counts = {
        measure.name: Counts(
            before=Rate(*map(round, history[nth])),
            hits=counted[:, :, nth, 0],
            totals=counted[:, :, nth, 1],
        )
        for nth, measure in enumerate(MEASURES)
    }
    return Rollout(since=0.0, turns=counts["off_topic"].totals, counts=counts, slow_seconds=1.0)


def spread(values: tuple[float, ...], slots: int) -> list[float]:
    """Return one value a slot."""
    return [values[slot * len(values) // slots] for slot in range(slots)]


def grouped(parts: list[tuple[float, float]]) -> dict[tuple[float, float], NDArray[np.int64]]:
    """Return the slots of each part."""
    return {part: np.flatnonzero([other == part for other in parts]) for part in set(parts)}


def decided(pool: Pool, case: Case, seed: int) -> tuple[str, int, bool]:
    """Return the decision, the canary's turns by then, and whether repeated tests cry wolf."""
    seen = rollout(pool, case, seed)
    judged = judge(seen, MARGIN, MEASURES[: case.measures])
    looks = np.arange(SLOTS - 1, case.minutes * SLOTS, SLOTS)
    worse = surely_worse(judged, seen).any(axis=0)[looks]
    fine = surely_fine(judged)[looks]
    ends = np.flatnonzero(worse | fine)
    at = looks[ends[0]] if len(ends) else looks[-1]
    verdict = "undecided" if not len(ends) else "roll back" if worse[ends[0]] else "promote"
    taken = int(seen.turns[: at + 1, CANARY].sum())
    return verdict, taken, not case.rise and cries_wolf(seen.counts["no_results"], looks)


def cries_wolf(counts: Counts, looks: NDArray[np.int64]) -> bool:
    """Return whether an ordinary test of the sums, at 5 % each minute, ever calls it worse."""
    hits, totals = np.cumsum(counts.hits, axis=0)[looks], np.cumsum(counts.totals, axis=0)[looks]
    return any(
        canary.share > stable.share and p_value(stable, canary) < 0.05
        for stable, canary in (
            (Rate(int(h[0]), int(t[0])), Rate(int(h[1]), int(t[1])))
            for h, t in zip(hits, totals, strict=True)
            if t.min() >= 30
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rollouts", type=int, default=2_000)
    parser.add_argument("--pool", type=int, default=1_500)
    parser.add_argument("--workers", type=int, default=2)
    numbers = range(1, len(CASES) + 1)
    parser.add_argument("--case", type=int, action="append", choices=numbers, default=None)
    given = parser.parse_args()
    started = time.perf_counter()
    drawn_from = pool(given.pool)
    print(f"pool of {given.pool} turns: {time.perf_counter() - started:.0f} s", flush=True)
    with ProcessPoolExecutor(given.workers) as workers:
        for case in (CASES[number - 1] for number in given.case or numbers):
            look = partial(decided, drawn_from, case)
            found = list(workers.map(look, range(given.rollouts), chunksize=20))
            print(f"{case.name}, {case.minutes // 60} h, {given.rollouts} rollouts", flush=True)
            for verdict in ("roll back", "promote", "undecided"):
                taken = [turns for told, turns, _ in found if told == verdict]
                median = f", median {np.median(taken):.0f} turns of the canary" if taken else ""
                print(f"    {verdict:<10} {len(taken) / len(found):6.2%}{median}", flush=True)
            if not case.rise:
                wolf = np.mean([cries for *_, cries in found])
                print(f"    a test of the sums, at 5 % each minute, says worse: {wolf:.1%}")
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
