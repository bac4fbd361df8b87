from __future__ import annotations

import logging

import pytest

from telemetry.content import VARIABLE
from telemetry.endpoints import Endpoint, ExportOptions, Signal, resolve
from telemetry.environment import (
    active_tracers,
    read_export,
    report_tracers,
    silence_tracers,
)
from telemetry.errors import ExportSettingsError

BASE = "OTEL_EXPORTER_OTLP_ENDPOINT"
TRACES = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL"
SIZE = "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"


def endpoint_of(
    environment: dict[str, str], options: ExportOptions, signal: Signal = "traces"
) -> Endpoint | None:
    variables = read_export(environment)
    return resolve(signal, options, variables.traces if signal == "traces" else variables.logs)


@pytest.mark.parametrize(
    ("option", "environment", "traces", "logs"),
    [
        pytest.param(None, {}, None, None, id="nothing-set-nothing-leaves"),
        pytest.param("http://c:4318", {}, "/v1/traces", "/v1/logs", id="option-base"),
        pytest.param("http://c:4318/", {}, "/v1/traces", "/v1/logs", id="option-base-slash"),
        pytest.param("http://c:4318/v1/traces", {}, "/v1/traces", "/v1/logs", id="option-full"),
        pytest.param("http://c:4318/v1/logs/", {}, "/v1/traces", "/v1/logs", id="option-other"),
        pytest.param(
            "http://c:4318/otlp", {}, "/otlp/v1/traces", "/otlp/v1/logs", id="option-prefix"
        ),
        pytest.param(
            None, {BASE: "http://c:4318"}, "/v1/traces", "/v1/logs", id="variable-base"
        ),
        pytest.param(
            None,
            {BASE: "http://c:4318/v1/traces"},
            "/v1/traces/v1/traces",
            "/v1/traces/v1/logs",
            id="variable-base-is-always-appended-to",
        ),
        pytest.param(None, {TRACES: "http://c:4318"}, "/", None, id="variable-full-is-verbatim"),
        pytest.param(
            None, {TRACES: "http://c:4318/x", BASE: "http://c:4318"}, "/x", "/v1/logs", id="own"
        ),
        pytest.param(
            "http://c:4318", {BASE: "http://other:1"}, "/v1/traces", "/v1/logs", id="option-first"
        ),
        pytest.param(
            None,
            {BASE: "http://c:4318", "OTEL_LOGS_EXPORTER": "none"},
            "/v1/traces",
            None,
            id="one-signal-off",
        ),
        pytest.param("http://c:4318", {"OTEL_TRACES_EXPORTER": "none"}, None, "/v1/logs", id="off"),
        pytest.param(None, {BASE: "  "}, None, None, id="blank-is-unset"),
    ],
)  # fmt: skip
def test_http_urls(
    option: str | None, environment: dict[str, str], traces: str | None, logs: str | None
) -> None:
    options = ExportOptions(endpoint=option)
    found = [endpoint_of(environment, options, signal) for signal in ("traces", "logs")]

    assert [None if e is None else e.url for e in found] == [
        None if path is None else f"http://c:4318{path}" for path in (traces, logs)
    ]


@pytest.mark.parametrize(
    ("environment", "url", "protocol"),
    [
        pytest.param(
            {"OTEL_TRACES_EXPORTER": "otlp"},
            "http://localhost:4318/v1/traces",
            "http/protobuf",
            id="otlp-without-an-address",
        ),
        pytest.param(
            {"OTEL_TRACES_EXPORTER": "otlp", PROTOCOL: "grpc"},
            "http://localhost:4317",
            "grpc",
            id="grpc-without-an-address",
        ),
        pytest.param({"OTEL_TRACES_EXPORTER": "console"}, "stderr", "console", id="console"),
        pytest.param(
            {BASE: "https://c:4317/", PROTOCOL: "grpc"}, "https://c:4317", "grpc", id="grpc-tls"
        ),
        pytest.param(
            {BASE: "http://c:4317", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"},
            "http://c:4317",
            "grpc",
            id="the-signal's-own-protocol",
        ),
    ],
)
def test_protocols(environment: dict[str, str], url: str, protocol: str) -> None:
    endpoint = endpoint_of(environment, ExportOptions())

    assert endpoint == Endpoint(url=url, protocol=protocol)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("option", "environment", "message"),
    [
        pytest.param(
            ExportOptions(endpoint="c:4317", protocol="grpc"),
            {},
            "OTLP endpoint: got 'c:4317', expected a URL that begins with http:// or https://. "
            "Write http://c:4317 for plain text or https://c:4317 for TLS.",
            id="grpc-without-a-scheme",
        ),
        pytest.param(
            ExportOptions(endpoint="c:4318"),
            {},
            "OTLP endpoint: got 'c:4318', expected a URL that begins with http:// or https://. "
            "Write http://c:4318 for plain text or https://c:4318 for TLS.",
            id="http-without-a-scheme",
        ),
        pytest.param(
            ExportOptions(endpoint="https://c:4317", protocol="grpc", insecure=True),
            {},
            "OTLP endpoint: got 'https://c:4317 with insecure=true', expected a scheme and an "
            "insecure flag that agree. Write http://c:4317, or drop the insecure flag: the scheme "
            "decides.",
            id="tls-and-insecure",
        ),
        pytest.param(
            ExportOptions(),
            {BASE: "http://c:4317", PROTOCOL: "grpc", "OTEL_EXPORTER_OTLP_INSECURE": "false"},
            "OTEL_EXPORTER_OTLP_ENDPOINT: got 'http://c:4317 with insecure=false', expected a "
            "scheme and an insecure flag that agree. Write https://c:4317, or drop the insecure "
            "flag: the scheme decides.",
            id="plain-and-secure",
        ),
        pytest.param(
            ExportOptions(),
            {BASE: "http://c:4318", PROTOCOL: "http/json"},
            "OTEL_EXPORTER_OTLP_PROTOCOL: got 'http/json', expected one of ('http/protobuf', "
            "'grpc'). Unset it for HTTP, or set it to grpc.",
            id="an-unknown-protocol",
        ),
        pytest.param(
            ExportOptions(),
            {"OTEL_TRACES_EXPORTER": "zipkin"},
            "OTEL_TRACES_EXPORTER: got 'zipkin', expected one of ('otlp', 'console', 'none'). "
            "Choose one.",
            id="an-unknown-exporter",
        ),
        pytest.param(
            ExportOptions(endpoint="http://c:99999"),
            {},
            "OTLP endpoint: got 'http://c:99999', expected a port from 1 to 65535. Correct the "
            "number after the colon.",
            id="no-such-port",
        ),
    ],
)
def test_settings_that_are_refused(
    option: ExportOptions, environment: dict[str, str], message: str
) -> None:
    with pytest.raises(ExportSettingsError) as caught:
        endpoint_of(environment, option)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        pytest.param(
            ExportOptions(endpoint="http://c:4317"),
            "OTLP over HTTP to port 4317 of c: that port usually speaks gRPC. Use port 4318, or "
            "set OTEL_EXPORTER_OTLP_PROTOCOL=grpc.",
            id="http-to-the-grpc-port",
        ),
        pytest.param(
            ExportOptions(endpoint="http://c:4318", protocol="grpc"),
            "OTLP over gRPC to port 4318 of c: that port usually speaks HTTP. Use port 4317, or "
            "set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf.",
            id="grpc-to-the-http-port",
        ),
        pytest.param(
            ExportOptions(endpoint="http://c:4317/v1/traces", protocol="grpc"),
            "OTLP over gRPC has no path: /v1/traces of c is ignored. Leave it out.",
            id="grpc-with-a-path",
        ),
        pytest.param(ExportOptions(endpoint="http://c:4318"), None, id="all-is-well"),
        pytest.param(ExportOptions(endpoint="https://c"), None, id="no-port-no-guess"),
    ],
)
def test_what_looks_wrong_is_a_warning(option: ExportOptions, expected: str | None) -> None:
    endpoint = endpoint_of({}, option)

    assert endpoint is not None
    assert endpoint.warning == expected


def test_a_signal_s_own_variable_without_a_path_is_a_warning() -> None:
    endpoint = endpoint_of({TRACES: "http://c:4318"}, ExportOptions())

    assert endpoint is not None
    assert endpoint.warning == (
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is taken as it is, and has no path: OTLP is usually "
        "taken at /v1/traces. Append it, or set OTEL_EXPORTER_OTLP_ENDPOINT instead."
    )


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        pytest.param({}, 512, id="the-specifications-default"),
        pytest.param({VARIABLE: "true"}, 512, id="no-text-is-captured"),
        pytest.param({VARIABLE: "span_only"}, 256, id="smaller-where-text-is-captured"),
        pytest.param({VARIABLE: "EVENT_ONLY", SIZE: "300"}, 300, id="a-variable-decides"),
    ],
)
def test_a_batch_with_text_is_smaller(environment: dict[str, str], expected: int) -> None:
    assert read_export(environment).traces.limits.batch_size == expected


def test_batch_settings_come_from_the_standard_variables(
    caplog: pytest.LogCaptureFixture,
) -> None:
    variables = read_export(
        {
            "OTEL_BSP_MAX_QUEUE_SIZE": "100",
            "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "500",
            "OTEL_BSP_SCHEDULE_DELAY": "250",
            "OTEL_BLRP_MAX_QUEUE_SIZE": "many",
        }
    )

    assert variables.traces.limits.capacity == 100
    assert variables.traces.limits.batch_size == 100
    assert variables.traces.limits.interval_seconds == 0.25
    assert variables.logs.limits.capacity == 2_048
    assert caplog.messages == [
        "OTEL_BLRP_MAX_QUEUE_SIZE: got 'many', expected a whole number above 0. Using 2048."
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [("true", True), ("1", True), ("True", True), ("false", False), ("0", False), ("", False)],
)
def test_tracers_of_others_are_found(value: str, expected: bool) -> None:
    assert ("LANGSMITH_TRACING" in active_tracers({"LANGSMITH_TRACING": value})) is expected


def test_a_tracer_that_is_on_gets_one_warning_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        report_tracers({"LANGCHAIN_TRACING_V2": "true"})

    assert caplog.messages == [
        "LANGCHAIN_TRACING_V2 is set: questions, documents and replies are also sent to "
        "LangSmith. Unset it, or run with the local-only switch."
    ]


def test_local_only_switches_tracers_off() -> None:
    environment = {"LANGSMITH_TRACING": "true", "LANGCHAIN_TRACING": "false", "PATH": "/bin"}

    changed = silence_tracers(environment)

    assert changed == ("LANGSMITH_TRACING",)
    assert environment["LANGSMITH_TRACING"] == "false"
    assert active_tracers(environment) == {}
