"""PromQL of the panels: the service's series under the board's variables, and the usual forms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from dashboards.settings import Settings
from dashboards.signals import WITHOUT_GRAPH, series
from telemetry import names

RATE: Final = "$__rate_interval"
"""Range of a rate: what Grafana deems long enough for the panel's step and the scrape interval."""
RANGE: Final = "$__range"
"""The whole time range that the board shows."""
RULE_GROUPS: Final = 'rule_group=~".*;rag_.*"'
"""Matcher of Prometheus' own metrics on our rule groups; the label is `file;group`."""
_PARTS: Final = ("_bucket", "_count", "_sum")


@dataclass(frozen=True, slots=True, kw_only=True)
class Queries:
    """PromQL with the board's variables in every selector."""

    settings: Settings

    @property
    def rules(self) -> Settings:
        """The settings with the variables of the rules' labels in `selector`.

        Conditions of the guide state their PromQL with these, so that a panel shows exactly what
        its alert compares, for the services that are chosen. Not validated again: settings
        themselves may hold no variable.
        """
        chosen = ",".join(filter(None, (self.settings.selector, self._services())))
        return self.settings.model_copy(update={"selector": chosen})

    @property
    def smoothing(self) -> str:
        """Smallest step of a panel whose ratios would jump from turn to turn, as a duration."""
        return self.settings.range(self.settings.window_short / 3)

    @property
    def medium(self) -> str:
        """The middle window of the rules, as a range."""
        return self.settings.range(self.settings.window_medium)

    def one(self, metric: str, *matchers: str) -> str:
        """Return the selector of a metric of the service; matchers first, variables last."""
        base = next((metric.removesuffix(p) for p in _PARTS if metric.endswith(p)), metric)
        graph = "" if base in WITHOUT_GRAPH else is_chosen(names.LABEL_GRAPH)
        chosen = (self._services(), is_chosen("instance"), graph)
        return series(self.settings, metric, *matchers, *chosen)

    def recorded(self, name: str, *matchers: str) -> str:
        """Return the selector of a recorded series, which keeps only the grouping labels."""
        return f"{name}{{{','.join((*matchers, self._services()))}}}"

    def gained(self, metric: str, *matchers: str, by: Iterable[str] = (), over: str = RANGE) -> str:
        """Return the events of a counter in a range, added up over replicas."""
        return total(f"increase({self.one(metric, *matchers)}[{over}])", by)

    def per_second(self, metric: str, *matchers: str, by: Iterable[str] = ()) -> str:
        """Return the events of a counter a second."""
        return total(f"rate({self.one(metric, *matchers)}[{RATE}])", by)

    def per_minute(self, metric: str, *matchers: str, by: Iterable[str] = ()) -> str:
        """Return the events of a counter a minute."""
        return f"60 * {self.per_second(metric, *matchers, by=by)}"

    def quantile(self, share: float, histogram: str, *matchers: str, by: Iterable[str] = ()) -> str:
        """Return a quantile of a histogram."""
        buckets = f"rate({self.one(f'{histogram}_bucket', *matchers)}[{RATE}])"
        return f"histogram_quantile({share}, {total(buckets, (*by, 'le'))})"

    def mean(self, histogram: str, *matchers: str, by: Iterable[str] = (), over: str = RATE) -> str:
        """Return the mean of what a histogram observed."""
        by = tuple(by)
        whole = self.gained(f"{histogram}_sum", *matchers, by=by, over=over)
        return ratio(whole, self.gained(f"{histogram}_count", *matchers, by=by, over=over))

    def buckets(self, histogram: str, *matchers: str) -> str:
        """Return the observations of a histogram by bucket, for a heat map."""
        return self.gained(f"{histogram}_bucket", *matchers, by=("le",), over=RATE)

    def _services(self) -> str:
        return ",".join(map(is_chosen, self.settings.group_by))


def is_chosen(label: str) -> str:
    """Return the matcher that a label has a value which the variable of its name holds."""
    return f'{label}=~"${label}"'


def has(label: str, *values: str) -> str:
    """Return the matcher that a label has one of the values."""
    return f'{label}="{values[0]}"' if len(values) == 1 else f'{label}=~"{"|".join(values)}"'


def total(expression: str, by: Iterable[str] = ()) -> str:
    """Return the sum over all labels but the named ones."""
    kept = ", ".join(by)
    return f"sum by ({kept}) ({expression})" if kept else f"sum({expression})"


def ratio(part: str, whole: str) -> str:
    """Return part / whole; no series, never NaN, where the whole is 0."""
    return f"{part} / ({whole} > 0)"


def share_by(part: str, whole: str, label: str) -> str:
    """Return the parts, told apart by a label, each as a share of one whole."""
    return f"{part} / ignoring ({label}) group_left () ({whole} > 0)"
