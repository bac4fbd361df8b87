"""Spans inside a turn, made at a third of the SDK's cost and handed to the SDK's own processors.

The SDK spends most of a small span's time on what the spans inside a turn never use: locks, lists
that count what they drop, attributes that are cleaned twice. A `QuickSpan` keeps plain ones,
behaves as the SDK's span does, and is a `ReadableSpan` as any other when it ends. One thing is
left out: attributes that the SDK refuses for their type are not counted as dropped.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Mapping
from typing import Any, Final

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace import Tracer as SdkTracer
from opentelemetry.sdk.util import BoundedList
from opentelemetry.trace import (
    Link,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
)

logger = logging.getLogger(__name__)

LIMIT: Final = 128
"""Attributes, events and links of a span: the default of the OpenTelemetry specification."""
_PLAIN: Final = frozenset((str, bool, int, float))
_UNSET: Final = Status()
_ENDING: Final = threading.Lock()


class QuickSpan(Span, ReadableSpan):
    """One recording span; see the API's `Span` for its methods.

    Args:
        source: Who makes it.
        name: Its name.
        context: Its ids and flags.
        parent: Its parent's.
        kind: Its kind.
        attributes: What the sampler gave it.
    """

    def __init__(
        self,
        source: SdkTracer,
        name: str,
        context: SpanContext,
        parent: SpanContext,
        *,
        kind: SpanKind,
        attributes: Mapping[str, Any] | None,
    ) -> None:
        self._source = source
        self._shown: dict[str, Any] = {}
        self._noted: list[Event] = []
        self._linked: list[Link] = []
        self._is_open = True
        self._state = _UNSET
        self._called = name
        self._ids = context
        super().__init__(
            name, context, parent, source.resource, self._shown, self._noted, self._linked, kind,
            start_time=time.time_ns(), instrumentation_scope=source._instrumentation_scope,
        )  # fmt: skip
        if attributes:
            self.set_attributes(attributes)

    @property
    def name(self) -> str:
        """The name it has now."""
        return self._called

    @property
    def status(self) -> Status:
        """The status it has now."""
        return self._state

    def get_span_context(self) -> SpanContext:
        """Return its ids and flags."""
        return self._ids

    def is_recording(self) -> bool:
        """Return whether it has not ended."""
        return self._is_open

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        """Show values, as the SDK cleans them."""
        if not self._may("set attributes"):
            return
        shown = self._shown
        for key, value in attributes.items():
            if _is_clean(value) and key and type(key) is str:
                shown[key] = value
            else:
                shown.update(BoundedAttributes(attributes={key: value}, immutable=False))

    def set_attribute(self, key: str, value: Any) -> None:
        """Show a value, as the SDK cleans it."""
        self.set_attributes({key: value})

    def add_event(
        self, name: str, attributes: Mapping[str, Any] | None = None, timestamp: int | None = None
    ) -> None:
        """Note an event."""
        if self._may("add an event"):
            self._noted.append(Event(name, BoundedAttributes(LIMIT, attributes), timestamp))

    def add_link(self, context: SpanContext, attributes: Mapping[str, Any] | None = None) -> None:
        """Link another span; one without ids, attributes or state is left out, as the SDK does."""
        if context is None or not (context.is_valid or attributes or context.trace_state):
            return
        if self._may("add a link"):
            self._linked.append(Link(context, BoundedAttributes(LIMIT, attributes)))

    def update_name(self, name: str) -> None:
        """Give it another name."""
        if self._may("rename"):
            self._called = name

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        """Set how it went: OK is final, UNSET changes nothing."""
        if not self._may("set the status of"):
            return
        new = Status(status, description) if isinstance(status, StatusCode) else status
        if new.status_code is not StatusCode.UNSET and self._state.status_code is not StatusCode.OK:
            self._state = new

    def record_exception(
        self,
        exception: BaseException,
        attributes: Mapping[str, Any] | None = None,
        timestamp: int | None = None,
        escaped: bool = False,
    ) -> None:
        """Note an exception with its text and its stack: called by the host's code alone."""
        kind = type(exception)
        has_module = kind.__module__ not in ("builtins", None)
        shown = {
            "exception.type": f"{kind.__module__}.{kind.__qualname__}"
            if has_module
            else kind.__qualname__,
            "exception.message": str(exception),
            "exception.stacktrace": "".join(traceback.format_exception(exception)),
            "exception.escaped": str(escaped),
            **(attributes or {}),
        }
        self.add_event("exception", shown, timestamp)

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """End it, with the error that leaves the `with` block."""
        if error is not None and self._is_open:
            self.record_exception(error, escaped=True)
            self.set_status(StatusCode.ERROR, f"{type(error).__name__}: {error}")
        super().__exit__(kind, error, trace)

    def end(self, end_time: int | None = None) -> None:
        """End it, once, and hand it to the span processors."""
        with _ENDING:
            if not self._may("end"):
                return
            self._is_open = False
        processor = self._source.span_processor
        processor._on_ending(self)  # type: ignore[arg-type]  # has what they read
        processor.on_end(self._finished(time.time_ns() if end_time is None else end_time))

    def _finished(self, end_time: int) -> ReadableSpan:
        shown, noted, linked = self._shown, self._noted, self._linked
        return ReadableSpan(
            self._called,
            self._ids,
            self.parent,
            self._source.resource,
            shown if len(shown) <= LIMIT else BoundedAttributes(LIMIT, shown),
            noted if len(noted) <= LIMIT else BoundedList.from_seq(LIMIT, noted),
            linked if len(linked) <= LIMIT else BoundedList.from_seq(LIMIT, linked),
            self.kind,
            status=self._state,
            start_time=self.start_time,
            end_time=end_time,
            instrumentation_scope=self.instrumentation_scope,
        )

    def _may(self, what: str) -> bool:
        if not self._is_open:
            logger.warning("Tried to %s an ended span.", what)
        return self._is_open


def _is_clean(value: Any) -> bool:
    """Return whether the SDK would keep a value as it is."""
    kind = type(value)
    if kind is not tuple:
        return kind in _PLAIN
    kinds = set(map(type, value))
    return len(kinds) == 1 and kinds <= _PLAIN
