"""The one gate for text: nothing a person, a document or a model wrote passes it unless asked for.

The switch is OpenTelemetry's own variable. It is read once, when a graph is instrumented, and is
frozen there. What passes goes through the caller's redaction hook first and is cut last.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from telemetry import names
from telemetry.attributes import MARKER, TEXT_BYTES, cut, cut_json

logger = logging.getLogger(__name__)

VARIABLE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
NO_CONTENT: Final = "NO_CONTENT"
MODES: Final = (NO_CONTENT, "SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT")

Redact = Callable[[str], str]
"""Takes a text, returns what may leave. When it raises, the text stays inside."""

_MADE_BY_A_MACHINE: Final = re.compile(
    r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"  # a UUID
    r"|(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{32,64}"  # 128 to 256 bits in hexadecimal digits
    r"|0(?=[0-9]*[A-Z])[0-9A-HJKMNP-TV-Z]{25}"  # a ULID of this millennium
)
"""Forms that nobody types. A short word and a number is none: `john1985` is a person's."""
_SLUG: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class ContentGate:
    """What may leave, and how it is made safe. Immutable once a graph is instrumented."""

    spans: bool = False
    """Text may be put on spans and into records."""
    events: bool = False
    """Text may be put into log events."""
    redact: Redact | None = None

    @classmethod
    def from_environment(
        cls, redact: Redact | None = None, environment: Mapping[str, str] = os.environ
    ) -> ContentGate:
        """Read the standard variable; an unknown value (`true` is one) warns and means no."""
        mode = environment.get(VARIABLE, "").strip() or NO_CONTENT
        if mode.upper() not in MODES:
            logger.warning(
                "%s: got %r, expected one of %s. No content is captured.", VARIABLE, mode, MODES
            )
            mode = NO_CONTENT
        mode = mode.upper()
        return cls(
            spans=mode in ("SPAN_ONLY", "SPAN_AND_EVENT"),
            events=mode in ("EVENT_ONLY", "SPAN_AND_EVENT"),
            redact=redact,
        )

    @property
    def is_open(self) -> bool:
        """Whether any text may leave at all."""
        return self.spans or self.events

    def safe(self, text: str) -> str | None:
        """Return the redacted text, cut; None when the hook failed or gave no text.

        The text is cut to some length before the hook too, so that the hook's time is bounded.
        """
        text = text[: 4 * TEXT_BYTES]
        if self.redact is not None:
            try:
                text = self.redact(text)
            except Exception:  # noqa: BLE001 - the caller's hook; what it cannot clean stays inside
                return None
        return cut(text) if isinstance(text, str) else None

    def on_span(self, text: str | None) -> str | None:
        """Return what a span or a record may hold of the text, None for nothing."""
        return self.safe(text) if self.spans and text is not None else None

    def messages(self, messages: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
        """Return (role, text) pairs in the convention's shape, newest kept when they are many.

        As JSON they take at most `TEXT_BYTES`, however many they are.
        """
        pairs = list(messages)
        return self._fitting([(_message(role, ""), text) for role, text in pairs[::-1]])[::-1]

    def messages_json(self, messages: Iterable[tuple[str, str]]) -> str:
        """Return (role, text) pairs as the JSON string that the convention puts on spans."""
        return json.dumps(self.messages(messages), ensure_ascii=False)

    def documents_json(self, documents: Iterable[tuple[str, float | None, str]]) -> str:
        """Return (id, score, text) triples as the JSON string the convention puts on spans.

        It takes at most `TEXT_BYTES`; the first are kept when they are many.
        """
        entries = [({"id": id_, "score": score}, text) for id_, score, text in documents]
        return json.dumps(self._fitting(entries), ensure_ascii=False)

    def _fitting(self, entries: Iterable[tuple[dict[str, Any], str]]) -> list[dict[str, Any]]:
        """Give each entry its text, as long as all of them fit into one attribute as JSON."""
        kept: list[dict[str, Any]] = []
        room = TEXT_BYTES - _LAST_ENTRY
        for entry, text in entries:
            safe = self.safe(text)
            if safe is None:
                continue
            room -= len(json.dumps(_with_text(entry, ""), ensure_ascii=False).encode()) + 2
            if room <= 0:
                kept.append(_with_text({} if "id" in entry else entry, MARKER))
                break
            safe = cut_json(safe, room)
            room -= len(json.dumps(safe, ensure_ascii=False).encode())
            kept.append(_with_text(entry, safe))
        return kept

    def exception(self, error: BaseException) -> dict[str, str]:
        """Return the attributes of an exception event: its type, and its text when asked for."""
        attributes = {names.EXCEPTION_TYPE: type(error).__name__}
        if self.spans:
            message = self.safe(_said(error))
            stack = self.safe("".join(traceback.format_exception(error)))
            if message:
                attributes[names.EXCEPTION_MESSAGE] = message
            if stack:
                attributes[names.EXCEPTION_STACKTRACE] = stack
        return attributes

    def conversation(self, thread_id: str) -> str | None:
        """Return the id under which a conversation may be known outside.

        A thread id that certainly a machine made (a UUID, 128 bits or more in hexadecimal digits,
        a ULID) is given as it is. Anything else may be a name, an address or a number of a
        person, and is given as a hash that is the same for the same thread, unless content is on.
        """
        if _MADE_BY_A_MACHINE.fullmatch(thread_id):
            return thread_id
        if self.spans:
            return self.safe(thread_id)
        return digest(thread_id)


_LAST_ENTRY: Final = 128
"""Bytes kept free for the entry that says that there were more."""


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _with_text(entry: dict[str, Any], text: str) -> dict[str, Any]:
    return _message(entry["role"], text) if "role" in entry else {**entry, "content": text}


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a class of the host's; its type is told all the same
        return ""


def digest(text: str) -> str:
    """Return a short stable hash of a text: 16 hexadecimal digits of BLAKE2b."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def reason_code(reason: Any) -> str | None:
    """Return a reason that is a code (`nothing_passed`), None for one that may be prose."""
    return reason if isinstance(reason, str) and _SLUG.fullmatch(reason) else None


def error_type(error: BaseException) -> str:
    """Return the low-cardinality name of an error: its class's `code`, else its class's name."""
    code = getattr(type(error), "code", None)
    return code if isinstance(code, str) and _SLUG.fullmatch(code) else type(error).__name__
