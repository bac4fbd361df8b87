from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import native_servers
import pytest
from click.testing import CliRunner
from otlp_stub import black_hole, closed_port, collector, grpc_collector
from prometheus_client import CollectorRegistry, start_http_server

from telemetry import names
from telemetry.cli import doctor_command
from telemetry.doctor import Addresses, SentTurn, examine
from telemetry.endpoints import ExportOptions
from telemetry.families import metric_set
from telemetry.hops import Hop
from telemetry.records import open_reader
from telemetry.turn_metrics import TurnMetrics

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
GOOD_TURN = SentTurn(outcome="answered", trace_id=TRACE_ID)
QUICK = Addresses(timeout_seconds=0.5, patience_seconds=0.0)


@contextmanager
def answering(pages: dict[str, tuple[int, Any]]) -> Iterator[str]:
    """Serve pages by path (without the query): a status and a JSON body, or text as it is."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = pages.get(self.path.partition("?")[0], (404, ""))
            raw = (body if isinstance(body, str) else json.dumps(body)).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@contextmanager
def metrics_server(*, ours: bool = True) -> Iterator[str]:
    registry = CollectorRegistry()
    if ours:
        TurnMetrics(metric_set(registry), graph="g", version="1", roles=frozenset(names.ROLES))
    server, thread = start_http_server(0, "127.0.0.1", registry)
    try:
        yield f"http://127.0.0.1:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def hop(name: str, addresses: Addresses, environment: dict[str, str] | None = None) -> Hop:
    hops = {found.name: found for found in examine(addresses, lambda: GOOD_TURN, environment or {})}
    return hops[name]


def test_nothing_configured_checks_only_the_turn() -> None:
    found = list(examine(QUICK, lambda: GOOD_TURN, {}))

    assert [(h.name, h.status) for h in found] == [
        ("turn", "ok"),
        ("metrics endpoint", "not configured"),
        ("OTLP endpoint", "not configured"),
        ("Prometheus scrape", "not configured"),
        ("rules", "not configured"),
        ("Alertmanager", "not configured"),
        ("trace store", "not configured"),
        ("turn records", "not configured"),
    ]
    assert found[0].seen == f"outcome answered, trace {TRACE_ID}"
    assert found[1].fix == "To check it, give --metrics-url."
    assert all("give --" in hop.fix for hop in found[1:])


def test_a_turn_that_raises_is_a_failed_hop_and_the_others_are_still_checked(
    tmp_path: Path,
) -> None:
    def broken() -> SentTurn:
        raise ValueError("the user's question")

    addresses = replace(QUICK, records_url=str(tmp_path / "turns.db"))
    found = {h.name: h for h in examine(addresses, broken, {})}

    assert found["turn"].status == "failed"
    assert found["turn"].seen == "the turn raised ValueError"
    assert found["turn records"].status == "ok"


def test_metrics_endpoint() -> None:
    with metrics_server() as url:
        found = hop("metrics endpoint", replace(QUICK, metrics_url=url))

    assert found.status == "ok"
    assert found.seen.endswith(" series, 0 turns, OpenMetrics")
    assert found.seconds > 0


METRICS_TROUBLES: dict[str, tuple[Callable[[], Any], str, str, str]] = {
    "nobody-listens": (
        closed_port, "/metrics", "nobody listens at 127.0.0.1", "Start it, or correct"
    ),
    "no-answer": (black_hole, "/metrics", "gave no answer within 0.5 s", "Check the network"),
    "wrong-path": (
        lambda: answering({}), "/metric", "/metric answered 404 Not Found", "The path is wrong"
    ),
    "another-page": (
        lambda: answering({"/metrics": (200, "<html>hello</html>")}),
        "/metrics", "does not answer in the Prometheus format", "Give the address of /metrics",
    ),
    "somebody-else-s-metrics": (
        lambda: answering({"/metrics": (200, "go_info 1\n")}),
        "/metrics", "1 series, but none of rag_turns_total", "Instrument the graph",
    ),
    "no-zeros": (
        lambda: answering({"/metrics": (200, (
            'rag_turns_total{outcome="answered"} 1\nrag_retrievals_total 1\n'
            "rag_turn_duration_seconds_count 1\nrag_recursion_errors_total 0\n"
            "rag_telemetry_dropped_total 0\n"
        ))}),
        "/metrics", f"1 series of rag_turns_total, expected {len(names.TURN_ENDS)}",
        "Let the series start at 0",
    ),
    "a-grpc-port": (grpc_collector, "/metrics", "does not speak HTTP", "check the port"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("serve", "path", "seen", "fix"), METRICS_TROUBLES.values(), ids=METRICS_TROUBLES
)
def test_troubles_of_the_metrics_endpoint(
    serve: Callable[[], Any], path: str, seen: str, fix: str
) -> None:
    with serve() as where:
        url = where if isinstance(where, str) else where.url
        found = hop("metrics endpoint", replace(QUICK, metrics_url=url + path))

    assert found.status == "failed"
    assert seen in found.seen
    assert fix in found.fix


def test_a_url_without_a_scheme_is_explained() -> None:
    found = hop("metrics endpoint", replace(QUICK, metrics_url="localhost:8000/metrics"))

    assert found.seen == (
        "got 'localhost:8000/metrics', expected a URL that begins with http:// or https://"
    )
    assert found.fix == "Put http:// before 'localhost:8000'."


def test_otlp_endpoint_takes_a_span() -> None:
    with collector() as seen:
        addresses = replace(QUICK, export=ExportOptions(endpoint=seen.url), timeout_seconds=5.0)
        found = hop("OTLP endpoint", addresses)

    assert (found.status, found.seen) == (
        "ok",
        f"{seen.url}/v1/traces (http/protobuf) took a test span",
    )
    assert seen.names == ["loopscope doctor"]


OTLP_TROUBLES: dict[str, tuple[Callable[[], Any], str, str, str]] = {
    "nobody-listens": (closed_port, "http/protobuf", "connection refused", "Start the collector"),
    "wrong-path": (
        lambda: collector(status=404), "http/protobuf", "HTTP 404", "Give the base URL"
    ),
    "no-answer": (black_hole, "http/protobuf", "did not answer in time", "Check the network"),
    "http-to-a-grpc-port": (
        grpc_collector, "http/protobuf", "no HTTP server there", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"
    ),
    "grpc-to-an-http-port": (collector, "grpc", "unavailable", "check port and protocol"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("serve", "protocol", "seen", "fix"), OTLP_TROUBLES.values(), ids=OTLP_TROUBLES
)
def test_troubles_of_the_otlp_endpoint(
    serve: Callable[[], Any], protocol: str, seen: str, fix: str
) -> None:
    with serve() as where:
        url = where if isinstance(where, str) else where.url
        export = ExportOptions(endpoint=url, protocol=protocol)
        found = hop("OTLP endpoint", replace(QUICK, export=export))

    assert found.status == "failed"
    assert seen in found.seen
    assert fix in found.fix


def test_contradicting_otlp_settings_are_a_failed_hop() -> None:
    found = hop("OTLP endpoint", replace(QUICK, export=ExportOptions(endpoint="c:4317")))

    assert found.status == "failed"
    assert "Write http://c:4317" in found.seen + found.fix


def prometheus_pages(**changes: Any) -> dict[str, tuple[int, Any]]:
    """A healthy Prometheus that scrapes us and has the rules."""
    target = {
        "labels": {"job": "agent"},
        "scrapeUrl": "http://agent:8000/metrics",
        "health": "up",
        "lastError": "",
    }
    rule = {"type": "alerting", "name": "RagSynonymSwapTicket", "health": "ok", "state": "firing"}
    good: dict[str, Any] = {
        "query": {"result": [{"metric": {"job": "agent"}, "value": [0, "7"]}]},
        "targets": {"activeTargets": [target | changes.pop("target", {})]},
        "rules": {"groups": [{"name": "swap", "rules": [rule | changes.pop("rule", {})]}]},
        "alertmanagers": {"activeAlertmanagers": [{"url": "http://am:9093/api/v2/alerts"}]},
    }
    data = {**good, **changes}
    return {f"/api/v1/{key}": (200, {"status": "success", "data": data[key]}) for key in data}


PROMETHEUS_CASES: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "scraped": ("Prometheus scrape", {}, "job agent: up, 7 turns", ""),
    "target-down": (
        "Prometheus scrape",
        {"target": {"health": "down", "lastError": "connection refused"}},
        "the target http://agent:8000/metrics is down: connection refused",
        "Start the service, or correct the address in scrape_configs.",
    ),
    "not-scraped": (
        "Prometheus scrape", {"query": {"result": []}}, "no series of ours in 1 targets",
        "Add the address of /metrics to scrape_configs of prometheus.yml and reload.",
    ),
    "rules-loaded": ("rules", {}, "1 alerts, firing: RagSynonymSwapTicket", ""),
    "no-rules": (
        "rules", {"rules": {"groups": []}},
        "0 rules in 0 groups, none of them an alert of the guide",
        "Name dashboards/generated/prometheus/*.yml under rule_files and reload Prometheus.",
    ),
    "a-broken-rule": (
        "rules", {"rule": {"health": "err", "lastError": "many-to-many"}},
        "the rule RagSynonymSwapTicket of the group swap fails: many-to-many",
        "Generate the rules again: `loopscope dashboards generate`, then reload Prometheus.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "changes", "seen", "fix"), PROMETHEUS_CASES.values(), ids=PROMETHEUS_CASES
)
def test_prometheus(name: str, changes: dict[str, Any], seen: str, fix: str) -> None:
    with answering(prometheus_pages(**dict(changes))) as url:
        found = hop(name, replace(QUICK, prometheus_url=url))

    assert (found.status, found.seen, found.fix) == ("failed" if fix else "ok", seen, fix)


@pytest.mark.parametrize("name", ["Prometheus scrape", "rules"])
def test_something_else_where_prometheus_should_be(name: str) -> None:
    pages = {f"/api/v1/{page}": (200, ["hello"]) for page in ("query", "targets", "rules")}
    with answering(pages) as url:
        found = hop(name, replace(QUICK, prometheus_url=url))

    assert found.status == "failed"
    assert found.seen.startswith(f"{url}/api/v1/")
    assert found.seen.endswith("is not answered as by Prometheus")
    assert found.fix == ("Something else answers at that address: give the base URL of Prometheus.")


AM_READY = {"/-/ready": (200, "OK"), "/api/v2/status": (200, {"versionInfo": {"version": "0.25"}})}


@pytest.mark.parametrize(
    ("pages", "prometheus", "status", "seen"),
    [
        pytest.param(AM_READY, None, "ok", "version 0.25, ready", id="ready"),
        pytest.param(
            AM_READY,
            prometheus_pages(),
            "ok",
            "version 0.25, ready, Prometheus sends to http://am:9093/api/v2/alerts",
            id="known-to-prometheus",
        ),
        pytest.param(
            AM_READY,
            prometheus_pages(alertmanagers={"activeAlertmanagers": []}),
            "failed",
            "version 0.25 is ready, but Prometheus sends its alerts nowhere",
            id="unknown-to-prometheus",
        ),
    ],
)
def test_alertmanager(
    pages: dict[str, tuple[int, Any]],
    prometheus: dict[str, tuple[int, Any]] | None,
    status: str,
    seen: str,
) -> None:
    with answering(pages) as url, answering(prometheus or {}) as prometheus_url:
        addresses = replace(
            QUICK, alertmanager_url=url, prometheus_url=prometheus_url if prometheus else None
        )
        found = hop("Alertmanager", addresses)

    assert (found.status, found.seen) == (status, seen)


SPAN = {"traceId": "CvdlGRbNQ92ESOshHIAxnA==", "spanId": "t60pp6wx", "name": "node"}
STORES = {
    "tempo": {"batches": [{"scopeSpans": [{"spans": [SPAN, SPAN]}]}]},
    "tempo-v2": {"trace": {"resourceSpans": [{"scopeSpans": [{"spans": [SPAN, SPAN]}]}]}},
    "jaeger": {"data": [{"traceID": TRACE_ID, "spans": [
        {"traceID": TRACE_ID, "spanID": "1"}, {"traceID": TRACE_ID, "spanID": "2",
         "references": [{"traceID": TRACE_ID, "spanID": "1", "refType": "CHILD_OF"}]},
    ]}]},
}  # fmt: skip


@pytest.mark.parametrize("body", STORES.values(), ids=STORES)
def test_a_trace_is_read_back(body: dict[str, Any]) -> None:
    with answering({f"/api/traces/{TRACE_ID}": (200, body)}) as url:
        found = hop("trace store", replace(QUICK, trace_store_url=url))

    assert (found.status, found.seen) == ("ok", f"2 spans of the trace {TRACE_ID}")


def test_a_trace_that_arrives_late_is_waited_for() -> None:
    pages: dict[str, tuple[int, Any]] = {}
    arrive = threading.Timer(
        0.3, pages.update, [{f"/api/traces/{TRACE_ID}": (200, STORES["tempo"])}]
    )
    with answering(pages) as url:
        arrive.start()
        found = hop("trace store", replace(QUICK, trace_store_url=url, patience_seconds=10.0))

    assert found.status == "ok"
    assert found.seconds >= 0.25


@pytest.mark.parametrize(
    ("pages", "seen"),
    [
        pytest.param({}, f"the trace {TRACE_ID} is not there after 0 s", id="never-arrived"),
        pytest.param(
            {f"/api/traces/{TRACE_ID}": (200, {"batches": []})},
            f"the trace {TRACE_ID} is empty",
            id="empty",
        ),
    ],
)
def test_a_trace_that_is_missing(pages: dict[str, tuple[int, Any]], seen: str) -> None:
    with answering(pages) as url:
        found = hop("trace store", replace(QUICK, trace_store_url=url))

    assert (found.status, found.seen) == ("failed", seen)


def test_an_untraced_turn_cannot_be_read_back() -> None:
    addresses = replace(QUICK, trace_store_url="http://127.0.0.1:1")
    (found,) = (
        h
        for h in examine(addresses, lambda: SentTurn(outcome="answered", trace_id=None), {})
        if h.name == "trace store"
    )

    assert (found.status, found.seen) == ("failed", "the turn has no trace")


def test_records_are_written_and_read_and_leave_nothing(tmp_path: Path) -> None:
    path = tmp_path / "turns.db"

    found = hop("turn records", replace(QUICK, records_url=str(path)))

    assert found.status == "ok"
    assert found.seen == f"{path} wrote and read a record, holds 0 turns"
    with open_reader(path) as reader:
        assert reader.count() == 0


def test_records_that_cannot_be_written(tmp_path: Path) -> None:
    found = hop("turn records", replace(QUICK, records_url=str(tmp_path)))

    assert found.status == "failed"
    assert "not available" in found.seen


@pytest.mark.servers
def test_the_whole_way_with_real_servers(tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(
        "groups: [{name: swap, rules: [{alert: RagSynonymSwapTicket, expr: 'vector(0) > 1'}]}]"
    )
    quiet = "route: {receiver: none}\nreceivers: [{name: none}]\n"
    with (
        metrics_server() as metrics,
        collector() as spans,
        native_servers.alertmanager(quiet, tmp_path / "am") as alertmanager,
    ):
        config = f"""
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{tmp_path}/rules.yml]
scrape_configs:
  - job_name: agent
    static_configs: [{{targets: ['{metrics.split("/")[2]}']}}]
alerting:
  alertmanagers: [{{static_configs: [{{targets: ['{alertmanager.split("/")[2]}']}}]}}]
"""
        with native_servers.prometheus(config, tmp_path / "prometheus") as prometheus:
            addresses = Addresses(
                metrics_url=metrics,
                export=ExportOptions(endpoint=spans.url),
                prometheus_url=prometheus,
                alertmanager_url=alertmanager,
                records_url=str(tmp_path / "turns.db"),
                patience_seconds=20.0,
            )
            native_servers.wait_until(
                lambda: hop("Alertmanager", addresses).status == "ok", "discovery"
            )
            found = {h.name: h for h in examine(addresses, lambda: GOOD_TURN, {})}

    assert {name: h.status for name, h in found.items() if h.status != "ok"} == {
        "trace store": "not configured"
    }
    assert found["Prometheus scrape"].seen == "job agent: up, 0 turns"
    assert found["rules"].seen == "1 alerts, firing: none"
    assert f"Prometheus sends to {alertmanager}/api/v2/alerts" in found["Alertmanager"].seen


def test_the_command_prints_json_and_exits_0_when_all_is_well(tmp_path: Path) -> None:
    command = doctor_command(lambda: GOOD_TURN)

    result = CliRunner().invoke(command, ["--records-url", str(tmp_path / "t.db"), "--json"])

    body = json.loads(result.stdout)
    assert result.exit_code == 0
    assert body["ok"] is True
    assert body["hops"][0].keys() == {"name", "status", "seconds", "seen", "fix"}


def test_the_command_prints_a_table_and_exits_1_when_a_hop_does_not_work() -> None:
    command = doctor_command(lambda: GOOD_TURN)
    with closed_port() as url:
        result = CliRunner(env={"LOOPSCOPE_PROMETHEUS_URL": url, "COLUMNS": "120"}).invoke(
            command, []
        )

    assert result.exit_code == 1
    assert "Prometheus scrape" in result.stdout
    assert "nobody listens at" in result.stdout
    assert "Start it, or correct host and port." in result.stdout


def test_wrong_usage_exits_2() -> None:
    result = CliRunner().invoke(doctor_command(lambda: GOOD_TURN), ["--otlp-protocol", "carrier"])

    assert result.exit_code == 2
