"""The panels' queries, answered: variables filled in, Prometheus asked, series named."""

from __future__ import annotations

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from dashboards import durations
from dashboards.errors import PrometheusError
from dashboards.render.board import Board, Look, Marks, Panel, Target
from dashboards.render.source import Exemplar, Prometheus, Sampled
from dashboards.render.span import Span

WORKERS: Final = 8
"""Queries under way at once; chosen by us: below the 20 that Prometheus allows by default."""
_SCRAPES_PER_RATE: Final = 4
"""Grafana's own rule: a rate looks back at least four scrapes."""
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")
_PLACE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One series of a panel, named and ready to be drawn."""

    name: str
    ref: str
    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]
    look: Look

    @property
    def last(self) -> float | None:
        """The newest value."""
        return self.points[-1][1] if self.points else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """A panel with what Prometheus said."""

    panel: Panel
    series: tuple[Series, ...] = ()
    exemplars: tuple[Exemplar, ...] = ()
    step: float = 0.0
    """Seconds between two values of a line."""
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One event over time, such as a deploy."""

    time: float
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluator:
    """Asks Prometheus on behalf of a board.

    Args:
        source: Whom to ask.
        span: The time range.
        chosen: Variable -> regular expression that its label must match.
        scrape_seconds: How often the service is scraped.
    """

    source: Prometheus
    span: Span
    chosen: Mapping[str, str]
    scrape_seconds: float

    def panels(self, board: Board) -> list[Evaluated]:
        """Return every panel with its answers, in the board's order."""
        with ThreadPoolExecutor(WORKERS) as pool:
            return list(pool.map(self.panel, board.panels))

    def panel(self, panel: Panel) -> Evaluated:
        """Return a panel with its answers; a query that fails is told on the panel itself."""
        step = self.span.step(durations.seconds(panel.interval) if panel.interval else 0.0)
        series: list[Series] = []
        exemplars: list[Exemplar] = []
        try:
            for target in panel.targets:
                series += self._series(panel, target, step)
                if target.has_exemplars:
                    exemplars += self._exemplars(target, step)
        except PrometheusError as error:
            return Evaluated(panel=panel, error=error.reason)
        return Evaluated(panel=panel, series=tuple(series), exemplars=tuple(exemplars), step=step)

    def marks(self, marks: Marks) -> list[Mark]:
        """Return the events of an annotation query: where one of its series begins."""
        step = self.span.step(durations.seconds(marks.step))
        found = self.source.over_time(
            self.filled(marks.expr, step), self.span.start, self.span.end, step
        )
        return sorted(
            (
                Mark(
                    time=series.points[0][0],
                    title=legend(marks.title, series.labels),
                    text=legend(marks.text, series.labels),
                )
                for series in found
            ),
            key=lambda mark: mark.time,
        )

    def filled(self, expr: str, step: float) -> str:
        """Return an expression with Grafana's variables filled in."""
        rate = max(step + self.scrape_seconds, _SCRAPES_PER_RATE * self.scrape_seconds)
        values = {
            **self.chosen,
            "__rate_interval": durations.text(rate),
            "__interval": durations.text(step),
            "__range": durations.text(self.span.seconds),
        }
        return _VARIABLE.sub(lambda found: values.get(found[1], found[0]), expr)

    def _series(self, panel: Panel, target: Target, step: float) -> list[Series]:
        expr = self.filled(target.expr, step)
        found = (
            self.source.instant(expr, self.span.end)
            if target.is_instant
            else self.source.over_time(expr, self.span.start, self.span.end, step)
        )
        return [self._named(panel, target, sampled) for sampled in found]

    def _named(self, panel: Panel, target: Target, sampled: Sampled) -> Series:
        name = legend(target.legend, sampled.labels) or _all_labels(sampled.labels)
        return Series(
            name=name,
            ref=target.ref,
            labels=sampled.labels,
            points=sampled.points,
            look=panel.look_of(name, target.ref),
        )

    def _exemplars(self, target: Target, step: float) -> list[Exemplar]:
        return self.source.exemplars(self.filled(target.expr, step), self.span.start, self.span.end)


def legend(form: str, labels: Mapping[str, str]) -> str:
    """Return Grafana's legend format with the labels' values."""
    return _PLACE.sub(lambda place: labels.get(place[1], ""), form).strip()


def _all_labels(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in labels.items() if name != "__name__")
