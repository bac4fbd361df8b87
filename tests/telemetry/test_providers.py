"""Whose spans they are: the host's provider is used, whenever it is set, and never replaced."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from loop_graphs import LOOP_ROLES, loop_graph
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context
from opentelemetry.util._once import Once
from prometheus_client import CollectorRegistry

from telemetry import instrument
from telemetry.testing import Kit

QUESTION = {"question": "where is it?"}


@pytest.fixture(autouse=True)
def no_global_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER_SET_ONCE", Once())


def watched(**options: Any) -> Any:
    return instrument(
        loop_graph(bound=0), roles=LOOP_ROLES, registry=CollectorRegistry(), **options
    )


@pytest.mark.parametrize("order", ["the host is first", "the host is second"])
def test_the_hosts_global_provider_gets_the_spans(
    order: str, caplog: pytest.LogCaptureFixture
) -> None:
    kit = Kit()
    if order == "the host is first":
        trace.set_tracer_provider(kit.provider)
        graph = watched()
    else:
        graph = watched()
        trace.set_tracer_provider(kit.provider)
    graph.invoke(QUESTION)

    assert kit.tree()[0] == "invoke_workflow loop"
    assert "Overriding" not in caplog.text


def test_a_given_provider_is_used_alone() -> None:
    host, ours = Kit(), Kit()
    trace.set_tracer_provider(host.provider)
    watched(tracer_provider=ours.provider).invoke(QUESTION)

    assert (len(host.spans), len(ours.spans)) == (0, 5)


def test_without_a_provider_there_is_a_hint_and_no_span(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "telemetry"):
        graph = watched()
    graph.invoke(QUESTION)

    assert [record.message for record in caplog.records] == [
        "no tracer provider is set: metrics are kept, spans go nowhere until one is set."
    ]
    assert not isinstance(trace.get_tracer_provider(), TracerProvider)


@pytest.mark.parametrize("sampled", [True, False], ids=["sampled", "not sampled"])
def test_a_remote_parent_decides_and_stays_the_parent(sampled: bool) -> None:
    kit = Kit(ParentBased(ALWAYS_ON))
    flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
    remote = SpanContext(trace_id=7, span_id=9, is_remote=True, trace_flags=flags)
    from opentelemetry import context

    graph = kit.watch(loop_graph(bound=0), LOOP_ROLES)
    token = context.attach(set_span_in_context(NonRecordingSpan(remote)))
    graph.invoke(QUESTION)
    context.detach(token)

    if not sampled:
        assert kit.spans == []
        return
    root = kit.span("invoke_workflow loop")
    assert root.context.trace_id == 7
    assert root.parent is not None
    assert root.parent.is_remote


def test_the_spans_of_an_unsampled_turn_stay_one_trace_for_others() -> None:
    """A span that a node's own code opens must see the decision that was made for the turn."""
    kit = Kit(ParentBased(ALWAYS_OFF))
    seen: list[trace.SpanContext] = []

    def grade(_: Any) -> str:
        seen.append(trace.get_current_span().get_span_context())
        return "no"

    kit.watch(loop_graph(bound=2, grade=grade), LOOP_ROLES).invoke(QUESTION)

    assert len({context.trace_id for context in seen}) == 1
    assert all(context.is_valid and not context.trace_flags.sampled for context in seen)
