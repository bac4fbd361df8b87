"""What a compiled graph's shape tells: its nodes, what its routers may choose, its longest path."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from langgraph._internal import _config
from langgraph.pregel import Pregel

Graph = Pregel[Any, Any, Any, Any]

DEFAULT_RECURSION_LIMIT: Final[int | None] = getattr(_config, "DEFAULT_RECURSION_LIMIT", None)
"""Supersteps of a run that states no limit: LangGraph leaves the default out of a node's config.
There is no public name for it; None where this one is gone."""
END_NODE: Final = "__end__"
START_NODE: Final = "__start__"
_SHOWN: Final = {END_NODE: "END", START_NODE: "START"}
_MAX_WALKS: Final = 20_000
"""Paths tried before the longest one is given up; small graphs need a few dozen."""


def shown(node: str) -> str:
    """Return a node's name as labels show it: `START` and `END` for LangGraph's own two."""
    return _SHOWN.get(node, node)


def subgraph_of(graph: Graph, node: str) -> Graph | None:
    """Return the graph that is a node of the graph, None for any other node."""
    bound = graph.nodes[node].bound
    return bound if isinstance(bound, Pregel) else None


def node_paths(graph: Graph, prefix: str = "") -> Iterator[str]:
    """Yield the nodes of a graph and, as `outer/inner`, of the graphs that are its nodes."""
    for node in graph.nodes:
        if node == START_NODE:  # the only one that runs nothing of the user's
            continue
        yield f"{prefix}{node}"
        if (inner := subgraph_of(graph, node)) is not None:
            yield from node_paths(inner, f"{prefix}{node}/")


def routes(graph: Graph, prefix: str = "") -> dict[str, tuple[str, ...]]:
    """Return, for each node that a router leaves, what the router says it may choose.

    A router without a path map and without a `Literal` return type says nothing.
    """
    found: dict[str, tuple[str, ...]] = {}
    branches: Mapping[str, Mapping[str, Any]] = getattr(
        getattr(graph, "builder", None), "branches", {}
    )
    for node, specs in branches.items():
        choices = [end for spec in specs.values() for end in (spec.ends or {}).values()]
        found[f"{prefix}{node}" if node != START_NODE else f"{prefix}{shown(node)}"] = tuple(
            dict.fromkeys(shown(choice) for choice in choices)
        )
    for node in graph.nodes:
        if (inner := subgraph_of(graph, node)) is not None:
            found |= routes(inner, f"{prefix}{node}/")
    return found


def steps_needed(graph: Graph, rewriters: Collection[str], budget: int) -> int | None:
    """Return the supersteps of the longest turn that makes `budget` rewrites.

    It is the longest path without a rewrite, plus the longest way round through a rewriter for
    each rewrite. LangGraph needs a recursion limit strictly larger.

    Args:
        graph: A compiled graph.
        rewriters: Nodes that rewrite; each loop passes through one.
        budget: Rewrites allowed a turn, 0 or more.

    Returns:
        None when no rewriter is in a loop, or the graph is too large to be searched.
    """
    after = _edges(graph)
    if not rewriters or not after:
        return None
    walks = _Walks(after)
    straight = walks.longest(START_NODE, END_NODE, without=rewriters)
    rounds = [walks.longest(r, r, without=set(rewriters) - {r}) for r in rewriters]
    if straight is None or None in rounds or walks.is_exhausted:
        return None
    return straight - 1 + budget * max(length for length in rounds if length is not None)


def _edges(graph: Graph) -> dict[str, set[str]]:
    """Return where each node may lead, as its builder was told; empty for a graph without one.

    LangGraph's own drawing is no source: it runs the graph's reducers and may fail.
    """
    builder = getattr(graph, "builder", None)
    after: dict[str, set[str]] = {}
    if builder is None:
        return after
    for source, target in builder.edges:
        after.setdefault(source, set()).add(target)
    for sources, target in builder.waiting_edges:
        for source in sources:
            after.setdefault(source, set()).add(target)
    for source, specs in builder.branches.items():
        for spec in specs.values():
            after.setdefault(source, set()).update((spec.ends or {}).values())
    for source, node in builder.nodes.items():
        after.setdefault(source, set()).update(node.ends or ())
    for source in builder.nodes:
        if not after.get(source):  # nothing follows: the graph ends here
            after[source] = {END_NODE}
    return after


class _Walks:
    """Searches a small graph for longest simple paths, and counts what it tries."""

    def __init__(self, after: Mapping[str, Iterable[str]]) -> None:
        self._after = after
        self._tried = 0

    @property
    def is_exhausted(self) -> bool:
        return self._tried > _MAX_WALKS

    def longest(self, start: str, goal: str, *, without: Collection[str]) -> int | None:
        """Return the edges of the longest simple path, None when there is no path."""
        best: int | None = None
        stack: list[tuple[str, tuple[str, ...]]] = [(start, ())]
        while stack and not self.is_exhausted:
            self._tried += 1
            node, path = stack.pop()
            for following in self._after.get(node, ()):
                if following == goal:
                    best = max(best or 0, len(path) + 1)
                elif following not in path and following not in without and following != node:
                    stack.append((following, (*path, node)))
        return best
