"""Time the turn records: `put`, writing, and the questions a page asks at 100,000 turns.

python benchmarks/records.py [--turns N] [--url URL]
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

from telemetry.batching import BatchLimits
from telemetry.records import RecordReader, RecordSink, Selection, open_reader
from telemetry.turn import Retrieval, Turn


@dataclass(frozen=True)
class Found:
    detector: str


def make_turn(number: int, chance: random.Random) -> Turn:
    rewrites = chance.choice((0, 0, 0, 1, 2, 3))
    return Turn(
        graph="support_agent",
        version=f"1.{number // 20_000}",
        outcome=chance.choices(("answered", "no_results", "off_topic"), (80, 12, 8))[0],
        reason="chunk_passed",
        classification="relevant",
        confidence="high",
        retrievals=tuple(
            Retrieval(
                attempt=attempt,
                query=f"words of query {chance.random()}",
                chunk_ids=("cancel", "refunds"),
                scores=(chance.random(), chance.random()),
                grades=(chance.random() < 0.5, False),
                similarity=chance.random(),
            )
            for attempt in range(rewrites + 1)
        ),
        rewrites=rewrites,
        max_rewrites=3,
        llm_calls=4 + 3 * rewrites,
        input_tokens=400,
        output_tokens=40,
        trace_id=f"{chance.getrandbits(128):032x}",
        conversation_id=f"thread-{number % 5_000}",
        started_at=time.time() - 100_000 + number,
        duration_seconds=chance.expovariate(2),
    )


def timed(what: Callable[[], object], repeat: int = 15) -> str:
    times = []
    for _ in range(repeat):
        started = time.perf_counter()
        what()
        times.append(1000 * (time.perf_counter() - started))
    return f"{median(times):8.2f} ms median {max(times):8.2f} ms worst"


def write(url: str, turns: int) -> None:
    chance = random.Random(7)
    made = [make_turn(number, chance) for number in range(turns)]
    limits = BatchLimits(capacity=turns + 1, batch_size=500, interval_seconds=0.5)
    sink = RecordSink(url, limits=limits)
    puts = []
    started = time.perf_counter()
    for turn in made:
        found = [Found("synonym_swap")] if turn.rewrites == 2 else []
        before = time.perf_counter()
        sink.put(turn, found)
        puts.append(1e6 * (time.perf_counter() - before))
    sink.flush(600)
    took = time.perf_counter() - started
    sink.close()
    cuts = quantiles(puts, n=100)
    print(f"put: median {median(puts):.1f} us, p99 {cuts[98]:.1f} us")
    print(f"written: {turns / took:,.0f} records/s")


def read(reader: RecordReader) -> None:
    somewhere = reader.list(limit=1000).records[-1].id
    questions: dict[str, Callable[[], object]] = {
        "newest 50": lambda: reader.list(limit=50),
        "50 from the middle": lambda: reader.list(before=somewhere, limit=50),
        "50 of one outcome": lambda: reader.list(Selection(outcome="no_results")),
        "50 of one version": lambda: reader.list(Selection(version="1.0")),
        "50 of one finding": lambda: reader.list(Selection(finding="synonym_swap")),
        "50 of an outcome nobody has": lambda: reader.list(Selection(outcome="gave_up")),
        "50 of a reason nobody has": lambda: reader.list(Selection(reason="nowhere")),
        "one conversation": lambda: reader.list(Selection(conversation_id="thread-77")),
        "one turn": lambda: reader.get(somewhere),
        "count all": reader.count,
        "count one outcome": lambda: reader.count(Selection(outcome="no_results")),
        "sums by version and outcome": lambda: reader.aggregate(["version", "outcome"]),
        "sums by outcome and hour": lambda: reader.aggregate(["outcome"], bucket_seconds=3600),
        "sums by finding": lambda: reader.aggregate(["finding"]),
    }
    for name, question in questions.items():
        print(f"{name:32}{timed(question)}")
    started = time.perf_counter()
    turns = sum(1 for _ in reader.walk())
    print(f"walk over {turns:,} turns: {time.perf_counter() - started:.2f} s")
    started = time.perf_counter()
    reader.columns(["version", "outcome", "duration_seconds"])
    print(f"three columns of all: {time.perf_counter() - started:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=100_000)
    parser.add_argument("--url", default=None)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        url = arguments.url or str(Path(home) / "turns.db")
        write(url, arguments.turns)
        if arguments.url is None:
            print(f"file: {Path(url).stat().st_size / arguments.turns:.0f} bytes a record")
        with open_reader(url) as reader:
            read(reader)


if __name__ == "__main__":
    main()
