"""docker-compose.yml, checked by reading: no engine runs here."""

from __future__ import annotations

import importlib
import re
import shlex
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml

from dashboards import durations
from dashboards.settings import load_settings
from dashboards.stack import parts
from telemetry.endpoints import ExportOptions, resolve
from telemetry.environment import read_export

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load(TEXT)
SERVICES: dict[str, Any] = COMPOSE["services"]
LASTING = sorted(parts.PARTS)
WITH_VOLUME = ["agent", "tempo", "prometheus", "alertmanager", "grafana"]

PROGRAMS = {
    "loopscope:0.1.0": {"python", "sh"},  # Debian slim
    "otel/opentelemetry-collector:0.149.0": set(),  # FROM scratch
    "grafana/tempo:2.9.5": set(),  # distroless; its debug shell is gone in the next minor version
    "prom/prometheus:v3.13.3": {"promtool"},  # BusyBox may give way to distroless, promtool stays
    "prom/alertmanager:v0.34.1": {"amtool"},
    "grafana/grafana:12.4.5": {"sh", "wget"},  # Alpine
}
"""Image -> programs a health check may call. An exact tag: a new version is a new question."""


def mounts(service: str) -> dict[str, str]:
    """Return where -> what of a service's volumes."""
    return {spec.split(":")[1]: spec.split(":")[0] for spec in SERVICES[service].get("volumes", [])}


def test_exactly_the_parts_keep_running_beside_traffic_probe_and_the_volume_step() -> None:
    assert set(SERVICES) == {*parts.PARTS, "traffic", "probe", "volume-owner"}


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_image_is_pinned_to_an_exact_version(name: str) -> None:
    tag = SERVICES[name]["image"].rpartition(":")[2]

    assert re.fullmatch(r"v?\d+\.\d+\.\d+", tag)


@pytest.mark.parametrize("name", LASTING)
def test_image_port_and_user_are_those_of_the_parts(name: str) -> None:
    part, service = parts.PARTS[name], SERVICES[name]
    port = f"127.0.0.1:{part.port}:{part.port}"

    assert service["image"] == part.image
    assert service.get("ports", []) == ([port] if part.is_published else [])
    assert service.get("user", part.user) == part.user


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"volume-owner"}))
def test_service_is_hardened_and_bounded(name: str) -> None:
    service = SERVICES[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["logging"]["options"]["max-size"] == "10m"
    assert service["mem_limit"].endswith(("m", "g"))
    assert "privileged" not in service
    assert service.get("user", "not root").partition(":")[0] != "0"


def test_no_port_is_reachable_from_elsewhere() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]

    assert len(published) == 4
    assert all(port.startswith("127.0.0.1:") for port in published)
    assert not any(service.get("network_mode") == "host" for service in SERVICES.values())


def test_only_the_password_is_interpolated_and_it_has_no_default() -> None:
    assert re.findall(r"\$\{([A-Z_]+)(:?[?-])", TEXT) == [("GRAFANA_ADMIN_PASSWORD", ":?")]
    assert TEXT.count("$") == 1


def test_grafana_lets_nobody_in_and_calls_nobody() -> None:
    environment = SERVICES["grafana"]["environment"]

    assert environment["GF_AUTH_ANONYMOUS_ENABLED"] == "false"
    assert environment["GF_USERS_ALLOW_SIGN_UP"] == "false"
    assert environment["GF_PLUGINS_PREINSTALL_DISABLED"] == "true"
    assert environment["GF_ANALYTICS_REPORTING_ENABLED"] == "false"


def test_grafana_is_new_enough_for_the_keys_of_the_rule_files() -> None:
    version = tuple(int(number) for number in parts.PARTS["grafana"].tag.split("."))

    assert (12, 1, 2) <= version < (13,)  # 13.2 cannot delete retired rules (grafana#131777)


# Case C51 ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "name", [name for name in sorted(SERVICES) if "test" in SERVICES[name].get("healthcheck", {})]
)
def test_health_check_calls_only_what_the_image_holds(name: str) -> None:
    kind, program, *_ = SERVICES[name]["healthcheck"]["test"]

    assert kind == "CMD"  # CMD-SHELL would need a shell
    assert program in PROGRAMS[SERVICES[name]["image"]]


@pytest.mark.parametrize("name", ["collector", "tempo"])
def test_image_without_programs_has_no_health_check(name: str) -> None:
    assert "healthcheck" not in SERVICES[name]


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_dependencies_can_be_met(name: str) -> None:
    for needed, how in SERVICES[name].get("depends_on", {}).items():
        if how["condition"] == "service_healthy":
            assert not SERVICES[needed]["healthcheck"].get("disable")
        else:
            assert how["condition"] == "service_completed_successfully"
            assert SERVICES[needed]["restart"] == "no"


def test_every_service_of_our_image_replaces_the_images_own_check_of_the_agent() -> None:
    ours = [name for name in SERVICES if SERVICES[name]["image"] == parts.LOOPSCOPE_IMAGE]

    assert sorted(ours) == ["agent", "inbox", "probe", "traffic", "volume-owner"]
    assert all("healthcheck" in SERVICES[name] for name in ours)


# Case C48 ------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", WITH_VOLUME)
def test_volume_belongs_to_the_user_that_writes_to_it(name: str) -> None:
    owner = SERVICES["volume-owner"]
    chowns = [shlex.split(line)[1:] for line in owner["command"][0].splitlines()]
    given = {path: user for user, *paths in chowns for path in paths}

    assert name in COMPOSE["volumes"]
    assert name in mounts(name).values()
    assert mounts("volume-owner")[f"/volumes/{name}"] == name
    assert given[f"/volumes/{name}"] == parts.PARTS[name].user
    assert SERVICES[name]["depends_on"]["volume-owner"] == {
        "condition": "service_completed_successfully"
    }


def test_step_for_the_volumes_may_do_that_and_nothing_else() -> None:
    owner = SERVICES["volume-owner"]

    assert owner["cap_drop"] == ["ALL"]
    assert owner["cap_add"] == ["CHOWN"]
    assert owner["network_mode"] == "none"
    assert owner["read_only"] is True


def test_no_other_service_has_a_volume_of_its_own() -> None:
    named = {
        name
        for name in SERVICES
        if any(not source.startswith(".") for source in mounts(name).values())
    }

    assert named == {*WITH_VOLUME, "volume-owner"}
    assert sorted(COMPOSE["volumes"]) == sorted(WITH_VOLUME)


def test_tempo_writes_only_to_its_volume() -> None:
    storage = yaml.safe_load((ROOT / "dashboards/stack/tempo.yml").read_text())["storage"]["trace"]
    (volume,) = [at for at, what in mounts("tempo").items() if what == "tempo"]

    assert storage["backend"] == "local"
    for path in (storage["wal"]["path"], storage["local"]["path"]):
        assert PurePosixPath(path).is_relative_to(volume)


# Flags and mounts ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "flags", "config", "data"),
    [
        ("prometheus", parts.prometheus_flags, "/etc/prometheus/prometheus.yml", "/prometheus"),
        (
            "alertmanager",
            parts.alertmanager_flags,
            "/etc/alertmanager/alertmanager.yml",
            "/alertmanager",
        ),
    ],
)
def test_flags_are_those_of_the_native_servers(
    name: str, flags: Any, config: str, data: str
) -> None:
    listen = f"0.0.0.0:{parts.PARTS[name].port}"

    assert SERVICES[name]["command"] == flags(config=config, data=data, listen=listen)
    assert mounts(name)[config] == f"./dashboards/stack/{name}.yml"
    assert mounts(name)[data] == name


def test_exemplars_are_stored() -> None:
    assert "--enable-feature=exemplar-storage" in SERVICES["prometheus"]["command"]


def test_samples_are_kept_longer_than_any_rule_looks_back() -> None:
    settings = load_settings()
    kept = durations.seconds(parts.RETENTION)

    assert kept > settings.baseline_window + settings.baseline_delay
    assert kept > settings.period + settings.window_medium


def test_rules_are_mounted_where_prometheus_looks_for_them() -> None:
    config = yaml.safe_load((ROOT / "dashboards/stack/prometheus.yml").read_text())
    (pattern,) = config["rule_files"]
    folder = str(PurePosixPath(pattern).parent)

    assert mounts("prometheus")[folder] == "./dashboards/generated/prometheus"


def test_grafana_provisions_sources_boards_and_rules() -> None:
    provider = yaml.safe_load(
        (ROOT / "dashboards/stack/grafana/dashboards/provider.yml").read_text()
    )["providers"][0]

    assert mounts("grafana") == {
        "/etc/grafana/provisioning/datasources": "./dashboards/stack/grafana/datasources",
        "/etc/grafana/provisioning/dashboards": "./dashboards/stack/grafana/dashboards",
        "/etc/grafana/provisioning/alerting": "./dashboards/generated/grafana/alerting",
        provider["options"]["path"]: "./dashboards/generated/grafana/dashboards",
        "/var/lib/grafana": "grafana",
    }
    assert provider["folder"] != load_settings().grafana_folder


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(spec, id=spec.split(":")[0])
        for name in sorted(SERVICES)
        for spec in SERVICES[name].get("volumes", [])
        if spec.startswith("./dashboards/stack")
    ],
)
def test_configuration_is_mounted_read_only_and_exists(spec: str) -> None:
    source, _, mode = spec.split(":")

    assert mode == "ro"
    assert (ROOT / source).exists()


# Case C33, C61: what the agent makes of its variables ----------------------------------------
@pytest.mark.parametrize("signal", ["traces", "logs"])
def test_agent_exports_to_the_collector_without_a_warning(signal: Any) -> None:
    variables = read_export(
        {key: value for key, value in SERVICES["agent"]["environment"].items() if value}
    )
    endpoint = resolve(signal, ExportOptions(), getattr(variables, signal))

    assert endpoint is not None
    assert endpoint.url == f"http://collector:{parts.OTLP_HTTP_PORT}/v1/{signal}"
    assert endpoint.warning is None


# Commands ------------------------------------------------------------------------------------
def test_agent_serves_every_address_of_its_container() -> None:
    port = str(parts.PARTS["agent"].port)

    assert SERVICES["agent"]["command"] == ["serve", "--host", "0.0.0.0", "--port", port]
    assert f"'127.0.0.1', {port}" in SERVICES["agent"]["healthcheck"]["test"][-1]
    assert "'/readyz'" in SERVICES["agent"]["healthcheck"]["test"][-1]


def test_inbox_listens_where_alertmanager_sends() -> None:
    port = str(parts.PARTS["inbox"].port)
    module = SERVICES["inbox"]["entrypoint"][-1]

    assert SERVICES["inbox"]["entrypoint"] == ["python", "-m", "dashboards.stack.inbox"]
    assert callable(importlib.import_module(module).main)
    assert SERVICES["inbox"]["command"] == ["--host", "0.0.0.0", "--port", port]
    assert f"'127.0.0.1', {port}" in SERVICES["inbox"]["healthcheck"]["test"][-1]


def test_traffic_runs_only_when_asked_for_and_asks_the_agent() -> None:
    url = f"http://{parts.address('agent')}"

    assert SERVICES["traffic"]["profiles"] == ["traffic"]
    assert SERVICES["traffic"]["command"][:3] == ["traffic", "--url", url]
    assert [name for name in SERVICES if "profiles" in SERVICES[name]] == ["traffic", "probe"]


def test_prober_runs_only_when_asked_for_with_the_agents_key() -> None:
    host, port = parts.PROBE.split(":")

    assert SERVICES[host]["profiles"] == ["probe"]
    assert SERVICES[host]["command"] == [
        "probe", "--url", f"http://{parts.address('agent')}", "--host", "0.0.0.0", "--port", port,
    ]  # fmt: skip
    for service in (host, "agent"):  # None: as in the shell that starts the stack
        assert SERVICES[service]["environment"]["LOOPSCOPE_PROBE_KEY"] is None
