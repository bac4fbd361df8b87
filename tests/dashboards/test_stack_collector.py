"""Cases C87 and C61: the collector's and Tempo's files, checked by reading; neither runs here."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from dashboards.stack import parts
from dashboards.stack.render import FOLDER

COLLECTOR: dict[str, Any] = yaml.safe_load((FOLDER / "otel-collector.yml").read_text())
TEMPO: dict[str, Any] = yaml.safe_load((FOLDER / "tempo.yml").read_text())
PIPELINES: dict[str, Any] = COLLECTOR["service"]["pipelines"]
CORE = {
    "receivers": {"otlp"},
    "processors": {"memory_limiter", "batch"},
    "exporters": {"otlp_grpc", "debug"},
}
"""Components of the core distribution 0.149; `otlp_grpc` is the name since 0.144."""


def test_receivers_listen_for_other_containers() -> None:
    protocols = COLLECTOR["receivers"]["otlp"]["protocols"]

    assert protocols == {
        "grpc": {"endpoint": f"0.0.0.0:{parts.OTLP_GRPC_PORT}"},
        "http": {"endpoint": f"0.0.0.0:{parts.OTLP_HTTP_PORT}"},
    }


@pytest.mark.parametrize("kind", sorted(CORE))
def test_only_components_of_the_pinned_distribution_are_used(kind: str) -> None:
    assert {name.partition("/")[0] for name in COLLECTOR[kind]} == CORE[kind]


@pytest.mark.parametrize("kind", sorted(CORE))
def test_every_component_is_declared_and_used(kind: str) -> None:
    used = {name for pipeline in PIPELINES.values() for name in pipeline[kind]}

    assert used == set(COLLECTOR[kind])


def test_both_signals_of_the_agent_have_a_pipeline() -> None:
    assert set(PIPELINES) == {"traces", "logs"}
    assert all(pipeline["receivers"] == ["otlp"] for pipeline in PIPELINES.values())


@pytest.mark.parametrize("signal", ["traces", "logs"])
def test_memory_is_limited_before_anything_else(signal: str) -> None:
    assert PIPELINES[signal]["processors"][0] == "memory_limiter"


def test_memory_limit_is_below_the_containers() -> None:
    limiter = COLLECTOR["processors"]["memory_limiter"]

    assert limiter["limit_mib"] + limiter["spike_limit_mib"] <= 256


def test_traces_go_where_tempo_listens_in_plain_text_said_aloud() -> None:
    exporter = COLLECTOR["exporters"]["otlp_grpc/tempo"]
    listens = TEMPO["distributor"]["receivers"]["otlp"]["protocols"]["grpc"]["endpoint"]
    host, port = exporter["endpoint"].split(":")

    assert (host, port) == ("tempo", listens.rpartition(":")[2])
    assert listens.startswith("0.0.0.0:")
    assert exporter["tls"] == {"insecure": True}


def test_debug_output_counts_and_shows_no_content() -> None:
    assert COLLECTOR["exporters"]["debug"] == {"verbosity": "basic"}


def test_collector_shows_its_own_metrics_where_prometheus_asks() -> None:
    (reader,) = COLLECTOR["service"]["telemetry"]["metrics"]["readers"]

    assert reader["pull"]["exporter"]["prometheus"] == {
        "host": "0.0.0.0",
        "port": parts.PARTS["collector"].port,
    }


def test_tempo_answers_on_its_port_and_keeps_to_itself() -> None:
    assert TEMPO["server"]["http_listen_port"] == parts.PARTS["tempo"].port
    assert TEMPO["usage_report"] == {"reporting_enabled": False}


def test_tempo_has_the_keys_of_its_pinned_version() -> None:
    assert parts.PARTS["tempo"].tag.startswith("2.9.")  # 3 refuses ingester and compactor
    assert set(TEMPO) == {
        "server", "distributor", "ingester", "compactor", "storage", "usage_report",
    }  # fmt: skip
