"""The metric families of the contract, one set a registry, without `_created` series.

Importing this module registers nothing. `metric_set` looks the set of a registry up, so two
instrumented graphs, a reload or a second import of the package share it.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final, Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.values import MutexValue, ValueClass

from telemetry import names
from telemetry.distribution import Distribution

BATCH: Final = 16
"""Turns that may wait to be counted. Chosen by us: counting them takes about a millisecond."""
Family = Counter | Histogram | Gauge
Report = Callable[[], None]
"""Counts one finished turn. Never raises."""

_ATTRIBUTE: Final = "_loopscope_metric_set"
_LOCK: Final = threading.Lock()

_GRAPH: Final = (names.LABEL_GRAPH,)
_VERSIONED: Final = (names.LABEL_GRAPH, names.LABEL_VERSION)
_CALL: Final = (names.LABEL_OPERATION, names.LABEL_PROVIDER, names.LABEL_REQUEST_MODEL)

_COUNTERS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    names.TURNS: (
        "Finished turns: one for each question asked.",
        (*_VERSIONED, names.LABEL_OUTCOME, names.LABEL_RETRIEVED, names.LABEL_LAST_GRADE),
    ),
    names.TOPIC_CHECKS: (
        "Verdicts of the topic check.",
        (*_GRAPH, names.LABEL_CLASSIFICATION, names.LABEL_CONFIDENCE),
    ),
    names.RETRIEVALS: (
        "Retrievals, by what they found.",
        (*_VERSIONED, names.LABEL_RESULT, names.LABEL_ATTEMPT),
    ),
    names.GRADES_GIVEN: (
        "Chunks graded.",
        (*_VERSIONED, names.LABEL_GRADE, names.LABEL_ATTEMPT),
    ),
    names.REWRITES: (
        "Rewrites whose retrieval came back, by what they changed.",
        (*_VERSIONED, names.LABEL_EFFECT, names.LABEL_ATTEMPT),
    ),
    names.LOOP_ENDS_TOTAL: (
        "Turns in which a loop of drafts ran, by how it ended.",
        (*_GRAPH, names.LABEL_LOOP, names.LABEL_END),
    ),
    names.REVISIONS: (
        "Revised drafts that were critiqued, by what the revision did.",
        (*_GRAPH, names.LABEL_LOOP, names.LABEL_EFFECT),
    ),
    names.ANSWERED_AFTER_DRIFT: ("Turns answered although their rewrites had drifted.", _GRAPH),
    names.RECURSION_ERRORS: ("Turns that hit a recursion limit.", _GRAPH),
    names.TERMINAL_CONFLICTS: ("Turns in which nodes of two terminal roles ran.", _GRAPH),
    names.LLM_CALLS: (
        "Model calls, by the role of the node that made them.",
        (*_GRAPH, names.LABEL_ROLE, names.LABEL_MODEL),
    ),
    names.NODE_ERRORS: (
        "Node executions that ended in an exception.",
        (*_GRAPH, names.LABEL_NODE, names.LABEL_ERROR_TYPE),
    ),
    names.ROUTES: (
        "Choices of a router; the router is named after the node it leaves.",
        (*_GRAPH, names.LABEL_ROUTER, names.LABEL_ROUTE),
    ),
    names.JUDGEMENT_FAILURES: (
        "Model replies that could not be used as a judgement.",
        (*_GRAPH, names.LABEL_ROLE, names.LABEL_REASON),
    ),
    names.PROBE_TURNS: ("Turns asked by probes, which no other series counts.", _GRAPH),
    names.FEEDBACK: ("What people said of answers.", (names.LABEL_VERDICT,)),
    names.TELEMETRY_DROPPED: ("Items that telemetry gave up on.", (names.LABEL_SIGNAL,)),
    names.TELEMETRY_ERRORS: ("Failures inside telemetry.", (names.LABEL_WHERE,)),
}
_HISTOGRAMS: Final[dict[str, tuple[str, tuple[str, ...], Sequence[float]]]] = {
    names.REWRITES_PER_TURN: (
        "Rewrites of a turn.",
        (*_GRAPH, names.LABEL_OUTCOME),
        names.REWRITES_BUCKETS,
    ),
    names.CHUNK_SCORE: (
        "Retrieval score of a chunk, by its grade.",
        (*_VERSIONED, names.LABEL_GRADE),
        names.SCORE_BUCKETS,
    ),
    names.REWRITE_SIMILARITY: (
        "Similarity of a rewrite to the standalone question.",
        (*_GRAPH, names.LABEL_ATTEMPT),
        names.SIMILARITY_BUCKETS,
    ),
    names.LLM_CALLS_PER_TURN: (
        "Model calls of a turn.",
        (*_GRAPH, names.LABEL_OUTCOME),
        names.LLM_CALLS_BUCKETS,
    ),
    names.TURN_DURATION: (
        "Wall time of a turn, seconds.",
        (*_GRAPH, names.LABEL_OUTCOME),
        names.TURN_DURATION_BUCKETS,
    ),
    names.NODE_DURATION: (
        "Wall time of one node execution, seconds.",
        (*_GRAPH, names.LABEL_NODE, names.LABEL_ROLE),
        names.NODE_DURATION_BUCKETS,
    ),
    names.TOKEN_USAGE: (
        "Tokens of one model call.",
        (*_CALL, names.LABEL_TOKEN_TYPE),
        names.TOKEN_BUCKETS,
    ),
    names.OPERATION_DURATION: (
        "Wall time of one model call, seconds.",
        (*_CALL, names.LABEL_ERROR_TYPE),
        names.OPERATION_DURATION_BUCKETS,
    ),
}
_Workers = Literal["livesum", "livemin", "livemax"]
_BUILD_LABELS: Final = (
    *_VERSIONED, names.LABEL_INDEX, names.LABEL_PROMPT, names.LABEL_GRADER, names.LABEL_MODEL,
)  # fmt: skip
_GAUGES: Final[dict[str, tuple[str, tuple[str, ...], _Workers]]] = {
    names.OPEN_TURNS: ("Turns that have started and not ended.", _GRAPH, "livesum"),
    names.CONVERSATIONS: ("Conversations kept; workers share them.", _GRAPH, "livemax"),
    names.CONVERSATION_BYTES: ("What conversations take in their store, bytes.", _GRAPH, "livemax"),
    names.RECURSION_LIMIT_GAUGE: ("Supersteps allowed to the latest turn.", _GRAPH, "livemin"),
    names.RECURSION_STEPS_NEEDED: (
        "Supersteps of the longest bounded path; the limit must be larger.",
        _GRAPH,
        "livemax",
    ),
    names.REWRITE_BUDGET: ("Rewrites allowed a turn.", _GRAPH, "livemax"),
    names.BUILD_INFO: ("What is running; always 1.", _BUILD_LABELS, "livemax"),
}
"""Help, labels, and how the workers of one replica add up."""


class MetricSet:
    """All families, built off the registry; the registry sees them through one collector."""

    def __init__(self) -> None:
        self.counters = {
            name: Counter(name, text, labels, registry=None)
            for name, (text, labels) in _COUNTERS.items()
        }
        # Workers of one replica are scraped through files: nobody asks this process first.
        is_alone = ValueClass is MutexValue
        kind = Distribution if is_alone else Histogram
        self.histograms = {
            name: kind(name, text, labels, buckets=buckets, registry=None)
            for name, (text, labels, buckets) in _HISTOGRAMS.items()
        }
        self.gauges = {
            name: Gauge(name, text, labels, registry=None, multiprocess_mode=mode)
            for name, (text, labels, mode) in _GAUGES.items()
        }
        self._pending: deque[Report] = deque()
        self._counting = threading.Lock()
        self._batch = BATCH if is_alone else 1
        self.collector = WithoutCreated(self.all, self.count)
        _SETS.add(self)
        for signal in names.SIGNALS:
            self.counters[names.TELEMETRY_DROPPED].labels(signal)
        for place in names.PLACES:
            self.counters[names.TELEMETRY_ERRORS].labels(place)

    def post(self, report: Report) -> None:
        """Take a report of a finished turn, to be counted soon: at the next scrape at the latest.

        Counting several turns in a row costs a quarter of counting each as it ends, where every
        counter has gone cold in between.

        Whoever is counting takes this report too, and is not waited for: it may be this very
        thread, in which a garbage collection just closed an abandoned stream.
        """
        self._pending.append(report)
        while len(self._pending) >= self._batch and self._counting.acquire(blocking=False):
            try:
                self._count()
            finally:
                self._counting.release()

    def count(self) -> None:
        """Count the reports that wait, so that the families are up to date."""
        with self._counting:
            self._count()

    def _count(self) -> None:
        while self._pending:
            self._pending.popleft()()

    def renew_lock(self) -> None:
        """Forget who was counting: in a forked child, a thread that is not there."""
        self._counting = threading.Lock()

    def dropped(self, signal: str, count: int) -> None:
        """Count items that telemetry gave up on; a `telemetry.losses.Dropped`."""
        self.counters[names.TELEMETRY_DROPPED].labels(signal).inc(count)

    def failed(self, signal: str) -> None:
        """Count a delivery that raised or has to be tried again; a `telemetry.losses.Failed`."""
        place = "record" if signal == "records" else "export"
        self.counters[names.TELEMETRY_ERRORS].labels(place).inc()

    @property
    def all(self) -> list[Family]:
        """Every family."""
        return [*self.counters.values(), *self.histograms.values(), *self.gauges.values()]


_SETS: Final[weakref.WeakSet[MetricSet]] = weakref.WeakSet()


def _renew_locks() -> None:
    for metric_set in list(_SETS):
        metric_set.renew_lock()


if hasattr(os, "register_at_fork"):  # not on every system
    os.register_at_fork(after_in_child=_renew_locks)


class WithoutCreated(Collector):
    """Shows families to a registry, leaving `_created` out.

    The client's own switch for that is global, and a library must not turn it for its host.

    Args:
        families: Built off the registry.
        before: Called before each scrape, to bring them up to date.
    """

    def __init__(
        self, families: Sequence[Family], before: Callable[[], None] = lambda: None
    ) -> None:
        self._families = families
        self._before = before

    def describe(self) -> Iterator[Metric]:
        """Yield the families' names, so that a collision is refused at once."""
        for family in self._families:
            yield from family.describe()

    def collect(self) -> Iterator[Metric]:
        """Yield the families with their samples, up to date."""
        self._before()
        for family in self._families:
            for metric in family.collect():
                metric.samples = [s for s in metric.samples if not s.name.endswith("_created")]
                yield metric


def metric_set(registry: CollectorRegistry) -> MetricSet:
    """Return the registry's metric set, built and registered the first time it is asked for.

    Raises:
        ValueError: Another collector of the registry already has one of the names.
    """
    with _LOCK:
        existing: MetricSet | None = getattr(registry, _ATTRIBUTE, None)
        if existing is None:
            existing = MetricSet()
            registry.register(existing.collector)
            setattr(registry, _ATTRIBUTE, existing)
            return existing
        with suppress(ValueError):  # it is still there; else the host has emptied the registry
            registry.register(existing.collector)
        return existing
