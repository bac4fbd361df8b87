"""What other instrumentors add to the same turn, each in a process of its own.

    python benchmarks/peers.py [--processes 5] [--turns 60]

Some peers cannot be removed once they are on: what runs after them in the same process is slower.
So each process times the bare graph first and then the watched one, and the medians are taken over
the processes. Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import graph as bench
from benchmarks import overhead
from benchmarks.graph import QUESTION

PEERS = {
    "openinference": ("openinference.instrumentation.langchain", "LangChainInstrumentor"),
    "traceloop": ("opentelemetry.instrumentation.langchain", "LangchainInstrumentor"),
    "otel genai": ("opentelemetry.instrumentation.genai.langchain", "LangChainInstrumentor"),
}
"""Name -> module and class; each is set up without content."""
OURS = ("minimal", "loopscope", "loopscope, unsampled")


def median_seconds(target: Any, turns: int) -> float:
    """Return the median wall time of a turn, after ten that warm up."""
    given, times = {"question": QUESTION}, []
    for turn in range(turns + 10):
        began = time.perf_counter()
        target.invoke(given)
        if turn >= 10:
            times.append(time.perf_counter() - began)
    return statistics.median(times)


def measure(name: str, turns: int) -> dict[str, float]:
    """Time the bare graph, then the watched one, in this process."""
    found = {variant.name: variant for variant in overhead.variants()}
    bare = median_seconds(found["bare"].target, turns)
    if name in PEERS:
        target, tally = peer(*PEERS[name])
    else:
        target, tally = found[name].target, found[name].tally
    watched = median_seconds(target, turns)
    if tally is not None:
        tally.spans = tally.bytes = 0
        tally.weighing = True
        target.invoke({"question": QUESTION})
    spans, size = (tally.spans, tally.bytes) if tally else (0, 0)
    return {
        "ratio": watched / bare, "added_ms": (watched - bare) * 1e3, "spans": spans, "bytes": size,
    }  # fmt: skip


def peer(module: str, instrumentor: str) -> tuple[Any, overhead.Tally]:
    """Switch a peer on for the rest of the process; return a graph that it watches."""
    made, tally = overhead.provider()
    switch = getattr(importlib.import_module(module), instrumentor)()
    switch.instrument(tracer_provider=made, skip_dep_check=True)
    return bench.build(), tally


def installed() -> list[str]:
    """Return the names of what can be measured here."""
    peers = []
    for name, (module, _) in PEERS.items():
        try:
            if importlib.util.find_spec(module) is not None:
                peers.append(name)
        except ImportError:
            continue
    return [*OURS, *peers]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--processes", type=int, default=5, help="of each instrumentor")
    parser.add_argument("--turns", type=int, default=60, help="timed in each process")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(asked.one, asked.turns)))
        return
    command = [sys.executable, __file__, "--turns", str(asked.turns), "--one"]
    names, rows = installed(), dict[str, list[dict[str, float]]]()
    for _ in range(asked.processes):
        for name in names:
            said = subprocess.run([*command, name], check=True, capture_output=True, text=True)
            rows.setdefault(name, []).append(json.loads(said.stdout.splitlines()[-1]))
    print("{:<22}{:>8}{:>10}{:>7}{:>8}".format("watched by", "ratio", "added ms", "spans", "bytes"))
    for name, found in rows.items():
        middle = {key: statistics.median(row[key] for row in found) for key in found[0]}
        print(
            f"{name:<22}{middle['ratio']:>8.2f}{middle['added_ms']:>10.2f}"
            f"{middle['spans']:>7.0f}{middle['bytes']:>8.0f}"
        )


if __name__ == "__main__":
    main()
