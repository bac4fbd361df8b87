from __future__ import annotations

from prometheus_client import CollectorRegistry

from telemetry import names
from telemetry.probe_metrics import ProbeMetrics
from telemetry.testing import Clock

QUESTIONS = {
    "1": ("answered", ("answered", "wrong_chunk", "no_results", "error")),
    "2": ("off_topic", ("answered", "off_topic", "error")),
}


def value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(name, labels)


def test_every_series_is_there_at_0_before_the_first_probe() -> None:
    registry, clock = CollectorRegistry(), Clock(5.0)
    ProbeMetrics(registry, QUESTIONS, clock=clock)
    probes = {
        (s.labels["question_id"], s.labels["expected"], s.labels["got"]): s.value
        for family in registry.collect()
        for s in family.samples
        if s.name == names.PROBES
    }

    assert probes == {
        (id_, expected, got): 0 for id_, (expected, all_) in QUESTIONS.items() for got in all_
    }
    assert value(registry, names.PROBE_UNEXPECTED, question_id="1") == 0
    assert value(registry, f"{names.PROBE_DURATION}_count") == 0
    assert value(registry, names.PROBE_LAST_ROUND) == 5.0


def test_a_probe_is_counted_where_it_came_out_and_how_often_in_a_row() -> None:
    registry, clock = CollectorRegistry(), Clock(5.0)
    books = ProbeMetrics(registry, QUESTIONS, clock=clock)
    books.asked("1", "wrong_chunk", 0.2, 1)
    books.asked("1", "wrong_chunk", 0.2, 2)
    books.asked("2", "off_topic", 3.0, 0)
    clock.advance(60)
    books.round_ended()

    labels = {"question_id": "1", "expected": "answered", "got": "wrong_chunk"}
    assert value(registry, names.PROBES, **labels) == 2
    assert value(registry, names.PROBE_UNEXPECTED, question_id="1") == 2
    assert value(registry, names.PROBE_UNEXPECTED, question_id="2") == 0
    assert value(registry, f"{names.PROBE_DURATION}_bucket", le="0.5") == 2
    assert value(registry, names.PROBE_LAST_ROUND) == 65.0


def test_nothing_else_is_exported() -> None:
    registry = CollectorRegistry()
    books = ProbeMetrics(registry, QUESTIONS)
    exported = {s.name for family in registry.collect() for s in family.samples}

    assert {name.partition("_seconds_")[0] for name in exported} == {
        name.removesuffix("_seconds") if name == names.PROBE_DURATION else name
        for name in books.families
    }
