from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from loop_graphs import line_graph
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from otlp_stub import black_hole, closed_port, collector, grpc_collector
from prometheus_client import CollectorRegistry

from telemetry import instrument, names
from telemetry.batching import BatchLimits
from telemetry.content import VARIABLE
from telemetry.endpoints import ExportOptions
from telemetry.export import Export, SamplingTracerProvider, make_export
from telemetry.exporting import SpanQueue
from telemetry.losses import Complaint

BASE = "OTEL_EXPORTER_OTLP_ENDPOINT"
NO_LOGS = {"OTEL_LOGS_EXPORTER": "none"}


class Books:
    def __init__(self) -> None:
        self.lost: Counter[str] = Counter()

    def __call__(self, signal: str, count: int) -> None:
        self.lost[signal] += count


def make_turn(export: Export, nodes: int = 2, outcome: str = names.ANSWERED) -> None:
    assert export.tracer_provider is not None
    tracer = export.tracer_provider.get_tracer("test")
    with tracer.start_as_current_span("invoke_workflow g") as span:
        for number in range(nodes):
            tracer.start_span(f"node {number}").end()
        span.set_attribute(names.RAG_OUTCOME, outcome)


@pytest.mark.parametrize(
    ("option", "variable", "path"),
    [
        pytest.param("{url}", None, "/v1/traces", id="option-base"),
        pytest.param("{url}/", None, "/v1/traces", id="option-base-slash"),
        pytest.param("{url}/v1/traces", None, "/v1/traces", id="option-full"),
        pytest.param("{url}/otlp", None, "/otlp/v1/traces", id="option-prefix"),
        pytest.param(None, "{url}", "/v1/traces", id="variable"),
        pytest.param(None, "{url}/v1/traces", "/v1/traces/v1/traces", id="variable-doubled"),
    ],
)
def test_the_path_that_a_collector_sees(
    option: str | None, variable: str | None, path: str
) -> None:
    with collector() as seen:
        environment = dict(NO_LOGS)
        if variable is not None:
            environment[BASE] = variable.format(url=seen.url)
        endpoint = None if option is None else option.format(url=seen.url)
        export = make_export(ExportOptions(endpoint=endpoint), environment=environment)
        make_turn(export)
        export.shutdown()

    assert seen.paths == [path]
    assert seen.names == ["node 0", "node 1", "invoke_workflow g"]


def test_events_are_exported_beside_spans() -> None:
    with collector() as seen:
        export = make_export(environment={BASE: seen.url})
        make_turn(export)
        assert export.logger_provider is not None
        export.logger_provider.get_logger("test").emit(event_name=names.EVENT_EVALUATION)
        export.shutdown()

    assert sorted(seen.paths) == ["/v1/logs", "/v1/traces"]
    assert seen.events == [names.EVENT_EVALUATION]


def test_grpc_is_spoken_when_asked_for() -> None:
    with grpc_collector() as seen:
        options = ExportOptions(endpoint=seen.url, protocol="grpc")
        export = make_export(options, environment=NO_LOGS)
        make_turn(export)
        export.shutdown(10)

    assert seen.names == ["node 0", "node 1", "invoke_workflow g"]


def test_a_batch_full_of_long_texts_is_no_larger_than_a_collector_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A gRPC receiver takes 4 MiB, and refuses the whole batch when it is larger."""
    model = FakeListChatModel(responses=["r" * 20_000])

    def ask(state: dict[str, Any]) -> dict[str, Any]:
        for _ in range(600):
            model.invoke("q" * 20_000)
        return {}

    books = Books()
    monkeypatch.setenv(VARIABLE, "SPAN_ONLY")
    with grpc_collector() as seen:
        options = ExportOptions(endpoint=seen.url, protocol="grpc")
        export = make_export(options, dropped=books, environment={**os.environ, **NO_LOGS})
        graph = instrument(
            line_graph(ask),
            roles={},
            registry=CollectorRegistry(),
            tracer_provider=export.tracer_provider,
        )
        graph.invoke({})
        assert export.flush(20)
        export.shutdown()

    assert books.lost == {}
    assert seen.names.count("chat fake-list-chat-model") == 600


@pytest.mark.parametrize(
    ("environment", "name", "version"),
    [
        pytest.param({}, "loopscope", "1.2", id="ours"),
        pytest.param({"OTEL_SERVICE_NAME": "support"}, "support", "1.2", id="the-environment's"),
        pytest.param(
            {"OTEL_RESOURCE_ATTRIBUTES": "service.name=desk,service.version=9"},
            "desk",
            "9",
            id="resource-attributes",
        ),
    ],
)
def test_service_identity(
    environment: dict[str, str], name: str, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in environment.items():
        monkeypatch.setenv(key, value)  # the SDK's resource reads the process's own
    with collector() as seen:
        options = ExportOptions(endpoint=seen.url, service_version="1.2")
        export = make_export(options, environment=NO_LOGS)
        make_turn(export)
        export.shutdown()

    assert seen.resource_values("service.name") == {name}
    assert seen.resource_values("service.version") == {version}
    (instance,) = seen.resource_values("service.instance.id")
    assert len(instance) == 36


def test_head_sampling_by_the_standard_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    with collector() as seen:
        export = make_export(ExportOptions(endpoint=seen.url), environment=NO_LOGS)
        make_turn(export)
        export.shutdown()

    assert seen.paths == []


def test_tail_sampling_keeps_failures() -> None:
    with collector() as seen:
        options = ExportOptions(endpoint=seen.url, keep_ratio=0.0)
        export = make_export(options, environment=NO_LOGS)
        for outcome in (names.ANSWERED, names.NO_RESULTS, names.ANSWERED):
            make_turn(export, outcome=outcome)
        export.shutdown()

    assert seen.names == ["node 0", "node 1", "invoke_workflow g"]
    assert isinstance(export.tracer_provider, SamplingTracerProvider)
    assert export.tracer_provider.keeps(1, failed=True)
    assert not export.tracer_provider.keeps(1, failed=False)


@pytest.mark.parametrize(
    ("options", "environment", "summary"),
    [
        pytest.param(
            ExportOptions(), {}, "spans are not exported: no OTLP endpoint is set", id="nothing-set"
        ),
        pytest.param(
            ExportOptions(endpoint="http://c:4318"),
            {"OTEL_SDK_DISABLED": "true"},
            "spans are not exported: OTEL_SDK_DISABLED is set",
            id="disabled",
        ),
        pytest.param(
            ExportOptions(endpoint="http://c:4318", keep_ratio=0.05),
            NO_LOGS,
            "spans go to http://c:4318/v1/traces (http/protobuf) (0.05 of the turns without a "
            "failure), events to nowhere, as service loopscope",
            id="sampled",
        ),
        pytest.param(
            ExportOptions(endpoint="http://c:4317", protocol="grpc"),
            {},
            "spans go to http://c:4317 (grpc), events to http://c:4317 (grpc), "
            "as service loopscope",
            id="grpc",
        ),
    ],
)
def test_one_line_says_where_everything_goes(
    options: ExportOptions, environment: dict[str, str], summary: str
) -> None:
    export = make_export(options, environment=environment)

    assert export.summary == summary
    assert (export.tracer_provider is None) == ("not exported" in summary)


@pytest.mark.parametrize(
    ("status", "headers", "words"),
    [
        pytest.param(404, {}, "HTTP 404. Give the base URL of a collector", id="404"),
        pytest.param(401, {}, "HTTP 401. Set OTEL_EXPORTER_OTLP_HEADERS", id="401"),
        pytest.param(400, {}, "code: 400", id="400"),
        pytest.param(
            301, {"Location": "/elsewhere"}, "a redirect, which no exporter follows", id="redirect"
        ),
        pytest.param(429, {"Retry-After": "3600"}, "asks to wait longer", id="a-long-wait"),
    ],
)
def test_a_refusing_collector_is_counted_and_said_once(
    status: int, headers: dict[str, str], words: str, caplog: pytest.LogCaptureFixture
) -> None:
    books = Books()
    with (
        collector(status=status, headers=headers) as seen,
        caplog.at_level(logging.WARNING),
    ):
        export = make_export(environment={BASE: seen.url}, dropped=books)
        for _ in range(3):
            make_turn(export)
            assert export.flush(5)
        export.shutdown()

    assert books.lost == {"spans": 9}
    assert len(caplog.messages) == 1
    assert words in caplog.messages[0]
    assert f"{seen.url}/v1/traces" in caplog.messages[0]


class SlowExporter:
    def __init__(self) -> None:
        self.exported: list[str] = []

    def export(self, spans: list[ReadableSpan]) -> SpanExportResult:
        time.sleep(0.02)
        self.exported += [span.name for span in spans]
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        pass


def test_a_burst_is_exported_or_counted_and_turn_spans_are_dropped_last() -> None:
    from opentelemetry.sdk.trace import TracerProvider

    books, exporter = Books(), SlowExporter()
    queue = SpanQueue(
        lambda: exporter,
        "nowhere",
        limits=BatchLimits(capacity=100, batch_size=50, interval_seconds=0.01),
        dropped=books,
        complaint=Complaint(),
    )
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(queue)
    tracer = provider.get_tracer("test")
    for _ in range(1_000):
        with tracer.start_as_current_span("invoke_workflow g"):
            tracer.start_span("node 0").end()
            tracer.start_span("node 1").end()
    assert queue.force_flush(20_000)

    exported = Counter(exporter.exported)

    assert exported.total() + books.lost["spans"] == 3_000
    assert books.lost["spans"] > 0
    assert exported["invoke_workflow g"] > exported["node 1"]
    provider.shutdown()


def test_ending_a_span_costs_nothing_while_the_collector_hangs() -> None:
    with black_hole() as url:
        export = make_export(environment={BASE: url, "OTEL_BSP_SCHEDULE_DELAY": "10"})
        assert export.tracer_provider is not None
        tracer = export.tracer_provider.get_tracer("test")
        times = []
        for _ in range(3_000):
            span = tracer.start_span("node")
            started = time.perf_counter()
            span.end()
            times.append(time.perf_counter() - started)
        export.shutdown(0.1)

    assert sorted(times)[int(0.95 * len(times))] < 0.002


def test_flush_takes_no_longer_than_asked_and_tells_the_truth() -> None:
    with black_hole() as url:
        export = make_export(environment={BASE: url, **NO_LOGS})
        make_turn(export)
        started = time.monotonic()
        done = export.flush(0.3)
        took = time.monotonic() - started
        export.shutdown(0.1)

    assert done is False
    assert took < 1.0


@dataclass
class Ended:
    stdout: str
    stderr: str
    code: int
    exit_seconds: float
    """From the last line of the script to the end of the process."""


def run(script: str, environment: dict[str, str]) -> Ended:
    """Run a script that prints `time.monotonic()` as its last line."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    process = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script],  # 3.12 warns of fork
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env={**clean, "PYTHONPATH": ".", **environment},
    )
    ended_at = time.monotonic()
    lines = process.stdout.splitlines()
    last = float(lines[-1]) if lines and process.returncode == 0 else ended_at
    return Ended("\n".join(lines[:-1]), process.stderr, process.returncode, ended_at - last)


ASK = """
import time
from telemetry.endpoints import ExportOptions
from telemetry.export import setup_export
export = setup_export(ExportOptions())
from opentelemetry import trace
tracer = trace.get_tracer("test")
with tracer.start_as_current_span("invoke_workflow g"):
    for _ in range(10):
        tracer.start_span("node").end()
if export.logger_provider:
    export.logger_provider.get_logger("test").emit(event_name="e")
print("the answer")
print(time.monotonic(), flush=True)
"""


def collector_503() -> AbstractContextManager[object]:
    return collector(status=503)


def collector_slow() -> AbstractContextManager[object]:
    return collector(delay_seconds=30)


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
@pytest.mark.parametrize(
    ("serve", "most_seconds"),
    [
        pytest.param(closed_port, 1.5, id="nobody-listens"),
        pytest.param(collector_503, 2.9, id="overloaded"),
        pytest.param(black_hole, 2.9, id="never-answers"),
        pytest.param(collector_slow, 2.9, id="answers-late"),
    ],
)
def test_exit_is_boxed_whatever_the_collector_does(
    serve: Callable[[], AbstractContextManager[object]], most_seconds: float, protocol: str
) -> None:
    with serve() as where:
        url = where if isinstance(where, str) else where.url  # type: ignore[attr-defined]
        ended = run(ASK, {BASE: url, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol})

    assert (ended.code, ended.stdout) == (0, "the answer")
    assert ended.stderr.count("\n") == 1, ended.stderr
    assert "are not delivered" in ended.stderr
    assert ended.exit_seconds < most_seconds


def test_a_healthy_collector_has_everything_when_the_process_is_gone() -> None:
    with collector() as seen:
        ended = run(ASK, {BASE: seen.url})

    assert (ended.code, ended.stderr) == (0, "")
    assert len(seen.names) == 11
    assert seen.events == ["e"]
    assert ended.exit_seconds < 1.5


QUIET = """
import sys, threading, time
connects = []
sys.addaudithook(lambda event, args: connects.append(event) if "connect" in event else None)
import opentelemetry.trace as trace
from telemetry.export import setup_export
export = setup_export()
tracer = trace.get_tracer("test")
with tracer.start_as_current_span("invoke_workflow g") as span:
    print(span.is_recording(), end=" ")
export.shutdown()
print(connects, threading.active_count(), sorted({"grpc", "requests"} & set(sys.modules)))
print(time.monotonic(), flush=True)
"""


def test_nothing_set_means_no_connection_no_thread_no_exporter() -> None:
    ended = run(QUIET, {})

    assert (ended.code, ended.stdout, ended.stderr) == (0, "False [] 1 []", "")


HOST_FIRST = """
import time
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
host = TracerProvider()
trace.set_tracer_provider(host)
from telemetry.export import setup_export
export = setup_export()
print(export.tracer_provider is host, trace.get_tracer_provider() is host, export.summary)
export.shutdown()
print(time.monotonic(), flush=True)
"""

HOST_FIRST_SAMPLED = """
import time
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
trace.set_tracer_provider(TracerProvider())
from telemetry import export, names
from telemetry.endpoints import ExportOptions
from telemetry.exporting import EventQueue
taken = []
EventQueue.on_emit = lambda queue, record: taken.append(queue._hold)
made = export.setup_export(ExportOptions(keep_ratio=0.0))
made.logger_provider.get_logger(names.SCOPE).emit(event_name="an event")
passed = []
taken[0](2**64 - 1, lambda: passed.append(True))
print(len(taken) == 1, passed == [True])
made.shutdown()
print(time.monotonic(), flush=True)
"""

HOST_LATER = """
import time
from telemetry.export import setup_export
export = setup_export()
from opentelemetry import trace
print(trace.get_tracer_provider() is export.tracer_provider)
print(time.monotonic(), flush=True)
"""


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param(
            HOST_FIRST,
            "True True spans go to the tracer provider that was set before",
            id="the-host's-provider-is-left-alone",
        ),
        pytest.param(HOST_LATER, "True", id="ours-is-set-where-there-is-none"),
        pytest.param(HOST_FIRST_SAMPLED, "True True", id="the-host's-spans-are-not-sampled-by-us"),
    ],
)
def test_global_provider(script: str, expected: str) -> None:
    ended = run(script, {BASE: "http://127.0.0.1:1"})

    assert (ended.code, ended.stdout, ended.stderr) == (0, expected, "")


FORK = """
import os, sys, time
from telemetry.export import setup_export
export = setup_export()
from opentelemetry import trace
tracer = trace.get_tracer("test")

def turn(name):
    with tracer.start_as_current_span(name):
        pass

{before}
children = []
for number in (1, 2):
    pid = os.fork()
    if pid == 0:
        turn(f"child {{number}}")
        sys.exit(0)
    children.append(pid)
codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
print(codes)
print(time.monotonic(), flush=True)
"""


@pytest.mark.parametrize(
    ("before", "spans"),
    [
        pytest.param("", ["child 1", "child 2"], id="before-the-first-turn"),
        pytest.param(
            "turn('parent'); export.flush(5)",
            ["child 1", "child 2", "parent"],
            id="after-the-exporter-runs",
        ),
    ],
)
def test_forked_workers_export_on_their_own(before: str, spans: list[str]) -> None:
    with collector() as seen:
        ended = run(FORK.format(before=before), {BASE: seen.url})

    assert (ended.code, ended.stdout, ended.stderr) == (0, "[0, 0]", "")
    assert sorted(seen.names) == spans
    assert len(seen.trace_ids) == len(spans)
    assert len(seen.resource_values("service.instance.id")) == len(spans)


TRACED = """
import logging, sys, time
from telemetry import environment
connects = []
sys.addaudithook(lambda event, args: connects.append(1) if event == "socket.connect" else None)
{switch}
from langchain_core.language_models import FakeListChatModel
from langchain_core.tracers.langchain import wait_for_all_tracers
print(FakeListChatModel(responses=["hello"]).invoke("a secret").content)
wait_for_all_tracers()
print(len(connects) > 0)
print(time.monotonic(), flush=True)
"""


@pytest.mark.parametrize(
    ("switch", "connects", "warnings"),
    [
        pytest.param("environment.silence_tracers()", "False", 0, id="local-only"),
        pytest.param("environment.report_tracers()", "True", 1, id="reported"),
    ],
)
def test_other_people_s_tracers(switch: str, connects: str, warnings: int) -> None:
    with collector(status=401) as elsewhere:
        ended = run(
            TRACED.format(switch=switch),
            {
                "LANGSMITH_TRACING": "true",
                "LANGSMITH_API_KEY": "bogus",
                "LANGSMITH_ENDPOINT": elsewhere.url,
            },
        )

    assert (ended.code, ended.stdout) == (0, f"hello\n{connects}")
    assert ended.stderr.count("LANGSMITH_TRACING is set") == warnings
    assert ("401" in ended.stderr) <= bool(warnings)
