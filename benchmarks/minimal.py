"""The least that shows the same: written by hand for the benchmark's graph, with nothing general.

One span a node and a model call with six attributes each, ten counter increments a turn. It knows
its graph, handles no error, no stream and no pause, and is only here to be compared with.
"""

from __future__ import annotations

import copy
import time
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import Runnable
from opentelemetry import trace
from prometheus_client import CollectorRegistry, Counter

COUNTERS = 10


class _Node(Runnable[Any, Any]):
    def __init__(self, inner: Any, name: str, tracer: Any) -> None:
        self.inner, self.name, self.tracer = inner, name, tracer

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        with self.tracer.start_as_current_span(f"node {self.name}") as span:
            started = time.perf_counter()
            output = self.inner.invoke(input, config, **kwargs)
            self._show(span, output, config, started)
            return output

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        with self.tracer.start_as_current_span(f"node {self.name}") as span:
            started = time.perf_counter()
            output = await self.inner.ainvoke(input, config, **kwargs)
            self._show(span, output, config, started)
            return output

    def _show(self, span: Any, output: Any, config: Any, started: float) -> None:
        span.set_attributes(
            {
                "node": self.name,
                "step": config["metadata"]["langgraph_step"],
                "keys": len(output),
                "seconds": time.perf_counter() - started,
                "ids": [c["id"] for c in output.get("chunks", ())],
                "outcome": output.get("outcome") or "",
            }
        )


class _Calls(BaseCallbackHandler):
    run_inline = True
    ignore_chain = True

    def __init__(self, tracer: Any) -> None:
        self.tracer, self.spans = tracer, {}  # type: ignore[var-annotated]

    def on_chat_model_start(self, _: Any, messages: Any, *, run_id: Any, **event: Any) -> None:
        metadata = event["metadata"]
        span = self.tracer.start_span("chat")
        span.set_attributes(
            {
                "operation": "chat",
                "provider": metadata.get("ls_provider", ""),
                "type": metadata.get("ls_model_type", ""),
                "messages": len(messages[0]),
                "node": metadata.get("langgraph_node", ""),
                "step": metadata.get("langgraph_step", 0),
            }
        )
        self.spans[run_id] = span

    def on_llm_end(self, *_: Any, run_id: Any, **__: Any) -> None:
        self.spans.pop(run_id).end()


class Minimal:
    """Runs the graph under a root span and counts ten things a turn."""

    def __init__(self, graph: Any, provider: Any) -> None:
        tracer = trace.get_tracer("minimal", None, provider)
        self.tracer = tracer
        self.graph = copy.copy(graph)
        self.graph.nodes = {
            name: node
            if name.startswith("__")
            else node.copy({"bound": _Node(node.bound, name, tracer)})
            for name, node in graph.nodes.items()
        }
        registry = CollectorRegistry()
        self.counters = [
            Counter(f"minimal_{n}", "One of ten.", registry=registry) for n in range(COUNTERS)
        ]

    def _config(self) -> dict[str, Any]:
        return {"callbacks": [_Calls(self.tracer)]}

    def _count(self) -> None:
        for counter in self.counters:
            counter.inc()

    def invoke(self, given: Any) -> Any:
        with self.tracer.start_as_current_span("turn"):
            result = self.graph.invoke(given, self._config())
        self._count()
        return result

    async def ainvoke(self, given: Any) -> Any:
        with self.tracer.start_as_current_span("turn"):
            result = await self.graph.ainvoke(given, self._config())
        self._count()
        return result


class CountersOnly:
    """Counts ten things a turn and makes no span."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        registry = CollectorRegistry()
        self.counters = [
            Counter(f"only_{n}", "One of ten.", registry=registry) for n in range(COUNTERS)
        ]

    def invoke(self, given: Any) -> Any:
        result = self.graph.invoke(given)
        for counter in self.counters:
            counter.inc()
        return result

    async def ainvoke(self, given: Any) -> Any:
        result = await self.graph.ainvoke(given)
        for counter in self.counters:
            counter.inc()
        return result
