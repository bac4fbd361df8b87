from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from native_servers import need

from dashboards import durations
from dashboards.errors import PlaceError
from dashboards.failures import FAILURES
from dashboards.settings import Settings, load_settings
from dashboards.stack import parts, render
from telemetry import names

PLACE = render.Place(
    targets={"support-agent": ["127.0.0.1:8001"], "slow": ["127.0.0.1:8002", "[::1]:8003"]},
    alertmanager="127.0.0.1:9093",
    rules="/tmp/rules/*.yml",
    notifications="http://127.0.0.1:9099/",
)


def loaded(text: str) -> Any:
    assert text.startswith("# Generated from dashboards/stack/render.py")
    return yaml.safe_load(text)


# What is committed ---------------------------------------------------------------------------
@pytest.mark.parametrize(("path", "text"), list(render.files(load_settings()).items()))
def test_committed_file_is_what_is_rendered(path: str, text: str) -> None:
    assert (render.FOLDER / path).read_text(encoding="utf-8") == text


def test_same_settings_give_the_same_bytes() -> None:
    assert render.files(load_settings()) == render.files(load_settings())


# Prometheus ----------------------------------------------------------------------------------
def test_every_job_is_scraped_at_exactly_metrics_and_no_redirect_is_followed() -> None:
    jobs = loaded(render.prometheus(PLACE, load_settings()))["scrape_configs"]

    assert {job["job_name"]: job["static_configs"] for job in jobs} == {
        "support-agent": [{"targets": ["127.0.0.1:8001"]}],
        "slow": [{"targets": ["127.0.0.1:8002", "[::1]:8003"]}],
    }
    assert {job["metrics_path"] for job in jobs} == {"/metrics"}
    assert {job["follow_redirects"] for job in jobs} == {False}


def test_compose_scrapes_every_part_that_has_metrics() -> None:
    jobs = loaded(render.prometheus(render.COMPOSE, load_settings()))["scrape_configs"]
    found = {target for job in jobs for target in job["static_configs"][0]["targets"]}

    assert found == {parts.PROBE, *(parts.address(n) for n in parts.PARTS if n != "inbox")}


def test_the_prober_is_scraped_as_a_part_of_its_service() -> None:
    """Its series then have the service's `job`, by which alerts and boards group."""
    (job,) = [
        job
        for job in loaded(render.prometheus(render.COMPOSE, load_settings()))["scrape_configs"]
        if job["job_name"] == parts.AGENT_JOB
    ]

    assert job["static_configs"] == [{"targets": [parts.address("agent"), parts.PROBE]}]


@pytest.mark.parametrize(
    ("changes", "scrape", "evaluation"),
    [
        pytest.param({}, "15s", "1m", id="defaults"),
        pytest.param({"scrape_interval": 60}, "1m", "1m", id="a-minute"),
        pytest.param(
            {"scrape_interval": 1, "time_scale": 1 / 60}, "1s", "1s", id="a-demo-with-scaled-time"
        ),
        pytest.param(
            {"scrape_interval": 0.5, "time_scale": 1 / 90}, "500ms", "667ms", id="below-a-second"
        ),
    ],
)
def test_intervals_come_from_the_settings(
    changes: dict[str, float], scrape: str, evaluation: str
) -> None:
    config = loaded(render.prometheus(PLACE, load_settings(**changes)))["global"]

    assert config == {"scrape_interval": scrape, "evaluation_interval": evaluation}


# Case C91 ------------------------------------------------------------------------------------
@pytest.mark.parametrize("scrape", [15, 60])
def test_grafana_knows_the_scrape_interval(scrape: float) -> None:
    settings = load_settings(scrape_interval=scrape)
    files = render.files(settings)
    source = loaded(files["grafana/datasources/datasources.yml"])["datasources"][0]
    config = loaded(files["prometheus.yml"])

    assert source["jsonData"]["timeInterval"] == config["global"]["scrape_interval"]
    assert durations.seconds(config["global"]["scrape_interval"]) == scrape
    assert min(settings.range_seconds(window) for window in settings.windows) >= 4 * scrape


# Case C85, C92 -------------------------------------------------------------------------------
def test_exemplar_leads_to_the_declared_trace_store() -> None:
    settings = load_settings(prometheus_uid="metrics-here", tempo_uid="traces-here")
    prometheus, tempo = loaded(render.datasources(settings))["datasources"]
    (destination,) = prometheus["jsonData"]["exemplarTraceIdDestinations"]

    assert (prometheus["uid"], tempo["uid"]) == ("metrics-here", "traces-here")
    assert destination["name"] == names.EXEMPLAR_TRACE_ID
    assert destination["datasourceUid"] == tempo["uid"]
    assert prometheus["url"] == f"http://{parts.address('prometheus')}"
    assert tempo["url"] == f"http://{parts.address('tempo')}"


def test_nothing_that_grafana_would_take_for_a_variable_is_in_its_files() -> None:
    for path in (render.FOLDER / "grafana").rglob("*.yml"):
        assert "$" not in path.read_text(encoding="utf-8")


# Alertmanager --------------------------------------------------------------------------------
def routed(tmp_path: Path, settings: Settings, *labels: str) -> str:
    """Return the receiver that amtool says an alert goes to."""
    file = tmp_path / "alertmanager.yml"
    file.write_text(render.alertmanager(PLACE, settings), encoding="utf-8")
    command = [need("amtool"), "config", "routes", "test", f"--config.file={file}", *labels]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.servers
@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param(["severity=page", "failure=runaway_loop"], "page", id="page"),
        pytest.param(["severity=ticket", "failure=runaway_loop"], "ticket", id="ticket"),
        pytest.param(["severity=critical"], "default", id="unknown-severity-is-not-lost"),
        pytest.param(["alertname=Foreign"], "default", id="no-severity-is-not-lost"),
    ],
)
def test_severity_decides_where_an_alert_goes(
    tmp_path: Path, labels: list[str], expected: str
) -> None:
    assert routed(tmp_path, load_settings(), *labels) == expected


@pytest.mark.servers
def test_renamed_severities_are_routed_too(tmp_path: Path) -> None:
    settings = load_settings(severity_page='P"1"', severity_ticket="P3")

    assert routed(tmp_path, settings, r'severity="P\"1\""') == "page"
    assert routed(tmp_path, settings, "severity=P3") == "ticket"
    assert routed(tmp_path, settings, "severity=page") == "default"


def test_alerts_of_services_are_kept_apart_by_the_grouping_labels() -> None:
    settings = load_settings(group_by="job,cluster")
    config = loaded(render.alertmanager(PLACE, settings))

    assert config["route"]["group_by"] == ["failure", "job", "cluster"]
    assert [rule["equal"] for rule in config["inhibit_rules"]] == [
        ["failure", "job", "cluster"],
        ["failure", "job", "cluster"],
        ["job", "cluster"],
    ]


def test_waits_scale_with_the_demo() -> None:
    route = loaded(render.alertmanager(PLACE, load_settings(scrape_interval=1, time_scale=1 / 60)))

    assert route["route"]["group_wait"] == "167ms"
    assert route["route"]["group_interval"] == "5s"


def test_every_receiver_tells_the_webhook_also_when_it_is_over() -> None:
    receivers = loaded(render.alertmanager(PLACE, load_settings()))["receivers"]

    assert [receiver["name"] for receiver in receivers] == ["default", "page", "ticket"]
    assert all(
        receiver["webhook_configs"] == [{"url": PLACE.notifications, "send_resolved": True}]
        for receiver in receivers
    )


def test_failure_that_quiets_all_others_is_in_the_guide() -> None:
    assert render.ABSENT in {failure.slug for failure in FAILURES}


# The real programs read it -------------------------------------------------------------------
@pytest.mark.servers
@pytest.mark.parametrize("place", [render.COMPOSE, PLACE], ids=["compose", "native"])
@pytest.mark.parametrize(
    ("program", "arguments", "write"),
    [
        ("promtool", ["check", "config"], render.prometheus),
        ("amtool", ["check-config"], render.alertmanager),
    ],
    ids=["promtool", "amtool"],
)
def test_real_checker_accepts_it(
    tmp_path: Path, place: render.Place, program: str, arguments: list[str], write: Any
) -> None:
    file = tmp_path / "config.yml"
    file.write_text(write(place, load_settings()), encoding="utf-8")
    done = subprocess.run(
        [need(program), *arguments, str(file)], check=False, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stdout + done.stderr


# Bad places ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(
            {"alertmanager": "http://127.0.0.1:9093"},
            "wrong address for the stack: got 'http://127.0.0.1:9093', expected host:port without "
            "scheme or path. Correct the place.",
            id="an-address-with-a-scheme",
        ),
        pytest.param(
            {"targets": {"agent": ["127.0.0.1"]}},
            "wrong address for the stack: got '127.0.0.1', expected host:port without scheme or "
            "path. Correct the place.",
            id="a-target-without-a-port",
        ),
        pytest.param(
            {"notifications": "127.0.0.1:9099"},
            "wrong webhook receiver for the stack: got '127.0.0.1:9099', expected an http or https "
            "URL. Correct the place.",
            id="a-receiver-without-a-scheme",
        ),
    ],
)
def test_place_that_cannot_work_is_refused(changes: dict[str, Any], expected: str) -> None:
    fields = {name: getattr(PLACE, name) for name in PLACE.__slots__}
    with pytest.raises(PlaceError) as refused:
        render.Place(**{**fields, **changes})

    assert str(refused.value) == expected
