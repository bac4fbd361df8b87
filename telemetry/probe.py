"""Everything that is fixed when a graph is instrumented: the value its wrappers share."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from opentelemetry.trace import SpanContext

from telemetry import names
from telemetry.content import ContentGate
from telemetry.detectors import Finding
from telemetry.events import EventLog
from telemetry.facts import Readers, WrongKindError
from telemetry.families import MetricSet
from telemetry.run_metrics import RunMetrics
from telemetry.turn import Turn
from telemetry.turn_metrics import TurnMetrics
from telemetry.turn_tracer import TurnTracer

if TYPE_CHECKING:
    from telemetry.call_spans import CallKind

logger = logging.getLogger(__name__)

MAX_PAUSED: Final = 1024
"""Paused turns remembered, so that a resumed one can link to its span. Chosen by us."""

Similarity = Callable[[str, str], float | None]
"""(standalone question, rewritten query) -> likeness, 0 to 1 (or a cosine), or None."""
Detector = Callable[[Turn], Finding | None]


class Keeps(Protocol):
    """Tells whether a trace will be kept; `telemetry.export.Export.keeps` is one."""

    def __call__(self, trace_id: int, *, failed: bool) -> bool:
        """Return whether the trace is kept, given whether something in it has failed."""


class Records(Protocol):
    """Takes finished turns. Must not block and must not raise."""

    def put(self, turn: Turn, findings: Sequence[Finding] = ()) -> object:
        """Keep a finished turn and what the detectors found in it."""


@dataclass(slots=True, eq=False, kw_only=True)
class Probe:
    """One instrumented graph's settings, series and sinks."""

    graph: str
    version: str
    tracer: TurnTracer
    events: EventLog
    gate: ContentGate
    readers: Readers
    roles: Mapping[str, str]
    metric_set: MetricSet
    turn_metrics: TurnMetrics
    run_metrics: RunMetrics
    detectors: Sequence[Detector]
    similarity: Similarity | None
    records: Records | None
    keeps: Keeps | None
    """Whether a trace will be kept; None when every sampled one is."""
    makes_call_spans: Callable[[], bool]
    """Whether nobody else makes spans for model calls."""
    steps_needed: Callable[[int], int | None]
    """Rewrite budget -> supersteps of the longest turn."""
    paused: PausedTurns = field(default_factory=lambda: PausedTurns(MAX_PAUSED))
    call_kinds: dict[tuple[Any, ...], CallKind] = field(default_factory=dict)
    """Kinds of model calls seen so far."""
    budget: int | None = None
    """Rewrites allowed a turn, as far as the host told it."""
    max_rewrites: int | None = None
    """The bound seen last, for the gauges."""
    build: Mapping[str, str] = field(default_factory=dict)
    """What the graph was built from, as far as it is known."""
    _said: set[tuple[str, str]] = field(default_factory=set)

    def role(self, node: str) -> str:
        """Return a node's role, `none` without one."""
        return self.roles.get(node, names.NONE)

    def failed(self, place: str, error: BaseException, advice: str | None = None) -> None:
        """Count a failure of telemetry itself, and say each kind once; never its message.

        Args:
            place: What failed.
            error: How.
            advice: What to do, in words of ours and names of the graph; bounded in number.
        """
        self.metric_set.counters[names.TELEMETRY_ERRORS].labels(place).inc()
        name = type(error).__name__
        if isinstance(error, WrongKindError):
            advice = str(error)
        kind = (place, f"{name}: {advice}" if advice else name)
        if kind not in self._said:
            self._said.add(kind)
            logger.warning(
                "telemetry failed in %s of graph %r with %s; the graph is not affected. "
                "Further ones are only counted, in %s.",
                place,
                self.graph,
                kind[1],
                names.TELEMETRY_ERRORS,
            )

    @contextmanager
    def guard(self, place: str) -> Iterator[None]:
        """Run a part of telemetry that must not break the run: its failure is counted."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - telemetry never breaks a run
            self.failed(place, error)

    def bound(self, max_rewrites: int) -> None:
        """Show the rewrite budget, when it is new."""
        if max_rewrites != self.max_rewrites:
            self.max_rewrites = max_rewrites
            self.turn_metrics.loop_bound(max_rewrites, self.steps_needed(max_rewrites))


class PausedTurns:
    """Where the newest paused turns stopped, by thread id; the oldest is forgotten first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._spans: OrderedDict[str, SpanContext] = OrderedDict()

    def put(self, thread_id: str, span: SpanContext) -> None:
        """Remember a paused turn's span."""
        self._spans[thread_id] = span
        while len(self._spans) > self._limit:
            self._spans.popitem(last=False)

    def pop(self, thread_id: str) -> SpanContext | None:
        """Return and forget the span at which a thread was paused."""
        return self._spans.pop(thread_id, None)
