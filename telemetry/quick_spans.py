"""Spans inside a turn, made at a third of the SDK's cost and handed to the SDK's own processors.

The SDK spends most of a small span's time on what the spans inside a turn seldom use: locks, lists
that count what they drop, attributes that are cleaned twice. A `QuickSpan` is a span of the SDK
that makes them when they are needed. One thing is left out: attributes that the SDK refuses for
their type are not counted as dropped.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, cast

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace import Span as SdkSpan
from opentelemetry.sdk.trace import Tracer as SdkTracer
from opentelemetry.sdk.util import BoundedList
from opentelemetry.trace import SpanContext, SpanKind

logger = logging.getLogger(__name__)

LIMIT: Final = 128
"""Attributes, events and links of a span: the default of the OpenTelemetry specification."""
_PLAIN: Final = frozenset((str, bool, int, float))
_PLAIN_OR_TUPLE: Final = _PLAIN | {tuple}
_TEXT: Final = frozenset((str,))


class QuickSpan(SdkSpan):
    """One recording span; see the SDK's `Span` for its methods.

    Args:
        source: Who makes it.
        name: Its name.
        context: Its ids and flags.
        parent: Its parent's.
        kind: Its kind.
        attributes: What the sampler gave it.
    """

    _record_exception = True
    _set_status_on_exception = True

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
        ReadableSpan.__init__(  # not the SDK's own, which is what takes long
            self, name, context, parent, source.resource, {}, (), (), kind,
            start_time=time.time_ns(), instrumentation_scope=source._instrumentation_scope,
        )  # fmt: skip
        self._span_processor = source.span_processor
        self._limits = source._span_limits
        self._lock = threading.Lock()
        if attributes:
            self.set_attributes(attributes)

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        """Show values, as the SDK cleans them."""
        if self._end_time is not None:
            logger.warning("Setting attributes on an ended span.")
            return
        shown = cast("dict[str, Any]", self._attributes)
        if type(attributes) is dict and _are_plain(attributes):
            shown.update(attributes)
        else:
            for key, value in attributes.items():
                if _is_clean(key, value):
                    shown[key] = value
                else:
                    shown.update(BoundedAttributes(attributes={key: value}, immutable=False))
        if len(shown) > LIMIT and type(shown) is dict:
            self._attributes = BoundedAttributes(LIMIT, shown, immutable=False)

    def set_attribute(self, key: Any, value: Any) -> None:
        """Show a value, as the SDK cleans it."""
        if isinstance(key, str):
            self.set_attributes({key: value})
        else:
            logger.warning("invalid key `%s`. must be non-empty string.", key)

    def end(self, end_time: int | None = None) -> None:
        """End it, once, and hand it to the span processors."""
        with self._lock:
            is_over = self._end_time is not None
            if not is_over:
                self._end_time = time.time_ns() if end_time is None else end_time
        if is_over:
            logger.warning("Calling end() on an ended span.")
            return
        if type(self._attributes) is dict:  # a thread that writes late writes to the other one
            self._attributes = self._attributes.copy()
        self._span_processor._on_ending(self)
        self._span_processor.on_end(self)  # the SDK's is copied first; this one is closed

    def add_event(self, name: str, attributes: Any = None, timestamp: int | None = None) -> None:
        """Add an event, its attributes as the SDK cleans them."""
        if type(attributes) is dict and len(attributes) <= LIMIT and _are_plain(attributes):
            self._add_event(Event(name, MappingProxyType(attributes.copy()), timestamp))
        else:
            super().add_event(name, attributes, timestamp)

    def _add_event(self, event: Any) -> None:
        with self._lock:
            self._events = self._events or BoundedList(LIMIT)
        super()._add_event(event)

    def _add_link(self, link: Any) -> None:
        with self._lock:
            self._links = self._links or BoundedList(LIMIT)
        super()._add_link(link)


def _are_plain(attributes: dict[Any, Any]) -> bool:
    """Return whether the SDK would keep all as they are, at the cost of a look."""
    kinds = set(map(type, attributes.values()))
    return (
        kinds <= _PLAIN_OR_TUPLE
        and _TEXT.issuperset(map(type, attributes))
        and "" not in attributes
        and (
            tuple not in kinds
            or all(_is_even(value) for value in attributes.values() if type(value) is tuple)
        )
    )


def _is_clean(key: Any, value: Any) -> bool:
    """Return whether the SDK would keep one as it is."""
    kept = _is_even(value) if type(value) is tuple else type(value) in _PLAIN
    return kept and type(key) is str and key != ""


def _is_even(values: tuple[Any, ...]) -> bool:
    """Return whether all of some values are of one kind that the SDK keeps."""
    kinds = set(map(type, values))
    return len(kinds) == 1 and kinds <= _PLAIN
