"""The wrapper of a node: a thin Runnable around what the node runs, put into a copy of the graph.

The node's span is current while the node's own code runs, and only then. Nothing is attached
across a `yield`: a context that is set in one task and reset in another is how traces get mixed.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.pregel.protocol import PregelProtocol
from opentelemetry import context as otel

from telemetry.execution import EXHAUSTED, TURN, Execution, Node
from telemetry.probe import Probe
from telemetry.routing import CountedRouter
from telemetry.topology import DEFAULT_RECURSION_LIMIT, START_NODE, Graph, shown, subgraph_of


class Watched(Runnable[Any, Any]):
    """A node's code, or one step of it, that is watched while it runs.

    Args:
        inner: What runs.
        node: The node it belongs to.
        is_first: It is the first step of the node.
        is_last: It is the last step; what it returns is the node's update.
    """

    def __init__(
        self,
        inner: Runnable[Any, Any],
        node: Node,
        *,
        is_first: bool = True,
        is_last: bool = True,
    ) -> None:
        self.inner = inner
        self.name = getattr(inner, "name", None)
        self._node = node
        self._is_first = is_first
        self._is_last = is_last
        self._is_simple = is_first and is_last and not (node.may_retry or node.may_time_out)
        func = getattr(inner, "func", None)
        if func is not None:  # LangGraph names a cached node after its function
            self.__qualname__ = getattr(func, "__qualname__", None)
            self.__module__ = getattr(func, "__module__", self.__module__)

    def __getattr__(self, name: str) -> Any:
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the node's code under its span."""
        execution = self._enter(input, config)
        if execution is None:
            return self.inner.invoke(input, config, **kwargs)
        context = execution.context
        token = otel.attach(context) if context is not None else None
        try:
            output = self.inner.invoke(input, config, **kwargs)
        except BaseException as error:
            if token is not None:
                otel.detach(token)
            execution.raised(error, input)
            raise
        if token is not None:
            otel.detach(token)
        if self._is_last:
            execution.returned(output, input if self._is_first else execution.given)
        return output

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the node's code under its span."""
        execution = self._enter(input, config)
        if execution is None:
            return await self.inner.ainvoke(input, config, **kwargs)
        context = execution.context
        token = otel.attach(context) if context is not None else None
        try:
            output = await self.inner.ainvoke(input, config, **kwargs)
        except BaseException as error:
            # After GeneratorExit the context is left already, there is nothing to reset.
            if token is not None and not isinstance(error, GeneratorExit):
                otel.detach(token)
            execution.raised(error, input)
            raise
        if token is not None:
            otel.detach(token)
        if self._is_last:
            execution.returned(output, input if self._is_first else execution.given)
        return output

    def stream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """Run the node's code under its span, chunk by chunk."""
        execution = self._enter(input, config)
        chunks = self.inner.stream(input, config, **kwargs)
        if execution is None:
            yield from chunks
            return
        output: Any = None
        context = execution.context or otel.get_current()
        try:
            while True:
                token = otel.attach(context)
                try:
                    chunk = next(chunks, EXHAUSTED)
                finally:
                    otel.detach(token)
                if chunk is EXHAUSTED:
                    break
                output = _added(output, chunk)
                yield chunk
        except BaseException as error:
            execution.raised(error, input)
            raise
        if self._is_last:
            execution.returned(output, input if self._is_first else execution.given)

    async def astream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Run the node's code under its span, chunk by chunk."""
        execution = self._enter(input, config)
        chunks = self.inner.astream(input, config, **kwargs)
        if execution is None:
            async for chunk in chunks:
                yield chunk
            return
        output: Any = None
        context = execution.context or otel.get_current()
        try:
            while True:
                token = otel.attach(context)
                try:
                    chunk = await anext(chunks, EXHAUSTED)
                finally:
                    otel.detach(token)
                if chunk is EXHAUSTED:
                    break
                output = _added(output, chunk)
                yield chunk
        except BaseException as error:
            execution.raised(error, input)
            raise
        if self._is_last:
            execution.returned(output, input if self._is_first else execution.given)

    def _enter(self, given: Any, config: RunnableConfig | None) -> Execution | None:
        """Return the execution that begins or goes on here; None outside a turn."""
        turn = TURN.get()
        if turn is None or turn.is_closed or config is None:
            return None
        node = self._node
        try:
            key = config["configurable"]["checkpoint_ns"]
            known = None if self._is_simple else turn.executions.get(key)
            if known is not None:
                if self._is_first:
                    known.begin_again()
                return known
            if not self._is_first:
                return None
            execution = Execution(turn, node, key, config["metadata"])
            turn.executions[key] = execution
            turn.book.last_node = node.path
            if turn.book.recursion_limit is None:  # the first node knows what is in effect
                limit = config.get("recursion_limit", DEFAULT_RECURSION_LIMIT)
                turn.book.recursion_limit = limit
            if not self._is_last:
                execution.given = given
        except Exception as error:  # noqa: BLE001 - telemetry never breaks a run
            node.probe.failed("node", error)
            return None
        return execution


def watched_nodes(graph: Graph, probe: Probe, prefix: str = "") -> dict[str, Any]:
    """Return copies of a graph's nodes that are watched; the graph itself stays as it is.

    Args:
        graph: A compiled graph.
        probe: What watches it.
        prefix: Path of the graph, `outer/` for one that is the node `outer`.
    """
    copies: dict[str, Any] = {}
    for name, node in graph.nodes.items():
        path = f"{prefix}{name}"
        changes: dict[str, Any] = {
            "writers": [
                _counted(writer, probe, f"{prefix}{shown(name)}") for writer in node.writers
            ]
        }
        if name != START_NODE:
            changes["bound"] = _watched(graph, name, probe, path)
        copies[name] = node.copy(changes)
    return copies


def _watched(graph: Graph, name: str, probe: Probe, path: str) -> Runnable[Any, Any]:
    node = graph.nodes[name]
    facts = Node(
        probe=probe,
        path=path,
        role=probe.role(path),
        may_retry=bool(node.retry_policy or graph.retry_policy),
        may_time_out=node.timeout is not None,
    )
    inner = subgraph_of(graph, name)
    if inner is not None and not hasattr(inner, "loopscope_probe"):
        watched = copy.copy(inner)
        watched.nodes = watched_nodes(inner, probe, f"{path}/")
        return Watched(watched, facts)
    steps = getattr(node.bound, "steps", None)
    if not isinstance(steps, Sequence) or isinstance(node.bound, PregelProtocol):
        return Watched(node.bound, facts)
    # LangGraph takes a sequence apart and runs its steps as the node's own; so each is wrapped.
    last = len(steps) - 1
    wrapped = [
        Watched(step, facts, is_first=i == 0, is_last=i == last) for i, step in enumerate(steps)
    ]
    rebuild: Any = type(node.bound)
    return cast("Runnable[Any, Any]", rebuild(*wrapped, name=node.bound.name))


def _counted(writer: Any, probe: Probe, router: str) -> Any:
    """Return a writer of a node whose choices are counted, when it is a router's."""
    write = getattr(writer, "kwargs", {}).get("writer")
    if write is None:
        return writer
    counted = copy.copy(writer)
    counted.kwargs = {**writer.kwargs, "writer": CountedRouter(write, probe, router)}
    return counted


def _added(output: Any, chunk: Any) -> Any:
    """Return the chunks of a stream added up as LangChain does it; the last where they cannot."""
    if output is None:
        return chunk
    try:
        return output + chunk
    except TypeError:
        return chunk
