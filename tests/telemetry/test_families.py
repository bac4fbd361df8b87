"""The metric set: one a registry, found again, never in the way of others, counted exactly once."""

from __future__ import annotations

import gc
import importlib
import sys
import threading
from typing import Any

import pytest
from loop_graphs import LOOP_ROLES, loop_graph
from prometheus_client import CollectorRegistry, Counter, Gauge

from telemetry import families, names
from telemetry.families import BATCH, metric_set
from telemetry.testing import Kit

QUESTION = {"question": "where is it?"}


def test_importing_the_package_registers_nothing() -> None:
    from prometheus_client import REGISTRY

    assert not [name for name in REGISTRY._names_to_collectors if name.startswith("rag_")]


def test_a_registry_has_one_set_however_often_it_is_asked_for() -> None:
    registry = CollectorRegistry()
    first = metric_set(registry)
    importlib.reload(sys.modules["telemetry.families"])
    again = sys.modules["telemetry.families"].metric_set(registry)

    assert again is first
    assert metric_set(CollectorRegistry()) is not first


def test_a_registry_that_its_host_has_emptied_has_its_set_again() -> None:
    kit = Kit()
    kit.watch(loop_graph(bound=0), LOOP_ROLES).invoke(QUESTION)
    for collector in list(kit.registry._collector_to_names):
        kit.registry.unregister(collector)
    assert kit.value("rag_turns_total") == 0
    kit.watch(loop_graph(bound=0), LOOP_ROLES).invoke(QUESTION)

    assert kit.value("rag_turns_total") == 2


def test_two_graphs_of_one_registry_have_their_own_label() -> None:
    kit = Kit()
    kit.watch(loop_graph(name="one", bound=0), LOOP_ROLES).invoke(QUESTION)
    two = kit.watch(loop_graph(name="two", bound=0), LOOP_ROLES)
    two.invoke(QUESTION)
    two.invoke(QUESTION)

    assert kit.counted("rag_turns_total", "graph") == {("one",): 1, ("two",): 2}


def test_a_name_that_is_taken_is_refused_and_leaves_nothing_behind() -> None:
    registry = CollectorRegistry()
    Counter("rag_turns", "Somebody else's.", registry=registry)
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        metric_set(registry)

    assert [family.name for family in registry.collect()] == ["rag_turns"]


@pytest.mark.parametrize("suffix", ["", "_total", "_created", "_count", "_sum", "_bucket", "_info"])
def test_no_two_of_our_metrics_collide(suffix: str) -> None:
    metrics = {
        value
        for key, value in vars(names).items()
        if key.isupper() and isinstance(value, str) and value.startswith(("rag_", "gen_ai_client_"))
    }
    bases = {name.removesuffix("_total") for name in metrics}

    assert len(bases) == len(metrics)
    assert not [base for base in bases if suffix and f"{base}{suffix}" in bases]


def test_the_hosts_metrics_keep_their_created_series() -> None:
    kit = Kit()
    Counter("host_things", "The host's.", registry=kit.registry).inc()
    Gauge("host_level", "The host's.", registry=kit.registry)
    kit.watch(loop_graph(), LOOP_ROLES).invoke(QUESTION)
    created = [line for line in kit.series() if "_created" in line]

    assert created == ["host_things_created"]


def test_reports_wait_until_a_scrape_or_a_full_batch() -> None:
    counted: list[int] = []
    ours = metric_set(CollectorRegistry())
    for n in range(BATCH - 1):
        ours.post(lambda n=n: counted.append(n))  # type: ignore[misc]
    assert counted == []
    ours.post(lambda: counted.append(99))
    assert counted == [*range(BATCH - 1), 99]
    ours.post(lambda: counted.append(100))
    ours.count()

    assert counted[-1] == 100


def test_a_turn_that_a_garbage_collection_ends_while_turns_are_counted_stops_nobody() -> None:
    kit = Kit()
    graph = kit.watch(loop_graph(bound=0), LOOP_ROLES)
    ours = metric_set(kit.registry)

    def abandon() -> None:
        stream = graph.stream(QUESTION)
        next(stream)
        ring: list[object] = [stream]
        ring.append(ring)

    def collect() -> None:
        gc.collect()

    def count_and_collect() -> None:
        for _ in range(BATCH):
            abandon()
        ours.post(collect)
        ours.count()

    gc.disable()
    try:
        counting = threading.Thread(target=count_and_collect, daemon=True)
        counting.start()
        counting.join(20)
    finally:
        gc.enable()

    assert not counting.is_alive()
    assert kit.outcomes() == {"cancelled": BATCH}


def test_turns_of_many_threads_are_counted_once_each_while_others_scrape() -> None:
    kit = Kit()
    graph = kit.watch(loop_graph(bound=0), LOOP_ROLES)
    done = threading.Event()
    seen: list[float] = []

    def scrape() -> None:
        while not done.is_set():
            seen.append(kit.value("rag_turns_total"))

    scraper = threading.Thread(target=scrape)
    scraper.start()
    graph.batch([QUESTION] * 100, {"max_concurrency": 4})
    done.set()
    scraper.join()

    assert kit.value("rag_turns_total") == 100
    assert seen == sorted(seen)


def test_a_graph_that_is_gone_has_still_been_counted() -> None:
    kit = Kit()

    def ask() -> None:
        kit.watch(loop_graph(bound=0), LOOP_ROLES).invoke(QUESTION)

    ask()

    assert kit.value("rag_turns_total") == 1


def test_each_worker_counts_at_once_where_workers_are_read_from_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(families, "ValueClass", object())
    counted: list[int] = []
    families.MetricSet().post(lambda: counted.append(1))

    assert counted == [1]


@pytest.mark.parametrize(
    ("metric", "labels"),
    [
        ("rag_turns_total", {"graph", "version", "outcome", "retrieved", "last_grade"}),
        ("rag_topic_checks_total", {"graph", "classification", "confidence"}),
        ("rag_retrievals_total", {"graph", "version", "result", "attempt"}),
        ("rag_grades_total", {"graph", "version", "grade", "attempt"}),
        ("rag_rewrites_total", {"graph", "version", "effect", "attempt"}),
        ("rag_rewrites_per_turn_bucket", {"graph", "outcome", "le"}),
        ("rag_chunk_score_bucket", {"graph", "version", "grade", "le"}),
        ("rag_rewrite_similarity_bucket", {"graph", "attempt", "le"}),
        ("rag_answered_after_drift_total", {"graph"}),
        ("rag_recursion_errors_total", {"graph"}),
        ("rag_llm_calls_per_turn_bucket", {"graph", "outcome", "le"}),
        ("rag_turn_duration_seconds_bucket", {"graph", "outcome", "le"}),
        ("rag_node_duration_seconds_bucket", {"graph", "node", "role", "le"}),
        ("rag_node_errors_total", {"graph", "node", "error_type"}),
        ("rag_routes_total", {"graph", "router", "route"}),
        ("rag_recursion_steps_needed", {"graph"}),
        ("rag_rewrite_budget", {"graph"}),
        ("rag_build_info", {"graph", "version", "index", "prompt", "grader", "model"}),
        ("rag_telemetry_dropped_total", {"signal"}),
        ("rag_telemetry_errors_total", {"where"}),
    ],
)
def test_the_labels_of_the_contract(metric: str, labels: set[str]) -> None:
    kit = Kit()
    kit.watch(loop_graph(), LOOP_ROLES, max_rewrites=2, build={"model": "golden"})
    found: list[Any] = [
        sample
        for family in kit.registry.collect()
        for sample in family.samples
        if sample.name == metric
    ]

    assert found
    assert all(set(sample.labels) == labels for sample in found)


def test_durations_reach_past_the_longest_turn() -> None:
    assert max(names.TURN_DURATION_BUCKETS) == 120
    assert max(names.NODE_DURATION_BUCKETS) == 60
    assert max(names.OPERATION_DURATION_BUCKETS) == 81.92
    assert max(names.TOKEN_BUCKETS) == 67_108_864
