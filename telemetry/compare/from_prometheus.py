"""Both sides from Prometheus: raw samples of the counters, summed by us."""

from __future__ import annotations

import json
import math
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from telemetry import names
from telemetry.compare.change import Change, last_change, later
from telemetry.compare.comparison import Comparison, compare
from telemetry.compare.counted import METRICS, measure
from telemetry.compare.counters import Counters, Gain, Series
from telemetry.compare.measures import Measure
from telemetry.compare.prometheus_replies import Found, instant, labels_of_series
from telemetry.compare.side import Side
from telemetry.compare.window import LABELS, Window, around
from telemetry.errors import CompareInputError, NoChangeError
from telemetry.prometheus_api import Prometheus
from telemetry.records.marks import Mark

SLICE_SECONDS: Final = 600.0
"""Samples fetched at once; chosen by us: 20 replicas scraped each 15 s are then about 3 MB."""
LOOK_BACK: Final = "1d"
"""How long before a window a series may have been scraped last and still be known."""

_PATTERN: Final = "|".join((*METRICS, names.BUILD_INFO))

Samples = dict[Series, list[tuple[float, float]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusSource:
    """The series of one graph of one job."""

    server: Prometheus
    graph: str
    job: str

    @classmethod
    def of(
        cls,
        server: Prometheus,
        graph: str | None,
        job: str | None,
        since: float,
        until: float,
    ) -> PrometheusSource:
        """Return the source; graph and job need not be named when there is only one.

        Raises:
            CompareInputError: There are several, or none of that name.
            FetchError: Prometheus does not answer.
        """
        known = labels_of_series(server, names.BUILD_INFO, since, until)
        picked = {
            "graph": _only("--graph", graph, {found.get("graph", "") for found in known}),
            "job": _only("--job", job, {found.get("job", "") for found in known}),
        }
        return cls(server=server, **picked)

    def builds(self, since: float, until: float) -> Samples:
        """Return the raw samples of `rag_build_info`."""
        samples: Samples = defaultdict(list)
        for start, end in slices(since, until):
            for series, found in self._raw(names.BUILD_INFO, start, end).items():
                samples[series] += found
        return samples

    def gains(self, since: float, until: float) -> Iterator[Gain]:
        """Yield everything counted after `since` and up to `until`."""
        counters = self.counters(since)
        for start, end in slices(since, until):
            yield from self.read(counters, start, end)

    def counters(self, since: float) -> Counters:
        """Return counters that know what every series was at a moment."""
        counters = Counters()
        for found in self.query(f"last_over_time({self.selector(_PATTERN)}[{LOOK_BACK}])", since):
            counters.remember(Series.of(found.labels), found.points[-1][1])
        return counters

    def read(self, counters: Counters, start: float, end: float) -> list[Gain]:
        """Return everything counted after `start` and up to `end`; slices come in order."""
        return counters.read(self._raw(_PATTERN, start, end))

    def _raw(self, pattern: str, start: float, end: float) -> Samples:
        """Return samples after `start` and up to `end`; Prometheus 2 and 3 differ at the start."""
        length = math.ceil(1000 * (end - start))
        found = self.query(f"{self.selector(pattern)}[{length}ms]", end)
        return {
            Series.of(one.labels): [(at, value) for at, value in one.points if start < at <= end]
            for one in found
        }

    def selector(self, pattern: str) -> str:
        """Return the PromQL selector of the graph's series whose names match the pattern."""
        graph, job = json.dumps(self.graph), json.dumps(self.job)
        return f'{{__name__=~"{pattern}",graph={graph},job={job}}}'

    def query(self, expression: str, at: float) -> list[Found]:
        """Return what an instant query gives."""
        return instant(self.server, expression, at)


def compare_prometheus(
    server: Prometheus,
    sides: tuple[Window, Window] | None,
    *,
    graph: str | None,
    job: str | None,
    margins: tuple[float, float],
    measures: Sequence[Measure],
    marks: Sequence[Mark] = (),
) -> Comparison:
    """Compare two sides of what Prometheus holds.

    Args:
        server: Who is asked.
        sides: Which turns; None for around the last change.
        graph: Which graph; None for the only one.
        job: Which job; None for the only one.
        margins: Guard, and longest side when the time is open, in seconds.
        measures: What to compare.
        marks: What people marked, oldest first; the last one counts as a change when the build
            changed no later.

    Raises:
        CompareInputError: A label has a value that is not there.
        NoChangeError: There is one build only.
        FetchError: Prometheus does not answer.
    """
    guard, length = margins
    now = time.time()
    since, until = _hull(sides, now, length)
    source = PrometheusSource.of(server, graph, job, since, until)
    change = None
    if sides is None or any(side.labels for side in sides):
        builds = source.builds(since, until)
        if sides is None:
            change = _last(builds, [mark for mark in marks if since <= mark.at <= until])
            sides = around(change, guard, length, now)
            since, until = _hull(sides, now, length)
        for name, side in zip(("before", "after"), sides, strict=True):
            _require(name, side, builds)
    gains = list(source.gains(since, until))
    before, after = (
        _side(name, window, gains) for name, window in zip(("before", "after"), sides, strict=True)
    )
    return compare(before, after, change=change, measures=measures)


def _side(name: str, window: Window, gains: Sequence[Gain]) -> Side:
    meant = [gain for gain in gains if is_meant(gain, window)]
    turns, measured = measure(meant)
    times = [gain.at for gain in meant if gain.series["__name__"] == names.TURNS]
    return Side(
        name=name,
        about=window.told(),
        turns=turns,
        first=min(times, default=None),
        last=max(times, default=None),
        measured=measured,
        labels={
            label: tuple(sorted({gain.build[label] for gain in meant if gain.build}))
            for label in LABELS
        },
    )


def is_meant(gain: Gain, window: Window) -> bool:
    """Return whether a gain falls into a window; a build's labels are those of its process."""
    if not window.since < gain.at <= window.until:
        return False
    for label, value in window.labels.items():
        own = gain.series[label] if label == names.LABEL_VERSION else ""
        if (own or (gain.build[label] if gain.build else "")) != value:
            return False
    return True


def _hull(sides: tuple[Window, Window] | None, now: float, length: float) -> tuple[float, float]:
    """Return the time that holds both sides; what is open begins `length` before now."""
    if sides is None:
        return now - 2 * length, now
    starts = [side.since if math.isfinite(side.since) else now - length for side in sides]
    ends = [min(side.until, now) for side in sides]
    return min(starts), max(ends)


def _last(builds: Samples, marks: Sequence[Mark]) -> Change:
    """Return the last change of the build or the last mark, whichever is later."""
    try:
        change = later(last_build(builds), marks)
    except NoChangeError:
        change = later(None, marks)
        if change is None:
            raise
    assert change is not None
    return change


def last_build(builds: Mapping[Series, Sequence[tuple[float, float]]]) -> Change:
    """Return the last change of the build; each sample of `rag_build_info` counts as a turn does.

    Raises:
        NoChangeError: There is one build only, or all of them were there from the beginning.
    """
    seen = sorted(
        (at, tuple(series[label] for label in LABELS))
        for series, samples in builds.items()
        for at, _ in samples
    )
    second_round = min((found[1][0] for found in builds.values() if len(found) > 1), default=0.0)
    change = last_change(seen)
    if change is None or change.at < second_round:
        told = " and ".join(sorted({", ".join(build) for _, build in seen})) or "nothing"
        raise NoChangeError(told, "the beginning of the window")
    return change


def _require(side: str, window: Window, builds: Mapping[Series, object]) -> None:
    for label, value in window.labels.items():
        known = sorted({series[label] for series in builds})
        if value not in known:
            raise CompareInputError(
                f"--{side} {label}", value, f"one of {known[:20]}", "Name a value that is there, "
                "or a longer --window."
            )  # fmt: skip


def _only(option: str, wanted: str | None, known: set[str]) -> str:
    if wanted is None and len(known) == 1:
        return known.pop()
    if wanted is None or wanted not in known:
        told = f"one of {sorted(known)[:20]}" if known else "a job that exports rag_build_info"
        raise CompareInputError(option, wanted, told, "Name one, or check the address and window.")
    return wanted


def slices(since: float, until: float) -> Iterator[tuple[float, float]]:
    """Yield the parts of a time that are fetched at once, in order."""
    start = since
    while start < until:
        yield start, min(start + SLICE_SECONDS, until)
        start += SLICE_SECONDS
