"""Error rates of `loopscope compare`: false alarms, power, and whether the right part is blamed.

python benchmarks/compare.py [--pairs 2000] [--seeds 50] [--pool 1500] [--workers 2]

Turns come from the real agent with the local model under the packaged traffic, once a condition;
each simulated side draws from them. False alarms are counted over all measures of a comparison.
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
Pool = Sequence[Observed]


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


def blamed(sound: Pool, other: Pool, size: int, seed: int) -> tuple[bool, str | None, bool]:
    """Return whether the jump is significant, its first cause, and whether that is clear."""
    chance = random.Random(seed)
    before, after = drawn(sound, size, chance), drawn(other, size, chance)
    rates = [side.measured["no_results"] for side in (before, after)]
    found = blame(before.observed, after.observed)
    assert found is not None
    return p_value(*rates) < 0.05 and found.jump > 0, found.first_cause, found.is_clear


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=2_000)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--pool", type=int, default=1_500)
    parser.add_argument("--side", type=int, default=600)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    started = time.perf_counter()
    with ProcessPoolExecutor(given.workers, initializer=without_intervals) as workers:
        conditions = ("sound", *CONDITIONS)
        made = workers.map(partial(pool, size=given.pool), conditions)
        pools = dict(zip(conditions, made, strict=True))
        print(f"pools of {given.pool} turns: {time.perf_counter() - started:.0f} s", flush=True)
        sound = pools["sound"]
        for condition, cause in CONDITIONS.items():
            look = partial(blamed, sound, pools[condition], 300)
            found = list(workers.map(look, range(given.seeds), chunksize=10))
            jumps = [told for told in found if told[0]]
            right = sum(told[1] == cause for told in jumps)
            clear = sum(told[2] for told in jumps)
            print(
                f"(c) {condition:<28} significant {len(jumps)} of {given.seeds}, first cause "
                f"{cause} in {right} ({right / max(1, len(jumps)):.0%}), clear in {clear}",
                flush=True,
            )
        look = partial(doubled, sound, given.side)
        hits = sum(workers.map(look, range(given.pairs // 10), chunksize=10))
        print(
            f"(b) 10 % -> 20 %, n = {given.side}: {hits} of {given.pairs // 10} worse", flush=True
        )
        alarm = partial(false_alarm, sound, given.side)
        said = Counter(workers.map(alarm, range(given.pairs), chunksize=20))
        share = said["worse"] / given.pairs
        print(f"(a) no change, n = {given.side}: worse {share:.1%} of {given.pairs}: {dict(said)}")
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
