"""What watching a graph costs: the same turn, bare and watched in several ways, interleaved.

    python benchmarks/overhead.py [--turns 300] [--json]
    python benchmarks/overhead.py --memory [--turns 20000]
    python benchmarks/overhead.py --instructions

Each round runs every variant once, in a new order, so that a slow moment of the machine hits all
of them. What is printed are medians over the rounds of (variant / bare of the same round).
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import logging
import random
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON
from prometheus_client import CollectorRegistry

from benchmarks import graph as bench
from benchmarks.instructions import instructions
from benchmarks.minimal import CountersOnly, Minimal
from telemetry.attributes import byte_size
from telemetry.instrumentation import instrument


class Tally(SpanProcessor):
    """Takes spans as an exporter would and keeps only their number and size."""

    def __init__(self) -> None:
        self.spans = 0
        self.bytes = 0
        self.weighing = False

    def on_end(self, span: ReadableSpan) -> None:
        self.spans += 1
        if self.weighing:
            for holder in (span, *span.events):
                for key, value in (holder.attributes or {}).items():
                    self.bytes += len(key) + byte_size(value)  # type: ignore[arg-type]


class Records:
    """Stands for the record sink: takes a turn into a bounded list."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def put(self, turn: Any, findings: Any = ()) -> None:
        self.kept.append((turn, findings))
        if len(self.kept) > 1000:
            self.kept.clear()


@dataclass
class Variant:
    name: str
    target: Any
    tally: Tally | None = None
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def provider(sampler: Any = ALWAYS_ON) -> tuple[TracerProvider, Tally]:
    tally = Tally()
    made = TracerProvider(sampler=sampler)
    made.add_span_processor(tally)
    return made, tally


def similarity(question: str, query: str) -> float:
    """Stand in for the drift model, whose own cost its own benchmark shows."""
    return 0.5 if question != query else 1.0


def watched(graph: Any, sampler: Any = ALWAYS_ON) -> tuple[Any, Tally]:
    made, tally = provider(sampler)
    return (
        instrument(
            graph,
            roles=bench.ROLES,
            registry=CollectorRegistry(),
            tracer_provider=made,
            records=Records(),
            similarity=similarity,
            version="1",
        ),
        tally,
    )


def variants() -> list[Variant]:
    """Return what is compared; other instrumentors have `benchmarks/peers.py`."""
    graph = bench.build()
    made, tally = provider()
    ours, our_tally = watched(graph)
    unsampled, no_tally = watched(graph, ALWAYS_OFF)
    return [
        Variant("bare", graph),
        Variant("counters only", CountersOnly(graph)),
        Variant("minimal", Minimal(graph, made), tally),
        Variant("loopscope", ours, our_tally),
        Variant("loopscope, unsampled", unsampled, no_tally),
    ]


def run(found: list[Variant], turns: int, call: Callable[[Any, Any], Any]) -> None:
    """Time every variant once a round."""
    given = {"question": bench.QUESTION}
    order = random.Random(7)
    for variant in found:
        for _ in range(10):
            call(variant.target, given)
    for _ in range(turns):
        for variant in order.sample(found, len(found)):
            cpu, wall = time.process_time(), time.perf_counter()
            call(variant.target, given)
            variant.wall.append(time.perf_counter() - wall)
            variant.cpu.append(time.process_time() - cpu)


def weigh(variant: Variant, call: Callable[[Any, Any], Any]) -> tuple[int, int]:
    """Return the spans and the attribute bytes of one turn."""
    if variant.tally is None:
        return 0, 0
    variant.tally.spans = variant.tally.bytes = 0
    variant.tally.weighing = True
    call(variant.target, {"question": bench.QUESTION})
    variant.tally.weighing = False
    return variant.tally.spans, variant.tally.bytes


def table(found: list[Variant], call: Callable[[Any, Any], Any]) -> list[dict[str, Any]]:
    bare = found[0]
    minimal = next(v for v in found if v.name == "minimal")

    def ratio(variant: Variant, of: str) -> float:
        own, base = getattr(variant, of), getattr(bare, of)
        return statistics.median(a / b for a, b in zip(own, base, strict=True))

    def added(variant: Variant) -> float:
        return statistics.median(a - b for a, b in zip(variant.wall, bare.wall, strict=True))

    rows = []
    for variant in found:
        spans, size = weigh(variant, call)
        rows.append(
            {
                "variant": variant.name,
                "wall_ms": statistics.median(variant.wall) * 1e3,
                "wall_ratio": ratio(variant, "wall"),
                "cpu_ratio": ratio(variant, "cpu"),
                "added_ms": added(variant) * 1e3,
                "of_minimal": added(variant) / added(minimal),
                "p99_over_median": statistics.quantiles(variant.wall, n=100)[98]
                / statistics.median(variant.wall),
                "spans": spans,
                "attribute_bytes": size,
            }
        )
    return rows


def show(title: str, rows: list[dict[str, Any]]) -> None:
    print(f"\n{title}")
    head = (
        "variant",
        "wall ms",
        "ratio",
        "cpu",
        "added ms",
        "x minimal",
        "p99/p50",
        "spans",
        "bytes",
    )
    print("{:<22}{:>9}{:>8}{:>8}{:>10}{:>11}{:>9}{:>7}{:>8}".format(*head))
    for row in rows:
        print(
            "{variant:<22}{wall_ms:>9.2f}{wall_ratio:>8.3f}{cpu_ratio:>8.3f}{added_ms:>10.3f}"
            "{of_minimal:>11.2f}{p99_over_median:>9.2f}{spans:>7}{attribute_bytes:>8}".format(**row)
        )


def measure(turns: int) -> dict[str, list[dict[str, Any]]]:
    """Return the tables of the sync and the async way."""

    def sync_call(target: Any, given: Any) -> Any:
        return target.invoke(given)

    loop = asyncio.new_event_loop()

    def async_call(target: Any, given: Any) -> Any:
        return loop.run_until_complete(target.ainvoke(given))

    tables = {}
    for way, call in (("sync", sync_call), ("async", async_call)):
        found = variants()
        run(found, turns, call)
        tables[way] = table(found, call)
    loop.close()
    return tables


def executed() -> dict[str, float]:
    """Return the instructions of one turn by variant, as multiples of the bare graph's."""
    given = {"question": bench.QUESTION}
    counts = {
        variant.name: instructions(lambda variant=variant: variant.target.invoke(given))  # type: ignore[misc]
        for variant in variants()
        if variant.name in ("bare", "minimal", "loopscope", "loopscope, unsampled")
    }
    return {name: count / counts["bare"] for name, count in counts.items()}


def memory(turns: int) -> dict[str, float]:
    """Run turns of which a third is abandoned mid-stream; return the growth in MB."""
    graph, _ = watched(bench.build("x" * 4096))
    given = {"question": bench.QUESTION}
    books = graph.loopscope_probe.metric_set
    gauge = books.gauges["rag_open_turns"].labels("bench_agent")
    sizes = []
    for turn in range(turns):
        if turn % 3 == 2:
            for _ in graph.stream(given):
                break
        else:
            graph.invoke(given)
        if turn == turns // 10 or turn == turns - 1:
            gc.collect()
            sizes.append(_rss())
    books.count()
    return {"first_mb": sizes[0], "last_mb": sizes[1], "open_turns": gauge._value.get()}


def _rss() -> float:
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize() / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=None, help="rounds, or turns with --memory")
    parser.add_argument("--memory", action="store_true", help="measure memory instead of time")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--instructions", action="store_true", help="count instead of time")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    trace.get_tracer_provider()
    if options.memory:
        grown = memory(options.turns or 20_000)
        print(json.dumps(grown))
        return
    if options.instructions:
        print(json.dumps(executed()))
        return
    tables = measure(options.turns or 300)
    if options.json:
        print(json.dumps(tables))
        return
    for way, rows in tables.items():
        show(f"{way}: one turn, 3 retrievals, 9 model calls, 11 node executions", rows)


if __name__ == "__main__":
    main()
