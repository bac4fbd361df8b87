"""The rendered configuration, run for real: Prometheus, Alertmanager, a target and the inbox."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import prometheus_client
import pytest
import yaml
from native_servers import answers, free_port, need, running, wait_until

from dashboards.settings import load_settings
from dashboards.stack import parts, render
from dashboards.stack.inbox import Inbox
from telemetry import names

pytestmark = pytest.mark.servers

SETTINGS = load_settings(scrape_interval=1, time_scale=1 / 60)
TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
RULES = {
    "groups": [
        {
            "name": "rag_silent_rejection",
            "rules": [
                {
                    "alert": f"RagSilentRejection{severity.capitalize()}",
                    "expr": f"{names.BUILD_INFO} == 1",
                    "labels": {"failure": "silent_rejection", "severity": severity},
                    "annotations": {"summary": "{{ $labels.job }} refuses"},
                }
                for severity in ("page", "ticket")
            ],
        }
    ]
}
COMPOSE = yaml.safe_load((Path(__file__).parents[2] / "docker-compose.yml").read_text())


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    prometheus: str
    alertmanager: str
    inbox: Inbox

    def ask(self, path: str) -> Any:
        return fetch(self.prometheus + "/api/v1/" + path)["data"]

    def inject(self, *alerts: dict[str, str]) -> None:
        body = json.dumps([{"labels": labels} for labels in alerts]).encode()
        request = urllib.request.Request(
            self.alertmanager + "/api/v2/alerts", body, {"Content-Type": "application/json"}
        )
        urllib.request.urlopen(request, timeout=5).close()

    def state(self, alert: str) -> str:
        """Return active, suppressed, or unprocessed or absent as an empty text."""
        states = [
            found["status"]["state"]
            for found in fetch(self.alertmanager + "/api/v2/alerts")
            if found["labels"]["alertname"] == alert
        ]
        return states[0] if states else ""

    def arrived(self, alert: str) -> list[str]:
        """Return the receivers that got an alert."""
        return [notice.receiver for notice in self.inbox.notices if notice.alert == alert]


def fetch(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=5) as reply:
        return json.load(reply)


@contextmanager
def served(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Agent(prometheus_client.MetricsHandler):
    """A target with a build, and a histogram whose exemplar points at a trace."""

    registry = prometheus_client.CollectorRegistry()


prometheus_client.Gauge(names.BUILD_INFO, "Build.", registry=Agent.registry).set(1)
prometheus_client.Histogram(
    names.TURN_DURATION, "Duration.", buckets=[1.0], registry=Agent.registry
).observe(0.5, {names.EXEMPLAR_TRACE_ID: TRACE_ID})


class Redirecting(BaseHTTPRequestHandler):
    """A mounted metrics application: the exact path is redirected (case C38)."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/metrics/" else 307)
        self.send_header("Location", "/metrics/")
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    home = tmp_path_factory.mktemp("stack")
    (home / "rules").mkdir()
    (home / "rules" / "silent_rejection.yml").write_text(json.dumps(RULES))
    ports = {"prometheus": free_port(), "alertmanager": free_port()}
    with ExitStack() as parts_of_it:
        inbox = parts_of_it.enter_context(Inbox())
        place = render.Place(
            targets={
                "support-agent": [f"127.0.0.1:{parts_of_it.enter_context(served(Agent))}"],
                "redirecting": [f"127.0.0.1:{parts_of_it.enter_context(served(Redirecting))}"],
            },
            alertmanager=f"127.0.0.1:{ports['alertmanager']}",
            rules=str(home / "rules" / "*.yml"),
            notifications=inbox.url,
        )
        for name, program, flags, write in (
            (
                "alertmanager",
                "prometheus-alertmanager",
                parts.alertmanager_flags,
                render.alertmanager,
            ),
            ("prometheus", "prometheus", parts.prometheus_flags, render.prometheus),
        ):
            config = home / f"{name}.yml"
            config.write_text(write(place, SETTINGS), encoding="utf-8")
            listen = f"127.0.0.1:{ports[name]}"
            command = flags(config=str(config), data=str(home / name), listen=listen)
            parts_of_it.enter_context(running([need(program), *command], home / f"{name}.log"))
            wait_until(lambda at=listen: answers(f"http://{at}/-/ready"), name)  # type: ignore[misc]
        yield Stack(
            prometheus=f"http://127.0.0.1:{ports['prometheus']}",
            alertmanager=f"http://127.0.0.1:{ports['alertmanager']}",
            inbox=inbox,
        )


def target(stack: Stack, job: str) -> dict[str, Any]:
    def found() -> list[dict[str, Any]]:
        targets = stack.ask("targets")["activeTargets"]
        return [at for at in targets if at["labels"]["job"] == job and at["health"] != "unknown"]

    wait_until(lambda: bool(found()), f"scrape of {job}")
    return found()[0]


def test_target_is_scraped_at_the_exact_path(stack: Stack) -> None:
    agent = target(stack, "support-agent")

    assert agent["health"] == "up"
    assert agent["scrapeUrl"].endswith("/metrics")
    assert agent["scrapeInterval"] == "1s"


def test_target_that_redirects_is_down_and_not_silently_followed(stack: Stack) -> None:
    assert target(stack, "redirecting")["health"] == "down"


def test_prometheus_discovers_alertmanager(stack: Stack) -> None:
    wait_until(lambda: bool(stack.ask("alertmanagers")["activeAlertmanagers"]), "discovery")
    (found,) = stack.ask("alertmanagers")["activeAlertmanagers"]

    assert found["url"] == f"{stack.alertmanager}/api/v2/alerts"


def test_exemplar_is_stored_under_the_label_that_grafana_links(stack: Stack) -> None:
    target(stack, "support-agent")
    query = f"query_exemplars?query={names.TURN_DURATION}_bucket&start=0&end=9999999999"
    wait_until(lambda: bool(stack.ask(query)), "exemplar")
    (series,) = stack.ask(query)

    assert series["exemplars"][0]["labels"] == {names.EXEMPLAR_TRACE_ID: TRACE_ID}


def test_page_of_a_rule_arrives_and_its_ticket_is_kept_quiet(stack: Stack) -> None:
    wait_until(lambda: bool(stack.arrived("RagSilentRejectionPage")), "notification")
    wait_until(lambda: stack.state("RagSilentRejectionTicket") == "suppressed", "inhibition")

    assert set(stack.arrived("RagSilentRejectionPage")) == {"page"}
    assert stack.arrived("RagSilentRejectionTicket") == []


@pytest.mark.parametrize(
    ("quiet", "loud", "expected"),
    [
        pytest.param(
            {"failure": "loop", "severity": "ticket", "job": "a"},
            {"failure": "loop", "severity": "page", "job": "a"},
            True,
            id="page-quiets-the-ticket-of-its-failure-and-job",
        ),
        pytest.param(
            {"failure": "loop", "severity": "ticket", "job": "b"},
            {"failure": "loop", "severity": "page", "job": "c"},
            False,
            id="ticket-of-another-job-stays",
        ),
        pytest.param(
            {"failure": "drift", "severity": "ticket", "job": "d"},
            {"failure": "loop", "severity": "page", "job": "d"},
            False,
            id="ticket-of-another-failure-stays",
        ),
        pytest.param(
            {"failure": "jump", "severity": "ticket", "cause": "index", "job": "e"},
            {"failure": "jump", "severity": "page", "job": "e"},
            False,
            id="ticket-that-names-a-cause-stays",
        ),
        pytest.param(
            {"failure": "jump", "severity": "page", "job": "f"},
            {"failure": "jump", "severity": "page", "cause": "change", "job": "f"},
            True,
            id="page-after-a-change-quiets-the-plain-page",
        ),
        pytest.param(
            {"failure": "loop", "severity": "page", "job": "g"},
            {"failure": "metrics_absent", "severity": "page", "job": "g"},
            True,
            id="absent-metrics-quiet-everything-else-of-the-job",
        ),
        pytest.param(
            {"failure": "loop", "severity": "page", "job": "h"},
            {"failure": "metrics_absent", "severity": "page", "job": "i"},
            False,
            id="absent-metrics-of-another-job-quiet-nothing",
        ),
        pytest.param(
            {"severity": "critical", "job": "j"},
            {"failure": "loop", "severity": "page", "job": "j"},
            False,
            id="unknown-severity-is-told-to-the-default-receiver",
        ),
    ],
)
def test_injected_pair(
    stack: Stack, quiet: dict[str, str], loud: dict[str, str], expected: bool
) -> None:
    name = f"Quiet{quiet['job']}"
    stack.inject({"alertname": f"Loud{quiet['job']}", **loud}, {"alertname": name, **quiet})
    wait_until(lambda: bool(stack.arrived(f"Loud{quiet['job']}")), "notification")
    if expected:
        wait_until(lambda: stack.state(name) == "suppressed", "inhibition")
        assert stack.arrived(name) == []
    else:
        wait_until(lambda: bool(stack.arrived(name)), "notification")
        receiver = quiet["severity"] if quiet["severity"] in ("page", "ticket") else "default"
        assert stack.arrived(name) == [receiver]


def check(service: str, port: int, url: str) -> Sequence[str]:
    """Return a health check of the compose file, pointed at a server of this machine."""
    kind, program, *arguments = COMPOSE["services"][service]["healthcheck"]["test"]
    own = parts.PARTS[service].port
    assert kind == "CMD"
    return [
        sys.executable if program == "python" else need(program),
        *(
            argument.replace(f"http://127.0.0.1:{own}", url).replace(
                f"'127.0.0.1', {own}", f"'127.0.0.1', {port}"
            )
            for argument in arguments
        ),
    ]


@pytest.mark.parametrize("service", ["prometheus", "alertmanager", "inbox"])
def test_health_check_of_the_compose_file_tells_up_from_down(stack: Stack, service: str) -> None:
    urls = {
        "prometheus": stack.prometheus,
        "alertmanager": stack.alertmanager,
        "inbox": stack.inbox.url.rstrip("/"),
    }
    port = int(urls[service].rpartition(":")[2])
    closed = free_port()
    up = subprocess.run(check(service, port, urls[service]), check=False, capture_output=True)
    down = subprocess.run(
        check(service, closed, f"http://127.0.0.1:{closed}"), check=False, capture_output=True
    )

    assert up.returncode == 0, up.stderr
    assert down.returncode != 0
