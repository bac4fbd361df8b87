"""What serving costs: `loopscope serve` against the least that answers the same questions.

    python benchmarks/service.py [--rounds 7] [--seconds 2] [--json]
    python benchmarks/service.py --memory [--turns 100000]

The opponent is one FastAPI path around the same graph, uninstrumented and without memory, records,
limits, time limit or callers. Both run in a process of their own with one worker and the golden
model, and are asked the five golden questions in turn over kept-alive connections. Rounds of the
two alternate, so that a slow moment of the machine hits both; what is printed are medians.
Throughput is what a client counts; processor time is what the server's process used, which a busy
machine changes less.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

CONNECTIONS = 8
"""Kept busy at once when capacity is measured."""
SHARE_OF_CAPACITY = 0.8
EXIT_SECONDS = 120
"""Patience with a server on a busy machine."""
TICKS = os.sysconf("SC_CLK_TCK")
PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 1e6


def questions() -> list[bytes]:
    """Return the bodies that are sent in turn."""
    from agent.golden import GOLDEN_FILE, load_golden
    from agent.retrieval.corpus import HANDBOOK, read_corpus

    known = {chunk.id for chunk in read_corpus(HANDBOOK).chunks}
    golden = load_golden(GOLDEN_FILE, known).questions
    return [json.dumps({"question": entry.question}).encode() for entry in golden]


class Server:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = process
        self.port = port

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def rss_mb(self) -> float:
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * PAGE_MB


@contextmanager
def started(*command: str) -> Iterator[Server]:
    """Start a server that prints its address as the last word of its first line."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("LOOPSCOPE_", "OTEL_"))},
            "PYTHONPATH": str(ROOT),
        }
        process = subprocess.Popen(
            [sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, cwd=folder, env=environment,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[-1]
            yield Server(process, int(address.rpartition(":")[2]))
        finally:
            process.terminate()
            process.wait(EXIT_SECONDS)


def ours() -> Any:
    serve = "from agent.cli import main; main()"
    return started("-c", serve, "serve", "--port", "0", "--model", "golden")


def bare() -> Any:
    return started(str(Path(__file__).resolve()), "--serve-bare")


def serve_bare() -> None:
    """Serve the least: one path, the bare graph."""
    import uvicorn
    from fastapi import FastAPI
    from pydantic import BaseModel

    from agent.compose import Composition
    from agent.context import AgentContext
    from agent.graph import build_graph
    from agent.models.support import SupportModel
    from agent.server import address, listen
    from agent.settings import Settings

    settings = Settings(model="golden")
    composition = Composition(settings)
    parts = composition.parts(settings)
    context = AgentContext(
        model=SupportModel(parts.chat), retriever=parts.retriever, max_rewrites=2
    )
    graph, app = build_graph(), FastAPI()

    class Question(BaseModel):
        question: str

    async def ask(asked: Question) -> dict[str, Any]:
        state = await graph.ainvoke({"question": asked.question}, context=context)
        return {key: state[key] for key in ("question", "outcome", "reason", "reply", "citations")}

    ask.__annotations__["asked"] = Question
    app.post("/ask")(ask)
    with listen("127.0.0.1", 0) as listening:
        print(address(listening), flush=True)
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))
        asyncio.run(server.serve(sockets=[listening]))


class Connection:
    """One kept-alive connection; the smallest client, so that the server is what is measured."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer = reader, writer

    async def ask(self, body: bytes) -> float:
        """Ask once and return the seconds it took."""
        began = time.perf_counter()
        self.writer.write(
            b"POST /ask HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        )
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        assert head.startswith(b"http/1.1 200"), head
        size = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await self._reader.readexactly(size)
        return time.perf_counter() - began


@asynccontextmanager
async def connections(port: int, count: int) -> AsyncIterator[list[Connection]]:
    opened = [Connection(*await asyncio.open_connection("127.0.0.1", port)) for _ in range(count)]
    try:
        yield opened
    finally:
        for connection in opened:
            connection.writer.close()


async def closed_loop(server: Server, bodies: list[bytes], seconds: float) -> tuple[float, float]:
    """Keep every connection busy; return (questions a second, processor ms a question)."""
    count = 0

    async def client(connection: Connection, number: int) -> None:
        nonlocal count
        while time.perf_counter() < end:
            await connection.ask(bodies[(number := number + 1) % len(bodies)])
            count += 1

    async with connections(server.port, CONNECTIONS) as opened:
        cpu, began = server.cpu_seconds(), time.perf_counter()
        end = began + seconds
        await asyncio.gather(*(client(c, number) for number, c in enumerate(opened)))
        took = time.perf_counter() - began
    return count / took, (server.cpu_seconds() - cpu) * 1e3 / count


async def open_loop(
    server: Server, bodies: list[bytes], rate: float, seconds: float
) -> list[float]:
    """Ask at an even rate, whatever is still under way; return the latencies, sorted.

    A latency counts from when a question was due, so that a pause of the server is not hidden.
    """
    took: list[float] = []
    async with connections(server.port, 64) as free:

        async def one(due: float, body: bytes) -> None:
            while not free:
                await asyncio.sleep(0.001)
            connection = free.pop()
            await connection.ask(body)
            took.append(time.perf_counter() - due)
            free.append(connection)

        tasks: list[asyncio.Task[None]] = []
        due, end = time.perf_counter(), time.perf_counter() + seconds
        opened = list(free)
        while (due := due + 1 / rate) < end:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            tasks.append(asyncio.create_task(one(due, bodies[len(tasks) % len(bodies)])))
        await asyncio.gather(*tasks)
        free[:] = opened
    return sorted(took)


def tail(
    server: Server, bodies: list[bytes], rates: list[tuple[float, float]], seconds: float
) -> list[float]:
    """Return the latencies at a share of a server's capacity: of three rounds the quietest."""
    rate = statistics.median(rate for rate, _ in rates) * SHARE_OF_CAPACITY
    rounds = [asyncio.run(open_loop(server, bodies, rate, seconds)) for _ in range(3)]
    return min(rounds, key=at_99)


def at_99(took: list[float]) -> float:
    """Return the 99th percentile of sorted latencies."""
    return took[-max(1, len(took) // 100)]


def measure(rounds: int, seconds: float) -> dict[str, Any]:
    """Return throughput of both, their ratio, and latencies at a share of our capacity."""
    bodies = questions()
    found: dict[str, list[tuple[float, float]]] = {"bare": [], "ours": []}
    with bare() as opponent, ours() as service:
        for server in (opponent, service):
            asyncio.run(closed_loop(server, bodies, seconds))  # warm
        for number in range(rounds):
            pair = [("bare", opponent), ("ours", service)]
            for name, server in pair if number % 2 else pair[::-1]:
                found[name].append(asyncio.run(closed_loop(server, bodies, seconds)))
        tails = {name: tail(server, bodies, found[name], 3 * seconds)
                 for name, server in (("bare", opponent), ("ours", service))}  # fmt: skip
    pairs = list(zip(found["ours"], found["bare"], strict=True))
    latencies = tails["ours"]
    middle, p99 = statistics.median(latencies), at_99(latencies)
    return {
        "bare_per_second": statistics.median(rate for rate, _ in found["bare"]),
        "ours_per_second": statistics.median(rate for rate, _ in found["ours"]),
        "throughput_ratio": statistics.median(a[0] / b[0] for a, b in pairs),
        "bare_cpu_ms": statistics.median(cpu for _, cpu in found["bare"]),
        "ours_cpu_ms": statistics.median(cpu for _, cpu in found["ours"]),
        "cpu_ratio": statistics.median(b[1] / a[1] for a, b in pairs),
        "median_ms": middle * 1e3,
        "p99_ms": p99 * 1e3,
        "p99_over_median": p99 / middle,
        "bare_p99_over_median": at_99(tails["bare"]) / statistics.median(tails["bare"]),
        "questions": len(latencies),
        "load": os.getloadavg()[0],
    }


def memory(turns: int) -> dict[str, float]:
    """Ask so often; return the server's memory after a tenth of the turns, half, and all."""
    bodies = questions()
    sizes = {}

    async def client(connection: Connection, number: int, count: int) -> None:
        for turn in range(count):
            await connection.ask(bodies[(number + turn) % len(bodies)])

    async def ask(port: int, count: int) -> None:
        async with connections(port, CONNECTIONS) as opened:
            each = count // CONNECTIONS
            await asyncio.gather(*(client(c, n, each) for n, c in enumerate(opened)))

    with ours() as service:
        done = 0
        for share in (0.1, 0.5, 1.0):
            asyncio.run(ask(service.port, int(turns * share) - done))
            done = int(turns * share)
            sizes[f"mb_after_{done}"] = service.rss_mb()
    return sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--turns", type=int, default=100_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve-bare", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve_bare:
        serve_bare()
        return
    found = memory(given.turns) if given.memory else measure(given.rounds, given.seconds)
    if given.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        print(f"{name:<20}{value:>12.3f}")


if __name__ == "__main__":
    main()
