"""One check for each hop on the way from a turn to a page: does it work, and if not, what to do."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import quote

from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as parse_openmetrics,
)
from prometheus_client.parser import text_string_to_metric_families as parse_text

from telemetry import names
from telemetry.fetch import FetchError, fetch
from telemetry.prometheus_api import Prometheus

Status: TypeAlias = Literal["ok", "failed", "not configured"]
OPENMETRICS: Final = "application/openmetrics-text; version=1.0.0"
EXPECTED_METRICS: Final = (
    names.TURNS, names.RETRIEVALS, names.TURN_DURATION, names.RECURSION_ERRORS,
    names.TELEMETRY_DROPPED,
)  # fmt: skip
"""Series that a scrape shows before the first question, so that alerts have a 0 to rise from."""
ALERT_PREFIX: Final = "Rag"
"""Every alert of the guide is named `Rag...`."""
POLL_SECONDS: Final = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """What became of one check."""

    name: str
    status: Status
    seconds: float = 0.0
    seen: str = ""
    fix: str = ""
    """What to do; empty when the hop works."""


class HopError(Exception):
    """A hop does not work; the text is what was seen."""

    def __init__(self, seen: str, fix: str) -> None:
        self.fix = fix
        super().__init__(seen)


def check(name: str, look: Callable[[], str]) -> Hop:
    """Run one check and time it.

    Args:
        name: Name of the hop.
        look: Returns what was seen, or raises `HopError` or `FetchError`.
    """
    started = time.perf_counter()
    try:
        seen = look()
    except (HopError, FetchError) as error:
        took = time.perf_counter() - started
        return Hop(name=name, status="failed", seconds=took, seen=str(error), fix=error.fix)
    return Hop(name=name, status="ok", seconds=time.perf_counter() - started, seen=seen)


def metrics_endpoint(url: str, timeout_seconds: float) -> str:
    """Look at a `/metrics` address: our families, every combination from 0, in OpenMetrics."""
    reply = fetch(url, timeout_seconds=timeout_seconds, headers={"Accept": OPENMETRICS})
    is_open = reply.content_type.startswith("application/openmetrics-text")
    try:
        families = list((parse_openmetrics if is_open else parse_text)(reply.text))
    except ValueError as error:
        raise HopError(
            f"{url} does not answer in the Prometheus format", "Give the address of /metrics."
        ) from error
    samples = [sample for family in families for sample in family.samples]
    present = {sample.name.removesuffix("_count") for sample in samples}
    missing = [name for name in EXPECTED_METRICS if name not in present]
    if missing:
        raise HopError(
            f"{len(samples)} series, but none of {', '.join(missing)}",
            "Instrument the graph in the process that serves this address, before any question.",
        )
    turns = [sample.value for sample in samples if sample.name == names.TURNS]
    if len(turns) < len(names.TURN_ENDS):
        raise HopError(
            f"{len(turns)} series of {names.TURNS}, expected {len(names.TURN_ENDS)}",
            "Let the series start at 0: a counter born at 1 shows no increase to an alert.",
        )
    form = "OpenMetrics" if is_open else "not OpenMetrics, so without exemplars"
    return f"{len(samples)} series, {sum(turns):.0f} turns, {form}"


def prometheus_scrape(url: str, timeout_seconds: float, patience_seconds: float) -> str:
    """Ask Prometheus whether it scrapes us: its targets, and a query for our turns.

    Args:
        url: Base URL of Prometheus.
        timeout_seconds: Limit of each request.
        patience_seconds: How long a target may stay unscraped after it was found.
    """
    server = Prometheus(url=url, timeout_seconds=timeout_seconds)

    def look() -> str:
        query = quote(f"sum by (job) ({names.TURNS})")
        found = server.read(f"query?query={query}", lambda data: list(data["result"]))
        targets = server.read("targets?state=active", lambda data: list(data["activeTargets"]))
        jobs = {sample["metric"].get("job", "?"): sample["value"][1] for sample in found}
        ours = [t for t in targets if t["labels"].get("job") in jobs] if jobs else targets
        down = [t for t in ours if t["health"] == "down"]
        if down:
            raise HopError(
                f"the target {down[0]['scrapeUrl']} is down: {down[0]['lastError']}",
                "Start the service, or correct the address in scrape_configs.",
            )
        if not jobs:
            raise HopError(
                f"no series of ours in {len(targets)} targets",
                "Add the address of /metrics to scrape_configs of prometheus.yml and reload.",
            )
        return ", ".join(f"job {job}: up, {float(turns):.0f} turns" for job, turns in jobs.items())

    return _patiently(look, patience_seconds)


def rules_loaded(url: str, timeout_seconds: float) -> str:
    """Ask Prometheus for the alerts of the guide, and whether they evaluate."""
    server = Prometheus(url=url, timeout_seconds=timeout_seconds)
    groups = server.read("rules", lambda data: list(data["groups"]))
    rules = [(group["name"], rule) for group in groups for rule in group["rules"]]
    alerts = [
        rule
        for _, rule in rules
        if rule["type"] == "alerting" and rule["name"].startswith(ALERT_PREFIX)
    ]
    if not alerts:
        raise HopError(
            f"{len(rules)} rules in {len(groups)} groups, none of them an alert of the guide",
            "Name dashboards/generated/prometheus/*.yml under rule_files and reload Prometheus.",
        )
    broken = [(group, rule) for group, rule in rules if rule["health"] == "err"]
    if broken:
        group, rule = broken[0]
        raise HopError(
            f"the rule {rule['name']} of the group {group} fails: {rule.get('lastError', '')}",
            "Generate the rules again: `loopscope dashboards generate`, then reload Prometheus.",
        )
    firing = sorted({rule["name"] for rule in alerts if rule.get("state") == "firing"})
    return f"{len(alerts)} alerts, firing: {', '.join(firing) or 'none'}"


def alertmanager_ready(url: str, prometheus_url: str | None, timeout_seconds: float) -> str:
    """Ask Alertmanager whether it is ready, and Prometheus whether it sends there."""
    fetch(f"{url.rstrip('/')}/-/ready", timeout_seconds=timeout_seconds)
    status = fetch(f"{url.rstrip('/')}/api/v2/status", timeout_seconds=timeout_seconds).json()
    version = _keys(status, "versionInfo", "version")
    if prometheus_url is None:
        return f"version {version}, ready"
    prometheus = Prometheus(url=prometheus_url, timeout_seconds=timeout_seconds)
    known = prometheus.read("alertmanagers", lambda data: list(data["activeAlertmanagers"]))
    if not known:
        raise HopError(
            f"version {version} is ready, but Prometheus sends its alerts nowhere",
            "Name it under alerting.alertmanagers in prometheus.yml and reload Prometheus.",
        )
    return f"version {version}, ready, Prometheus sends to {known[0]['url']}"


def trace_stored(
    url: str, trace_id: str | None, timeout_seconds: float, patience_seconds: float
) -> str:
    """Read the turn's trace back from Tempo or Jaeger, by its id.

    Args:
        url: Base URL of the store's query API.
        trace_id: 32 hex digits; None when the turn was not traced.
        timeout_seconds: Limit of each request.
        patience_seconds: How long the trace may take to arrive.
    """
    if trace_id is None:
        raise HopError("the turn has no trace", "Set OTEL_EXPORTER_OTLP_ENDPOINT, sample it.")

    def look() -> str:
        try:
            reply = fetch(
                f"{url.rstrip('/')}/api/traces/{trace_id}",
                timeout_seconds=timeout_seconds,
                headers={"Accept": "application/json"},
            )
        except FetchError as error:
            if error.status != 404:
                raise
            raise HopError(
                f"the trace {trace_id} is not there after {patience_seconds:g} s",
                "Check that the OTLP endpoint leads to this store, and that sampling keeps it.",
            ) from error
        spans = _count_spans(reply.json())
        if not spans:
            raise HopError(f"the trace {trace_id} is empty", "Look into the log of the store.")
        return f"{spans} spans of the trace {trace_id}"

    return _patiently(look, patience_seconds)


def _patiently(look: Callable[[], str], patience_seconds: float) -> str:
    """Look again until it works or time is up; what cannot be reached at all fails at once."""
    deadline = time.monotonic() + patience_seconds
    while True:
        try:
            return look()
        except HopError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(POLL_SECONDS)


def _keys(body: Any, *path: str) -> str:
    for key in path:
        body = body.get(key, {}) if isinstance(body, dict) else {}
    return str(body or "unknown")


def _count_spans(body: Any) -> int:
    """Count what lies in lists called `spans`, as Tempo (old and new form) and Jaeger answer."""
    if isinstance(body, list):
        return sum(map(_count_spans, body))
    if not isinstance(body, dict):
        return 0
    spans = body.get("spans")
    own = len(spans) if isinstance(spans, list) else 0
    return own + sum(_count_spans(value) for key, value in body.items() if key != "spans")
