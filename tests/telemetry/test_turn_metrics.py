from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from telemetry import names
from telemetry.families import metric_set
from telemetry.turn_metrics import TurnMetrics


def similarities(registry: CollectorRegistry) -> set[str]:
    """Attempts that have a histogram of likeness."""
    return {
        sample.labels["attempt"]
        for family in registry.collect()
        for sample in family.samples
        if sample.name == f"{names.REWRITE_SIMILARITY}_count"
    }


@pytest.mark.parametrize(
    ("told", "later", "expected"),
    [
        pytest.param(None, None, {"1", "2", "3_plus"}, id="an-unknown-bound-may-be-any"),
        pytest.param(2, None, {"1", "2"}, id="a-bound-of-two-has-no-third-rewrite"),
        pytest.param(3, None, {"1", "2", "3_plus"}, id="a-bound-of-three-has-one"),
        pytest.param(2, 3, {"1", "2", "3_plus"}, id="a-bound-that-is-raised-later-has-one"),
        pytest.param(2, 1, {"1", "2"}, id="a-bound-that-is-lowered-keeps-what-was-there"),
    ],
)
def test_only_rewrites_within_the_bound_have_series_of_their_similarity(
    told: int | None, later: int | None, expected: set[str]
) -> None:
    registry = CollectorRegistry()
    metrics = TurnMetrics(metric_set(registry), graph="g", version="1", roles=(), max_rewrites=told)
    if later is not None:
        metrics.loop_bound(later, None)

    assert similarities(registry) == expected
