"""The series of what happens inside a turn: node executions, routes and model calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from prometheus_client import Counter, Histogram

from telemetry import names
from telemetry.families import MetricSet
from telemetry.topology import END_NODE, shown

MAX_NODES: Final = 64
"""Distinct values of the label `node` of a graph. Chosen by us; the rest share `other`."""
MAX_MODELS: Final = 8
"""Distinct models of a graph. Chosen by us: a model's name may come from a request."""
MAX_ERROR_TYPES: Final = 8
"""Distinct error types of a graph. Chosen by us."""
OTHER_ERROR: Final = "_OTHER"
"""The convention's word for an error whose type is not told; empty for a call that succeeded."""


END: Final = shown(END_NODE)


class Capped:
    """Lets the first `limit` distinct values through and calls all others `other`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: set[str] = set()

    def __call__(self, value: str) -> str:
        """Return the value, or `other`."""
        if value not in self._known:
            if not value or len(self._known) >= self._limit:
                return names.OTHER
            self._known.add(value)
        return value


class RunMetrics:
    """Counts what the nodes of one graph do.

    Args:
        families: The registry's metric set.
        graph: Value of the label `graph`.
        nodes: Node path -> role, `none` without one.
        routes: Node a router leaves -> what it may choose.
        models: Model names known beforehand, whose series then start at 0.
    """

    def __init__(
        self,
        families: MetricSet,
        *,
        graph: str,
        nodes: Mapping[str, str],
        routes: Mapping[str, Sequence[str]],
        models: Iterable[str] = (),
    ) -> None:
        self._families = families
        self._graph = graph
        self._calling = tuple(r for r in names.CALLING_ROLES if r in nodes.values())
        self._node_name = Capped(MAX_NODES)
        self._error_name = Capped(MAX_ERROR_TYPES)
        self.model_name = Capped(MAX_MODELS)
        self._node_errors: dict[tuple[str, str], Counter] = {}
        self._routes: dict[tuple[str, str], Counter] = {}
        self._llm_calls: dict[tuple[str, str], Counter] = {}
        self._models: set[str] = set()
        declared = {route for choices in routes.values() for route in choices}
        self._known_routes = {*declared, *nodes, *(node.rpartition("/")[2] for node in nodes), END}
        self._calls: dict[tuple[str, str, str], CallMetrics] = {}
        self._durations = {node: self._duration(node, role) for node, role in nodes.items()}
        for node in nodes:
            self._node_error(node, names.OTHER)
        for router, choices in routes.items():
            for route in choices:
                self.route(router, route)
        for model in models:
            self._bind_model(self.model_name(model))

    def node(self, node: str, seconds: float) -> None:
        """Observe one node execution."""
        self._durations[node].observe(seconds)

    def node_error(self, node: str, error_type: str) -> None:
        """Count a node execution that ended in an exception."""
        self._node_error(node, error_type).inc()

    def route(self, router: str, route: str) -> Counter:
        """Return the counter of a router's choice; a choice that is no node is `other`.

        LangGraph ignores such a choice, which may be any text that a router returned.
        """
        key = (router, route if route in self._known_routes else names.OTHER)
        if key not in self._routes:
            family = self._families.counters[names.ROUTES]
            self._routes[key] = family.labels(
                self._graph, self._node_name(router), self._node_name(key[1])
            )
        return self._routes[key]

    def llm_calls(self, role: str, model: str, count: int) -> None:
        """Count model calls made by nodes of the role."""
        key = (role, self.model_name(model))
        if key[1] not in self._models:
            self._models.add(key[1])
            self._bind_model(key[1])
        child = self._llm_calls.get(key)
        if child is None:
            child = self._llm_calls[key] = self._llm_call(*key)
        child.inc(count)

    def call(self, operation: str, provider: str, model: str) -> CallMetrics:
        """Return the series of a kind of model call."""
        key = (operation, provider, self.model_name(model))
        if key not in self._calls:
            self._calls[key] = CallMetrics(self._families, key)
        return self._calls[key]

    def _duration(self, node: str, role: str) -> Histogram:
        family = self._families.histograms[names.NODE_DURATION]
        return family.labels(self._graph, self._node_name(node), role)

    def _node_error(self, node: str, error_type: str) -> Counter:
        key = (node, self._error_name(error_type))
        if key not in self._node_errors:
            family = self._families.counters[names.NODE_ERRORS]
            self._node_errors[key] = family.labels(self._graph, self._node_name(node), key[1])
        return self._node_errors[key]

    def _bind_model(self, model: str) -> None:
        """Make a model's counters for all roles that call models, so that most start at 0."""
        for role in self._calling:
            self._llm_calls[role, model] = self._llm_call(role, model)

    def _llm_call(self, role: str, model: str) -> Counter:
        return self._families.counters[names.LLM_CALLS].labels(self._graph, role, model)


class CallMetrics:
    """The convention's two histograms for one operation, provider and model."""

    def __init__(self, families: MetricSet, call: tuple[str, str, str]) -> None:
        self._families = families
        self._call = call
        # Both from the first call on: an alert on failures needs a 0 to compare with.
        self._durations = {
            error: families.histograms[names.OPERATION_DURATION].labels(*call, error)
            for error in ("", OTHER_ERROR)
        }
        self._tokens: dict[str, Histogram] = {}

    def observe(self, seconds: float, *, is_error: bool = False) -> None:
        """Observe a finished call."""
        self._durations[OTHER_ERROR if is_error else ""].observe(seconds)

    def tokens(self, kind: str, count: int) -> None:
        """Observe the tokens of one call; `kind` is `input` or `output`."""
        child = self._tokens.get(kind)
        if child is None:
            family = self._families.histograms[names.TOKEN_USAGE]
            child = self._tokens[kind] = family.labels(*self._call, kind)
        child.observe(count)
