"""What the service and the prober export: their metrics and the labels that telemetry gives."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram

from telemetry.families import MetricSet
from telemetry.probe_metrics import ProbeMetrics

_SERVICE = MetricSet()
FAMILIES = {
    **_SERVICE.counters,
    **_SERVICE.histograms,
    **_SERVICE.gauges,
    **ProbeMetrics(CollectorRegistry(), {}).families,
}
"""Name as scraped -> family."""
PARTS = ("_bucket", "_count", "_sum")


def _series(name: str) -> tuple[str, ...]:
    return (
        tuple(name + part for part in PARTS) if isinstance(FAMILIES[name], Histogram) else (name,)
    )


COUNTERS = frozenset(
    series
    for name, family in FAMILIES.items()
    if isinstance(family, (Counter, Histogram))
    for series in _series(name)
)
LABELS = {
    series: {*family._labelnames, *(["le"] if series.endswith("_bucket") else [])}
    for name, family in FAMILIES.items()
    for series in _series(name)
}
"""Series -> its labels."""
