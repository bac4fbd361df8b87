"""What a prober exports of its rounds, on a registry and an address of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from telemetry import names
from telemetry.families import Family, WithoutCreated


class ProbeMetrics:
    """Counts probes; every series is there at 0 before the first one.

    A question has one series for each thing that can come of it, and one gauge.

    Args:
        registry: A fresh one: nothing else belongs beside these.
        questions: Id of each question -> what is expected of it, and all that may come of it.
        clock: Unix time, seconds.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        questions: Mapping[str, tuple[str, Sequence[str]]],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        labels = (names.LABEL_QUESTION_ID, names.LABEL_EXPECTED, names.LABEL_GOT)
        probes = Counter(names.PROBES, "Known questions asked.", labels, registry=None)
        in_a_row = Gauge(
            names.PROBE_UNEXPECTED,
            "Rounds in a row, up to the last one, in which a question came out unlike expected.",
            [names.LABEL_QUESTION_ID],
            registry=None,
        )
        self._duration = Histogram(
            names.PROBE_DURATION,
            "Seconds from a question to its whole reply, or to giving it up.",
            buckets=names.TURN_DURATION_BUCKETS,
            registry=None,
        )
        self._last_round = Gauge(
            names.PROBE_LAST_ROUND,
            "Unix time at which every question had been asked once more; at first that of start.",
            registry=None,
        )
        self.families: dict[str, Family] = {
            names.PROBES: probes,
            names.PROBE_UNEXPECTED: in_a_row,
            names.PROBE_DURATION: self._duration,
            names.PROBE_LAST_ROUND: self._last_round,
        }
        """Name as scraped -> family."""
        self._probes = {
            (id_, got): probes.labels(id_, expected, got)
            for id_, (expected, reachable) in questions.items()
            for got in reachable
        }
        self._in_a_row = {id_: in_a_row.labels(id_) for id_ in questions}
        self._clock = clock
        self.round_ended()
        registry.register(WithoutCreated(list(self.families.values())))

    def asked(self, question_id: str, got: str, seconds: float, in_a_row: int) -> None:
        """Count one probe.

        Args:
            question_id: One of the questions.
            got: What came of it, one of what may.
            seconds: How long it took.
            in_a_row: Rounds in a row in which it came out unlike expected, this one included.
        """
        self._probes[question_id, got].inc()
        self._in_a_row[question_id].set(in_a_row)
        self._duration.observe(seconds)

    def round_ended(self) -> None:
        """Note that every question was asked once more."""
        self._last_round.set(self._clock())
