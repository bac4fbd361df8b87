"""Send one turn through and say which hop of the telemetry works, which not, and what to do.

The hops stand in the order of the way: the turn itself, the metrics endpoint, the OTLP endpoint,
Prometheus' scrape, the rules, Alertmanager, the trace store, the turn records. Each is checked on
its own, so that one that is down hides no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from telemetry import hops
from telemetry.endpoints import ExportOptions
from telemetry.errors import TelemetryError
from telemetry.export import DEFAULT_OPTIONS, make_export
from telemetry.hops import Hop, HopError, check
from telemetry.losses import Complaint
from telemetry.records.probe import probe_store

TEST_SPAN: Final = "loopscope doctor"


@dataclass(frozen=True, slots=True, kw_only=True)
class SentTurn:
    """One turn that was sent through, and already ended."""

    outcome: str
    trace_id: str | None
    """32 hex digits; None when the turn was not traced."""


SendTurn: TypeAlias = Callable[[], SentTurn]
"""Sends one turn through the graph, flushes the export, and may raise anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where the hops are; what is None is not configured, and not checked."""

    metrics_url: str | None = None
    """Full URL of `/metrics`."""
    export: ExportOptions = DEFAULT_OPTIONS
    """Where spans go; the environment decides what is left open."""
    prometheus_url: str | None = None
    alertmanager_url: str | None = None
    trace_store_url: str | None = None
    """Base URL of the query API of Tempo or Jaeger."""
    records_url: str | None = None
    timeout_seconds: float = 3.0
    """Limit of each request."""
    patience_seconds: float = 10.0
    """How long what lags (a first scrape, a trace on its way) may take."""


def examine(
    addresses: Addresses, send_turn: SendTurn, environment: Mapping[str, str] | None = None
) -> Iterator[Hop]:
    """Check every hop, one after another, and yield each as soon as it is known."""
    timeout, patience = addresses.timeout_seconds, addresses.patience_seconds
    sent: list[SentTurn] = []
    yield check("turn", lambda: _turn(send_turn, sent))
    trace_id = sent[0].trace_id if sent else None
    metrics, prometheus = addresses.metrics_url, addresses.prometheus_url
    alertmanager, store = addresses.alertmanager_url, addresses.trace_store_url
    records = addresses.records_url
    yield _if_set(
        "metrics endpoint", "metrics", metrics, lambda url: hops.metrics_endpoint(url, timeout)
    )
    yield _otlp(addresses, environment)
    yield _if_set(
        "Prometheus scrape",
        "prometheus",
        prometheus,
        lambda url: hops.prometheus_scrape(url, timeout, patience),
    )
    yield _if_set("rules", "prometheus", prometheus, lambda url: hops.rules_loaded(url, timeout))
    yield _if_set(
        "Alertmanager",
        "alertmanager",
        alertmanager,
        lambda url: hops.alertmanager_ready(url, prometheus, timeout),
    )
    yield _if_set(
        "trace store",
        "trace-store",
        store,
        lambda url: hops.trace_stored(url, trace_id, timeout, patience),
    )
    yield _if_set("turn records", "records", records, _records)


def _if_set(name: str, option: str, url: str | None, look: Callable[[str], str]) -> Hop:
    if url is None:
        return Hop(name=name, status="not configured", fix=f"To check it, give --{option}-url.")
    return check(name, lambda: look(url))


def _turn(send_turn: SendTurn, sent: list[SentTurn]) -> str:
    try:
        turn = send_turn()
    except Exception as error:
        raise HopError(
            f"the turn raised {type(error).__name__}", "Ask one question with `loopscope ask`."
        ) from error
    sent.append(turn)
    return f"outcome {turn.outcome}, trace {turn.trace_id or 'none'}"


def _otlp(addresses: Addresses, environment: Mapping[str, str] | None) -> Hop:
    """Send a span the way every span goes, without retries."""
    heard = _Heard()

    def look() -> str:
        try:
            export = make_export(addresses.export, environment=environment, complaint=heard)
        except TelemetryError as error:
            raise HopError(str(error), "Correct the setting.") from error
        if export.tracer_provider is None:
            raise _NotConfiguredError
        export.tracer_provider.get_tracer(TEST_SPAN).start_span(TEST_SPAN).end()
        export.shutdown(addresses.timeout_seconds)
        if heard.reason:
            problem, _, fix = heard.reason.partition(". ")
            raise HopError(problem, fix or "Check the collector's log.")
        return f"{export.traces} took a test span"

    try:
        return check("OTLP endpoint", look)
    except _NotConfiguredError:
        return Hop(
            name="OTLP endpoint",
            status="not configured",
            fix="To check it, give --otlp-endpoint or set OTEL_EXPORTER_OTLP_ENDPOINT.",
        )


class _NotConfiguredError(Exception):
    """No OTLP endpoint is set."""


class _Heard(Complaint):
    """Keeps the first trouble instead of logging it."""

    def __init__(self) -> None:
        super().__init__()
        self.reason = ""

    def begin(self, signal: str, reason: str) -> None:  # noqa: ARG002 - only spans are sent
        self.reason = self.reason or reason


def _records(url: str) -> str:
    try:
        return probe_store(url)
    except TelemetryError as error:
        problem, _, fix = str(error).partition(". ")
        raise HopError(problem, fix or "Check the store.") from error
