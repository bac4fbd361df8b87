"""Whose trace a request belongs to."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from telemetry.callers import CallersTrace

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = (b"traceparent", f"00-{TRACE}-{SPAN}-01".encode())


async def seen(scope: dict[str, Any]) -> trace.SpanContext:
    """Return the current span's context inside the application."""
    found: list[trace.SpanContext] = []

    async def app(*_: Any) -> None:
        found.append(trace.get_current_span().get_span_context())

    async def never(*_: Any) -> Any:
        raise AssertionError

    await CallersTrace(app)(scope, never, never)
    return found[0]


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        pytest.param({"type": "http", "headers": [PARENT]}, TRACE, id="the-callers"),
        pytest.param({"type": "http", "headers": []}, "0" * 32, id="none-was-sent"),
        pytest.param({"type": "http", "headers": [(b"traceparent", b"\xff")]}, "0" * 32,
                     id="no-traceparent"),
        pytest.param({"type": "lifespan"}, "0" * 32, id="no-request"),
    ],
)  # fmt: skip
async def test_the_current_span_is_the_callers(scope: dict[str, Any], expected: str) -> None:
    assert f"{(await seen(scope)).trace_id:032x}" == expected


async def test_it_is_gone_when_the_request_is_over() -> None:
    await seen({"type": "http", "headers": [PARENT]})

    assert not trace.get_current_span().get_span_context().is_valid


async def test_a_span_that_another_instrumentation_made_stays() -> None:
    with TracerProvider().get_tracer("x").start_as_current_span("server") as server:
        found = await seen({"type": "http", "headers": [PARENT]})

    assert found.span_id == server.get_span_context().span_id
