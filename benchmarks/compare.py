"""Error rates of `loopscope compare`: false alarms, power, and whether the right part is blamed.

python benchmarks/compare.py [--parts abcd] [--pairs 2000] [--seeds 50] [--pool 1500] [--workers 2]

Turns come from the real agent with the local model under the packaged traffic, once a condition;
each simulated side draws from them. Part d asks the agent anew for each seed, which then also
chooses the chunks that a fault strikes. False alarms are counted over all measures of a comparison.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial

from agent.traffic.mix import read_mix
from benchmarks.compare_turns import shifted, turns
from telemetry import names
from telemetry.compare import verdict
from telemetry.compare.blame import blame
from telemetry.compare.comparison import compare
from telemetry.compare.from_records import side_of
from telemetry.compare.observed import Observed, observe
from telemetry.compare.rates import Interval, p_value
from telemetry.compare.side import Side
from telemetry.compare.verdict import Estimate

CONDITIONS = {
    "index-regression:0.25": "retrieval",
    "index-regression:0.5": "retrieval",
    "index-regression": "retrieval",
    "grader-regression:0.3": "grading",
    "grader-regression:0.4": "grading",
    "grader-regression": "grading",
    "synonym-swap": "rewriting",
    "more unanswerable questions": "question mix",
}
AFRESH = ("index-regression:0.5", "grader-regression:0.4")
"""Faults of which the seed chooses what they strike."""
DRAWN = 300
"""Turns a side of part c."""
FRESH = 120
"""Turns a side of part d, of which each seed takes some 6 s of a core."""
Pool = Sequence[Observed]
Told = tuple[bool, str | None, bool]


def pool(condition: str, size: int) -> list[Observed]:
    """Return turns of the agent in a condition; `sound` for none."""
    if condition == "more unanswerable questions":
        records = turns(size, mix=shifted(read_mix(), unanswerable=45.0), seed=4)
    elif condition == "sound":
        records = turns(size)
    else:
        records = turns(size, fault=condition, seed=len(condition))
    return [observe(record) for record in records]


def without_intervals() -> None:
    """Skip the bootstrap intervals of means: they take most of the time and decide nothing."""
    skipped = Interval(-1.0, 1.0)
    methods = verdict._METHODS
    methods["mean"] = replace(
        methods["mean"],
        estimate=lambda sample: Estimate(n=sample.total, value=sample.mean, interval=skipped),
        interval=lambda *_: skipped,
    )


def drawn(pool: Pool, size: int, chance: random.Random) -> Side:
    """Return a side of turns drawn from a pool, with replacement."""
    return side_of("", "", chance.choices(pool, k=size))


def false_alarm(pool: Pool, size: int, seed: int) -> str:
    """Return the verdict on two sides drawn alike."""
    chance = random.Random(seed)
    return compare(drawn(pool, size, chance), drawn(pool, size, chance)).verdict


def doubled(pool: Pool, size: int, seed: int) -> bool:
    """Return whether 20 % without results instead of 10 % is called worse."""
    chance = random.Random(seed)
    ends = [turn for turn in pool if turn.searched]
    without = [turn for turn in ends if turn.outcome == names.NO_RESULTS]
    others = [turn for turn in ends if turn.outcome != names.NO_RESULTS]
    sides = [
        side_of(
            "",
            "",
            [chance.choice(without if chance.random() < share else others) for _ in range(size)],
        )
        for share in (0.1, 0.2)
    ]
    found = {f.measure.name: f.verdict for f in compare(*sides).findings}
    return found["no_results"] == "worse"


def blamed(sound: Pool, other: Pool, size: int, seed: int) -> Told:
    """Return what is said of a side drawn from a sound pool and one from another."""
    chance = random.Random(seed)
    return said(drawn(sound, size, chance), drawn(other, size, chance))


def blamed_afresh(sound: Pool, fault: str, size: int, seed: int) -> Told:
    """Return what is said when the fault and the traffic have a seed of their own."""
    struck = [observe(record) for record in turns(size, fault=fault, seed=seed)]
    return said(drawn(sound, size, random.Random(seed)), side_of("", "", struck))


def said(before: Side, after: Side) -> Told:
    """Return whether the jump is significant, its first cause, and whether that is clear."""
    rates = [side.measured["no_results"] for side in (before, after)]
    found = blame(before.observed, after.observed)
    assert found is not None
    return p_value(*rates) < 0.05 and found.jump > 0, found.first_cause, found.is_clear


def told(part: str, condition: str, cause: str, found: Sequence[Told]) -> None:
    """Print how often the right cause was named."""
    jumps = [one for one in found if one[0]]
    right = sum(one[1] == cause for one in jumps)
    print(
        f"({part}) {condition:<28} significant {len(jumps)} of {len(found)}, first cause {cause} "
        f"in {right} ({right / max(1, len(jumps)):.0%}), clear in {sum(one[2] for one in jumps)}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default="abcd")
    parser.add_argument("--pairs", type=int, default=2_000)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--pool", type=int, default=1_500)
    parser.add_argument("--side", type=int, default=600)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    started = time.perf_counter()
    with ProcessPoolExecutor(given.workers, initializer=without_intervals) as workers:
        conditions = ("sound", *(CONDITIONS if "c" in given.parts else ()))
        made = workers.map(partial(pool, size=given.pool), conditions)
        pools = dict(zip(conditions, made, strict=True))
        print(f"pools of {given.pool} turns: {time.perf_counter() - started:.0f} s", flush=True)
        sound = pools["sound"]
        for condition in conditions[1:]:
            look = partial(blamed, sound, pools[condition], DRAWN)
            found = list(workers.map(look, range(given.seeds), chunksize=10))
            told("c", condition, CONDITIONS[condition], found)
        for fault in AFRESH if "d" in given.parts else ():
            anew = partial(blamed_afresh, sound, fault, FRESH)
            found = list(workers.map(anew, range(1, given.seeds + 1)))
            told("d", fault, CONDITIONS[fault], found)
        if "b" in given.parts:
            rise = partial(doubled, sound, given.side)
            hits = sum(workers.map(rise, range(given.pairs // 10), chunksize=10))
            told_of = f"{hits} of {given.pairs // 10} worse"
            print(f"(b) 10 % -> 20 %, n = {given.side}: {told_of}", flush=True)
        if "a" in given.parts:
            alarm = partial(false_alarm, sound, given.side)
            verdicts = Counter(workers.map(alarm, range(given.pairs), chunksize=20))
            share = verdicts["worse"] / given.pairs
            print(f"(a) no change, n = {given.side}: worse {share:.2%}: {dict(verdicts)}")
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
