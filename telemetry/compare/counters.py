"""What counters counted, from raw samples: replicas come, restart and go, and nothing is invented.

PromQL's `increase` extrapolates to the ends of its window, misses what a series born in the window
had at its first scrape, and sees a restart only in the series that fell. Here the samples of one
process are read together: a process that restarted begins at 0 in all of its series.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from telemetry import names

Labels: TypeAlias = frozenset[tuple[str, str]]
Target: TypeAlias = tuple[str, str]
"""(job, instance): what Prometheus scrapes."""


@dataclass(frozen=True, slots=True)
class Series:
    """One series."""

    labels: Labels
    """With `__name__`."""

    @classmethod
    def of(cls, labels: Mapping[str, str]) -> Series:
        """Return the series with these labels."""
        return cls(frozenset(labels.items()))

    def __getitem__(self, label: str) -> str:
        return next((value for name, value in self.labels if name == label), "")

    @property
    def target(self) -> Target:
        """The process it is scraped from."""
        return self["job"], self["instance"]


@dataclass(frozen=True, slots=True)
class Gain:
    """What a series counted between two scrapes."""

    series: Series
    at: float
    """Unix time of the second scrape, seconds."""
    amount: float
    build: Series | None
    """`rag_build_info` of the process at that time, the newest when it shows several."""


@dataclass(slots=True)
class Counters:
    """Reads samples in the order of time, slice by slice."""

    _latest: defaultdict[Target, dict[Series, float]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    _builds: dict[Target, frozenset[Series]] = field(default_factory=dict)
    _newest: dict[Target, Series] = field(default_factory=dict)
    _began: float | None = None

    def remember(self, series: Series, value: float) -> None:
        """Note what a series was before the first slice."""
        if series["__name__"] == names.BUILD_INFO:
            self._builds[series.target] = self._builds.get(series.target, frozenset()) | {series}
            self._newest[series.target] = series
        else:
            self._latest[series.target][series] = value
        self._began = -math.inf

    def read(self, samples: Mapping[Series, Sequence[tuple[float, float]]]) -> list[Gain]:
        """Return what was counted.

        The very first scrape of all is where counting begins: what a process had counted before
        anybody looked belongs to no window.
        """
        scrapes: defaultdict[tuple[float, Target], dict[Series, float]] = defaultdict(dict)
        for series, found in samples.items():
            for at, value in found:
                scrapes[at, series.target][series] = value
        gains: list[Gain] = []
        for at, target in sorted(scrapes):
            if self._began is None:
                self._began = at
            gains += self._scrape(at, target, scrapes[at, target])
        return gains

    def _scrape(self, at: float, target: Target, scraped: Mapping[Series, float]) -> list[Gain]:
        latest = self._latest[target]
        builds = frozenset(s for s in scraped if s["__name__"] == names.BUILD_INFO)
        counters = {series: scraped[series] for series in scraped.keys() - builds}
        fell = any(value < latest.get(series, 0.0) for series, value in counters.items())
        if fell or self._is_another_build(target, builds):
            latest.update(dict.fromkeys(latest, 0.0))
        gains = []
        for series, value in counters.items():
            unseen = value if at == self._began else 0.0
            gained = value - latest.get(series, unseen)
            latest[series] = value
            if gained > 0:
                gains.append(Gain(series, at, gained, self._newest.get(target)))
        return gains

    def _is_another_build(self, target: Target, builds: frozenset[Series]) -> bool:
        """Note the builds of a process; True when none is left of those it had."""
        before = self._builds.get(target, frozenset())
        if not builds or builds == before:
            return False
        for series in sorted(builds - before, key=lambda series: sorted(series.labels)):
            self._newest[target] = series
        if self._newest.get(target) not in builds:
            self._newest[target] = min(builds, key=lambda series: sorted(series.labels))
        self._builds[target] = builds
        return bool(before) and not builds & before
