"""Nodes served from LangGraph's node cache: they do not run, so only the cache sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.cache.base import BaseCache, FullKey, Namespace

from telemetry.execution import TURN, Execution, Node
from telemetry.probe import Probe


class WatchedCache(BaseCache[Any]):
    """Passes everything on to a cache, and notes the nodes that it served.

    Args:
        inner: The graph's cache.
        probe: What watches the graph.
    """

    def __init__(self, inner: BaseCache[Any], probe: Probe) -> None:
        self.inner = inner
        self.serde = inner.serde
        self._probe = probe

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, Any]:
        """Return the cached values by key."""
        found = self.inner.get(keys)
        self._note(found)
        return found

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, Any]:
        """Return the cached values by key."""
        found = await self.inner.aget(keys)
        self._note(found)
        return found

    def set(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        """Keep values, each with its time to live in seconds."""
        self.inner.set(pairs)

    async def aset(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        """Keep values, each with its time to live in seconds."""
        await self.inner.aset(pairs)

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Forget the values of the namespaces, or all."""
        self.inner.clear(namespaces)

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Forget the values of the namespaces, or all."""
        await self.inner.aclear(namespaces)

    def _note(self, found: Mapping[FullKey, Any]) -> None:
        """Note each node whose writes came from the cache, with what they say."""
        turn = TURN.get()
        if turn is None or turn.is_closed:
            return
        with self._probe.guard("node"):
            for (namespace, key), writes in found.items():
                name = namespace[-1]
                node = Node(
                    probe=self._probe,
                    path=name,
                    role=self._probe.role(name),
                )
                execution = Execution(turn, node, f"cached:{key}", {})
                execution.is_cached = True
                turn.executions[execution.key] = execution
                turn.book.last_node = name
                execution.returned(dict(writes), {})
