"""Nothing is kept of a turn that is over, however it ended."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from typing import Any

from loop_graphs import line_graph
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from telemetry.testing import Kit

BIG = "x" * 100_000


async def one(graph: Any, n: int) -> None:
    """Run a turn: one of three is finished, one closed early, one cancelled."""
    given = {"question": f"{n}{BIG}", "answer": BIG}
    if n % 3 == 0:
        await graph.ainvoke(given)
    elif n % 3 == 1:
        chunks = graph.astream(given)
        await anext(chunks)
        await chunks.aclose()
    else:
        task = asyncio.create_task(graph.ainvoke(given))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_hundreds_of_turns_leave_nothing_behind() -> None:
    kit = Kit(ALWAYS_OFF)
    kept = kit.records.turns

    async def reply(state: dict[str, Any]) -> dict[str, Any]:
        return {"answer": state["answer"], "reply": state["answer"]}

    graph = kit.watch(line_graph(reply), {"reply": "answer"})
    for n in range(60):
        await one(graph, n)
    kept.clear()
    kit.records.findings.clear()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for n in range(240):
        await one(graph, n)
        kept.clear()
        kit.records.findings.clear()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()

    assert kit.value("rag_open_turns") == 0
    assert kit.value("rag_turns_total") == 300
    assert grown < 2_000_000
