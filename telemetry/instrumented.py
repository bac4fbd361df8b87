"""The graph that `instrument` returns: the caller's class, with each run owned as one turn."""

from __future__ import annotations

import functools
import sys
from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import Any

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.pregel import Pregel

from telemetry.execution import EXHAUSTED, Within, current_turn
from telemetry.probe import Probe
from telemetry.running import RunningTurn
from telemetry.topology import Graph


class TurnOwner(Pregel[Any, Any, Any, Any]):
    """Mixin before a compiled graph's class: every way of running it comes through here.

    `batch`, `astream_events` and the rest are built on these four. `invoke` is built on `stream`,
    but nobody else's code runs between its chunks: so its turn needs only one change of context.
    """

    loopscope_probe: Probe
    loopscope_original: Graph

    def __init__(
        self, *, loopscope_probe: Probe, loopscope_original: Graph, **attributes: Any
    ) -> None:
        super().__init__(**attributes)
        self.loopscope_probe = loopscope_probe
        self.loopscope_original = loopscope_original

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the graph as one turn; within another turn, as a part of that one."""
        if current_turn() is not None:
            return super().invoke(input, config, **kwargs)
        turn = self._begin(input, config)
        error: BaseException | None = None
        try:
            with Within(turn):
                return super().invoke(input, _with_handler(config, turn), **kwargs)
        except BaseException as caught:
            error = caught
            raise
        finally:
            turn.close(error)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the graph as one turn; within another turn, as a part of that one."""
        if current_turn() is not None:
            return await super().ainvoke(input, config, **kwargs)
        turn = self._begin(input, config)
        error: BaseException | None = None
        try:
            with Within(turn):
                return await super().ainvoke(input, _with_handler(config, turn), **kwargs)
        except BaseException as caught:
            error = caught
            raise
        finally:
            turn.close(error)

    def stream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """Run the graph as one turn; within another turn, as a part of that one."""
        if current_turn() is not None:
            yield from super().stream(input, config, **kwargs)
            return
        turn = self._begin(input, config)
        error: BaseException | None = None
        chunks: Any = None
        try:
            chunks = super().stream(input, _with_handler(config, turn), **kwargs)
            while True:
                with Within(turn):
                    chunk = next(chunks, EXHAUSTED)
                if chunk is EXHAUSTED:
                    break
                yield chunk
        except BaseException as caught:
            error = caught
            raise
        finally:
            try:
                if chunks is not None:
                    chunks.close()
            finally:
                turn.close(error)

    async def astream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Run the graph as one turn; within another turn, as a part of that one."""
        if current_turn() is not None:
            async for chunk in super().astream(input, config, **kwargs):
                yield chunk
            return
        turn = self._begin(input, config)
        error: BaseException | None = None
        chunks: Any = None
        try:
            chunks = super().astream(input, _with_handler(config, turn), **kwargs)
            step = _begun(chunks)
            while True:
                with Within(turn):
                    chunk = await step
                if chunk is EXHAUSTED:
                    break
                yield chunk
                step = anext(chunks, EXHAUSTED)
        except BaseException as caught:
            error = caught
            raise
        finally:
            try:
                if chunks is not None:
                    await chunks.aclose()
            finally:
                turn.close(error)

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Any:
        """Draw the original: the wrappers of its nodes are nobody's business."""
        return self.loopscope_original.get_graph(config, xray=xray)

    async def aget_graph(
        self, config: RunnableConfig | None = None, *, xray: int | bool = False
    ) -> Any:
        """Draw the original: the wrappers of its nodes are nobody's business."""
        return await self.loopscope_original.aget_graph(config, xray=xray)

    def _begin(self, given: Any, config: RunnableConfig | None) -> RunningTurn:
        """Begin a turn under the thread id of the call, the graph or whatever runs around it."""
        configurable: dict[str, Any] = {}
        for source in (var_child_runnable_config.get(), self.config, config):
            if source:
                configurable |= source.get("configurable") or {}
        return RunningTurn(self.loopscope_probe, given, {"configurable": configurable})


@functools.cache
def owner_class(base: type[Graph]) -> type[TurnOwner]:
    """Return the class of an instrumented graph for a class of compiled graphs."""
    return type(base.__name__, (TurnOwner, base), {"__module__": base.__module__})


def _begun(chunks: AsyncIterator[Any]) -> Awaitable[Any]:
    """Return the first step of a generator that nobody but its owner closes.

    An event loop that ends closes every generator it knows of, all at once: it must know the
    outer one alone, or both are closed twice and it logs an error.
    """
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(None, None)
    try:
        return anext(chunks, EXHAUSTED)
    finally:
        sys.set_asyncgen_hooks(*hooks)


def _with_handler(config: RunnableConfig | None, turn: RunningTurn) -> RunnableConfig:
    """Return the config with the turn's handler after the caller's own callbacks."""
    callbacks: Any = (config or {}).get("callbacks")
    if isinstance(callbacks, BaseCallbackManager):
        callbacks = callbacks.copy()
        callbacks.add_handler(turn.handler, inherit=True)
    elif callbacks is None or isinstance(callbacks, list | tuple):
        callbacks = [*(callbacks or ()), turn.handler]
    # Anything else is a mistake of the caller's, and LangChain shall say so.
    return {**(config or {}), "callbacks": callbacks}
