"""Everything a test needs to look at what telemetry saw: no network, no global state, no wait.

kit = Kit()
graph = kit.watch(my_graph, roles={"search": "retrieve", "reply": "answer"})
graph.invoke({"question": "..."})
assert kit.value("rag_turns_total", outcome="answered") == 1
assert kit.tree() == ("invoke_workflow my_graph", [("node search", []), ("node reply", [])])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Sampler
from prometheus_client import CollectorRegistry, generate_latest

from telemetry import names
from telemetry.detectors import Finding
from telemetry.instrumentation import instrument
from telemetry.topology import Graph
from telemetry.turn import Turn

GraphT = TypeVar("GraphT", bound=Graph)
Tree = tuple[str, list["Tree"]]
"""A span's name and the trees of its children, in the order they began."""


class Clock:
    """A clock that stands still until it is moved.

    Args:
        now: Unix time it starts at, seconds.
    """

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the time, seconds."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Move the clock."""
        self.now += seconds


class KeptTurns:
    """A record sink that keeps the finished turns in a list."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.findings: list[tuple[Finding, ...]] = []

    def put(self, turn: Turn, findings: Sequence[Finding] = ()) -> None:
        """Keep a turn."""
        self.turns.append(turn)
        self.findings.append(tuple(findings))


class Kit:
    """A registry, a tracer provider and a record sink of one test's own.

    Args:
        sampler: Decides which turns are recorded; all by default.
        log_events: Set a logger provider, so that events go there and not on spans.
    """

    def __init__(self, sampler: Sampler = ALWAYS_ON, *, log_events: bool = False) -> None:
        self.registry = CollectorRegistry()
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.log_exporter = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]  # the SDK's
        self.logger_provider: LoggerProvider | None = None
        if log_events:
            self.logger_provider = LoggerProvider(shutdown_on_exit=False)
            self.logger_provider.add_log_record_processor(
                SimpleLogRecordProcessor(self.log_exporter)
            )
        self.records = KeptTurns()

    def watch(
        self, graph: GraphT, roles: Mapping[str, str | None] | None = None, **options: Any
    ) -> GraphT:
        """Return the graph instrumented into this kit; `options` go to `instrument`."""
        options = {
            "registry": self.registry,
            "tracer_provider": self.provider,
            "logger_provider": self.logger_provider,
            "records": self.records,
            **options,
        }
        return instrument(graph, roles=roles or {}, **options)

    # -- spans ---------------------------------------------------------------------------------

    @property
    def spans(self) -> list[ReadableSpan]:
        """Every span that has ended, in the order they began."""
        return sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    def named(self, name: str) -> list[ReadableSpan]:
        """Return the spans of a name."""
        return [span for span in self.spans if span.name == name]

    def span(self, name: str) -> ReadableSpan:
        """Return the one span of a name.

        Raises:
            LookupError: There is none, or more than one.
        """
        found = self.named(name)
        if len(found) != 1:
            raise LookupError(
                f"got {len(found)} spans named {name!r}, expected one. "
                f"There are {[span.name for span in self.spans]}."
            )
        return found[0]

    def roots(self) -> list[ReadableSpan]:
        """Return the spans without a parent among the spans."""
        ids = {_id(span) for span in self.spans}
        return [s for s in self.spans if s.parent is None or s.parent.span_id not in ids]

    def tree(self, root: ReadableSpan | None = None) -> Tree:
        """Return the names of a span and all below it; of the only root by default.

        Raises:
            LookupError: No root is given and there is not exactly one.
        """
        if root is None:
            roots = self.roots()
            if len(roots) != 1:
                raise LookupError(f"got {len(roots)} roots, expected one: {roots}")
            root = roots[0]
        below = [s for s in self.spans if s.parent is not None and s.parent.span_id == _id(root)]
        return (root.name, [self.tree(span) for span in below])

    def trace_ids(self) -> set[int]:
        """Return the distinct trace ids."""
        return {span.context.trace_id for span in self.spans if span.context is not None}

    # -- metrics -------------------------------------------------------------------------------

    def value(self, metric: str, **labels: str) -> float:
        """Return the sum of a metric's samples that have the labels; 0 when there are none."""
        return sum(
            sample.value
            for family in self.registry.collect()
            for sample in family.samples
            if sample.name == metric and labels.items() <= sample.labels.items()
        )

    def counted(self, metric: str, *by: str) -> dict[tuple[str, ...], float]:
        """Return what a counter counted by the given labels, without the zeros."""
        counted: dict[tuple[str, ...], float] = {}
        for family in self.registry.collect():
            for sample in family.samples:
                if sample.name == metric and sample.value:
                    key = tuple(sample.labels[label] for label in by)
                    counted[key] = counted.get(key, 0.0) + sample.value
        return counted

    def outcomes(self) -> dict[str, float]:
        """Return the turns counted by outcome, without the zeros."""
        by_outcome = self.counted(names.TURNS, names.LABEL_OUTCOME)
        return {outcome: count for (outcome,), count in by_outcome.items()}

    def series(self) -> list[str]:
        """Return the sample lines of a scrape, each without its value."""
        lines = self.scrape().splitlines()
        return [line.rpartition(" ")[0] for line in lines if not line.startswith("#")]

    def scrape(self) -> str:
        """Return what Prometheus would get."""
        return generate_latest(self.registry).decode()

    # -- turns ---------------------------------------------------------------------------------

    @property
    def turns(self) -> list[Turn]:
        """The finished turns, in the order they ended."""
        return self.records.turns

    @property
    def turn(self) -> Turn:
        """The turn that ended last."""
        return self.records.turns[-1]


def _id(span: ReadableSpan) -> int:
    return span.context.span_id if span.context is not None else 0
