from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, TraceIdRatioBased
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    StatusCode,
    TraceFlags,
    Tracer,
    set_span_in_context,
)

from telemetry import names, sampling
from telemetry.errors import ExportSettingsError
from telemetry.sampling import TailSampler

ANSWERED = {names.RAG_OUTCOME: names.ANSWERED}


class Bench:
    """A provider whose spans pass a tail sampler into memory."""

    def __init__(self, ratio: float, **limits: int) -> None:
        self.exporter = InMemorySpanExporter()
        self.tail = TailSampler(SimpleSpanProcessor(self.exporter), ratio=ratio, **limits)
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(self.tail)
        self.tracer: Tracer = self.provider.get_tracer("test")

    def turn(self, attributes: dict[str, object] = ANSWERED, nodes: int = 3) -> Span:  # type: ignore[assignment]
        with self.tracer.start_as_current_span("invoke_workflow g") as span:
            for number in range(nodes):
                with self.tracer.start_as_current_span(f"node {number}"):
                    pass
            span.set_attributes(attributes)  # type: ignore[arg-type]
        return span

    @property
    def names(self) -> list[str]:
        return sorted(span.name for span in self.exporter.get_finished_spans())

    @property
    def trace_ids(self) -> set[int]:
        spans = self.exporter.get_finished_spans()
        return {span.context.trace_id for span in spans if span.context is not None}


@pytest.fixture
def nothing() -> Iterator[Bench]:
    """Rate 0: only failures are kept."""
    bench = Bench(0.0)
    yield bench
    bench.provider.shutdown()


WHOLE_TURN = ["invoke_workflow g", "node 0", "node 1", "node 2"]


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        pytest.param(ANSWERED, [], id="an-answer-goes-by-rate"),
        pytest.param({}, [], id="no-outcome-goes-by-rate"),
        *(
            pytest.param({names.RAG_OUTCOME: outcome}, WHOLE_TURN, id=outcome)
            for outcome in names.OUTCOMES
            if outcome != names.ANSWERED
        ),
        pytest.param(
            {**ANSWERED, names.RAG_FINDINGS: ["drift"]}, WHOLE_TURN, id="an-answer-with-a-finding"
        ),
        pytest.param({**ANSWERED, names.RAG_FINDINGS: []}, [], id="no-finding-goes-by-rate"),
    ],
)
def test_a_turn_with_a_failure_is_kept_whole(
    nothing: Bench, attributes: dict[str, object], expected: list[str]
) -> None:
    nothing.turn(attributes)

    assert nothing.names == expected


def test_a_span_with_an_error_keeps_its_turn(nothing: Bench) -> None:
    with nothing.tracer.start_as_current_span("invoke_workflow g") as span:
        with nothing.tracer.start_as_current_span("node 0"):
            pass
        with nothing.tracer.start_as_current_span("node 1") as node:
            node.set_status(StatusCode.ERROR)
        span.set_attributes(ANSWERED)

    assert nothing.names == ["invoke_workflow g", "node 0", "node 1"]


def test_ten_percent_of_the_answers_and_every_failure() -> None:
    bench = Bench(0.1)
    failed = {bench.turn({names.RAG_OUTCOME: names.NO_RESULTS}, 1).get_span_context().trace_id
              for _ in range(50)}  # fmt: skip
    for _ in range(2_000):
        bench.turn(nodes=1)

    answers = len(bench.trace_ids - failed)

    assert failed <= bench.trace_ids
    assert 130 <= answers <= 270  # 200 expected, standard deviation 13
    assert len(bench.names) == 2 * len(bench.trace_ids)


def test_exemplars_are_told_what_will_be_kept() -> None:
    bench = Bench(0.3)
    promised = {
        turn.get_span_context().trace_id
        for turn in (bench.turn(nodes=0) for _ in range(300))
        if bench.tail.keeps(turn.get_span_context().trace_id, failed=False)
    }

    assert promised == bench.trace_ids
    assert bench.tail.keeps(2**64 - 1, failed=True)


def test_the_rate_keeps_the_same_traces_as_the_sdk_sampler() -> None:
    bench = Bench(0.25)
    sampler = TraceIdRatioBased(0.25)
    ids = [bench.provider.id_generator.generate_trace_id() for _ in range(500)]

    ours = [bench.tail.keeps(trace_id, failed=False) for trace_id in ids]

    assert ours == [
        sampler.should_sample(None, trace_id, "").decision.is_sampled() for trace_id in ids
    ]


def test_spans_around_a_failed_turn_are_kept_too(nothing: Bench) -> None:
    with nothing.tracer.start_as_current_span("POST /ask"):
        with nothing.tracer.start_as_current_span("auth"):
            pass
        nothing.turn({names.RAG_OUTCOME: names.OFF_TOPIC}, nodes=1)
        with nothing.tracer.start_as_current_span("respond"):
            pass

    assert nothing.names == ["POST /ask", "auth", "invoke_workflow g", "node 0", "respond"]


def test_one_failed_turn_keeps_the_trace_it_shares(nothing: Bench) -> None:
    with nothing.tracer.start_as_current_span("batch"):
        nothing.turn(nodes=1)
        nothing.turn({names.RAG_OUTCOME: names.GAVE_UP}, nodes=1)

    assert len(nothing.names) == 5


def test_a_turn_under_a_caller_elsewhere_is_decided_at_its_own_end(nothing: Bench) -> None:
    caller = SpanContext(
        trace_id=7, span_id=7, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED)
    )
    for outcome in (names.ANSWERED, names.NO_RESULTS):
        context = set_span_in_context(NonRecordingSpan(caller))
        with nothing.tracer.start_as_current_span("invoke_workflow g", context) as span:
            span.set_attribute(names.RAG_OUTCOME, outcome)

    (kept,) = nothing.exporter.get_finished_spans()

    assert kept.parent == caller
    assert kept.attributes == {names.RAG_OUTCOME: names.NO_RESULTS}


def test_a_span_that_ends_after_its_trace_follows_the_decision(nothing: Bench) -> None:
    late = []
    for outcome in (names.ANSWERED, names.NO_RESULTS):
        turn = nothing.turn({names.RAG_OUTCOME: outcome}, nodes=0)
        context = set_span_in_context(turn)
        late.append(nothing.tracer.start_span(f"late after {outcome}", context))
    for span in late:
        span.end()

    assert nothing.names == ["invoke_workflow g", "late after no_results"]


def test_a_turn_that_never_ends_is_passed_on_at_shutdown(nothing: Bench) -> None:
    span = nothing.tracer.start_span("invoke_workflow g")
    nothing.tracer.start_span("node 0", set_span_in_context(span)).end()

    nothing.provider.shutdown()

    assert nothing.names == ["node 0"]


def test_waiting_traces_are_bounded() -> None:
    bench = Bench(1e-9, max_open_traces=10)
    open_spans = [bench.tracer.start_span("invoke_workflow g") for _ in range(100)]

    assert len(bench.tail._traces) == 10
    for span in open_spans:
        span.set_attributes({names.RAG_OUTCOME: names.ERROR})
        span.end()

    assert len(bench.names) == 100  # failures are kept even when they had to be decided early
    assert len(bench.tail._traces) == 0


def test_spans_of_one_endless_trace_are_bounded() -> None:
    bench = Bench(0.0, max_spans=100)
    with bench.tracer.start_as_current_span("script"):
        for _ in range(1_000):
            bench.turn(nodes=1)
            held = sum(len(trace.held) for trace in bench.tail._traces.values())
            assert held <= 100
        bench.turn({names.RAG_OUTCOME: names.ERROR}, nodes=1)

    assert {"invoke_workflow g", "script"} <= set(bench.names)


def test_many_threads(nothing: Bench) -> None:
    outcomes = [names.ANSWERED, names.OFF_TOPIC]

    def work() -> None:
        for number in range(200):
            nothing.turn({names.RAG_OUTCOME: outcomes[number % 2]}, nodes=2)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(nothing.names) == 4 * 100 * 3


def test_what_the_head_sampler_left_out_is_not_seen() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    provider.add_span_processor(TailSampler(SimpleSpanProcessor(exporter), ratio=1.0))

    with provider.get_tracer("test").start_as_current_span("invoke_workflow g") as span:
        span.set_attributes({names.RAG_OUTCOME: names.ERROR})

    assert exporter.get_finished_spans() == ()


@pytest.mark.parametrize("ratio", [-0.1, 1.1, float("nan")])
def test_a_rate_outside_0_to_1_is_refused(ratio: float) -> None:
    with pytest.raises(ExportSettingsError, match="expected a number from 0 to 1"):
        Bench(ratio)


# -- events -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        pytest.param(ANSWERED, [], id="an answer's events go with it"),
        pytest.param({names.RAG_OUTCOME: names.ERROR}, ["a", "b"], id="a failure's stay"),
    ],
)
def test_an_event_waits_for_its_trace_and_goes_with_it(
    nothing: Bench, attributes: dict[str, object], expected: list[str]
) -> None:
    delivered: list[str] = []
    with nothing.tracer.start_as_current_span("invoke_workflow g") as span:
        trace_id = span.get_span_context().trace_id
        nothing.tail.hold(trace_id, lambda: delivered.append("a"))
        with nothing.tracer.start_as_current_span("node 0"):
            nothing.tail.hold(trace_id, lambda: delivered.append("b"))
        assert delivered == []
        span.set_attributes(attributes)  # type: ignore[arg-type]

    assert delivered == expected
    nothing.tail.hold(trace_id, lambda: delivered.append("late"))
    assert delivered == expected + ["late"] * bool(expected)


def test_events_count_towards_what_a_trace_may_hold() -> None:
    bench = Bench(1.0, max_spans=10)
    delivered: list[int] = []
    with bench.tracer.start_as_current_span("invoke_workflow g") as span:
        for n in range(25):
            bench.tail.hold(span.get_span_context().trace_id, lambda n=n: delivered.append(n))
        assert delivered == list(range(20))

    assert delivered == list(range(25))


def test_a_sampler_that_stands_aside_lets_every_event_go(nothing: Bench) -> None:
    delivered: list[int] = []
    nothing.tail.keep_all()
    nothing.tail.hold(2**64 - 1, lambda: delivered.append(1))

    assert delivered == [1]


def test_a_span_that_a_garbage_collection_ends_under_the_lock_stops_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench(1.0)
    abandoned = bench.tracer.start_span("invoke_workflow abandoned")
    new = sampling._Trace

    def collect_first() -> sampling._Trace:
        if abandoned.is_recording():
            abandoned.end()
        return new()

    monkeypatch.setattr(sampling, "_Trace", collect_first)
    turn = threading.Thread(target=bench.turn, daemon=True)
    turn.start()
    turn.join(20)

    assert not turn.is_alive()
    assert bench.names == ["invoke_workflow abandoned", *WHOLE_TURN]
    bench.provider.shutdown()
