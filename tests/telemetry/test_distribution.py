"""A histogram that sorts later shows what one that sorts at once shows."""

from __future__ import annotations

import math
import sys
import threading
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Histogram, generate_latest

from telemetry.distribution import MANY, Distribution

BUCKETS = (0.1, 1.0, 5.0)
VALUES = [0.0, 0.1, 0.100001, 1.0, 4.9, 5.0, 5.1, 1e9, -1.0, 3, 3, 3]


def page(kind: type[Histogram], values: list[float]) -> list[str]:
    registry = CollectorRegistry()
    family = kind("seconds", "Of something.", ["of"], buckets=BUCKETS, registry=registry)
    for value in values:
        family.labels("it").observe(value)
    return [line for line in generate_latest(registry).decode().splitlines()
            if "_created" not in line]  # fmt: skip


@pytest.mark.parametrize(
    "values",
    [[], [0.5], VALUES, [0.25, 2.0, 8.0] * MANY, [math.nan, math.inf, -math.inf, 0.5]],
    ids=["nothing", "one", "every bucket and its bounds", "more than may wait", "not finite"],
)
def test_it_shows_what_prometheus_client_shows(values: list[float]) -> None:
    assert page(Distribution, values) == page(Histogram, values)


def test_a_second_look_shows_each_value_once() -> None:
    registry = CollectorRegistry()
    seconds = Distribution("seconds", "Of something.", buckets=BUCKETS, registry=registry)
    seconds.observe(0.5)
    assert [registry.get_sample_value("seconds_count") for _ in range(2)] == [1, 1]
    seconds.observe(0.5)
    assert registry.get_sample_value("seconds_sum") == 1.0


@pytest.mark.parametrize(
    "value", ["12", None, [1.0], 10**400], ids=["a text", "nothing", "a list", "beyond a float"]
)
def test_what_is_no_number_is_refused_at_once_and_takes_no_other_value_along(value: Any) -> None:
    registry = CollectorRegistry()
    seconds = Distribution("seconds", "Of something.", buckets=BUCKETS, registry=registry)
    seconds.observe(0.5)
    with pytest.raises((TypeError, OverflowError)):
        seconds.observe(value)

    assert registry.get_sample_value("seconds_count") == 1
    assert registry.get_sample_value("seconds_sum") == 0.5


def test_an_exemplar_is_kept() -> None:
    registry = CollectorRegistry()
    seconds = Distribution("seconds", "Of something.", buckets=BUCKETS, registry=registry)
    seconds.observe(0.5, {"trace_id": "0af7651916cd43dd8448eb211c80319c"})
    found = [s.exemplar for family in registry.collect() for s in family.samples if s.exemplar]

    assert [(e.labels["trace_id"], e.value) for e in found] == [
        ("0af7651916cd43dd8448eb211c80319c", 0.5)
    ]


def test_a_family_of_labelled_series_observes_nothing() -> None:
    family = Distribution("seconds", "Of something.", ["of"], registry=None)
    with pytest.raises(ValueError, match="missing label values"):
        family.observe(1.0)


def test_what_waits_is_bounded() -> None:
    seconds = Distribution("seconds", "Of something.", registry=None)
    for _ in range(3 * MANY):
        seconds.observe(1.0)
    assert seconds._waiting is not None
    assert len(seconds._waiting) < MANY


def test_threads_that_observe_and_look_lose_and_double_nothing() -> None:
    registry = CollectorRegistry()
    seconds = Distribution("seconds", "Of something.", buckets=BUCKETS, registry=registry)
    each, threads = 5_000, 4

    def observe() -> None:
        for _ in range(each):
            seconds.observe(0.5)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        running = [threading.Thread(target=observe) for _ in range(threads)]
        for thread in running:
            thread.start()
        while any(thread.is_alive() for thread in running):
            registry.get_sample_value("seconds_count")
        for thread in running:
            thread.join()
    finally:
        sys.setswitchinterval(before)

    assert registry.get_sample_value("seconds_count") == each * threads
    assert registry.get_sample_value("seconds_sum") == 0.5 * each * threads
