"""The one place that turns a value into what a span attribute may hold, and keeps it small.

An attribute is a str, bool, int of 64 bits, finite float, or a tuple of one of these. Anything
else the SDK would drop, or turn into a string with a warning for each span.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final

from telemetry import names

Scalar = str | bool | int | float
Value = Scalar | tuple[str, ...] | tuple[bool, ...] | tuple[int, ...] | tuple[float, ...]

TEXT_BYTES: Final = 4096
"""Cap of one text attribute, UTF-8 bytes, without the marker. Chosen by us: a collector's default
message is 4 MiB, so a batch of 512 spans with one full attribute each still fits."""
SPAN_BYTES: Final = 65_536
"""Cap of all attributes of one span, UTF-8 bytes. Chosen by us."""
LIST_ITEMS: Final = 64
"""Cap of the length of a list. Chosen by us: retrievers return 2 to 50 chunks."""
ID_CHARS: Final = 128
"""Cap of an id within a list, characters."""
MARKER: Final = "…[cut]"
"""Ends a text that was cut."""

_INT64: Final = 2**63
_HALF_ESCAPE: Final = re.compile(r"(?<!\\)(?:\\\\)*(\\(?:u[0-9a-f]{0,3})?)$")
"""The beginning of a JSON escape whose rest was cut off."""


def clean(value: Any) -> Value | None:
    """Return the value as an attribute may hold it, or None when it must be left out.

    NumPy scalars and arrays become Python numbers and tuples; None, NaN and infinities are left
    out; an integer beyond 64 bits becomes a string; a list of numbers becomes floats when one of
    them is a float; a mapping, a nested or a mixed list becomes JSON.
    """
    if value is None:
        return None
    if hasattr(value, "tolist") and hasattr(value, "dtype"):  # NumPy, without importing it
        value = value.tolist()
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, str):
        return cut(str(value))
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if -_INT64 <= value < _INT64 else str(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return cut(_json(value))
    if isinstance(value, Iterable) and not isinstance(value, bytes | bytearray):
        return _clean_list(value)
    return type(value).__name__


def clean_all(values: Mapping[str, Any]) -> dict[str, Value]:
    """Return the attributes of one span: cleaned, and cut to `SPAN_BYTES` in the given order.

    `rag.non_finite` says that a NaN or an infinity was left out, `rag.truncated` that something
    did not fit.
    """
    cleaned: dict[str, Value] = {}
    room = SPAN_BYTES
    for key, value in values.items():
        attribute = clean(value)
        if attribute is None or attribute == ():
            if _is_non_finite(value):
                cleaned[names.RAG_NON_FINITE] = True
            continue
        size = len(key) + byte_size(attribute)
        if size > room:
            cleaned[names.RAG_TRUNCATED] = True
            continue
        room -= size
        cleaned[key] = attribute
    return cleaned


def cut(text: str, limit: int = TEXT_BYTES) -> str:
    """Return the text, or its first `limit` UTF-8 bytes and the marker."""
    if len(text) * 4 <= limit:
        return text if text.isascii() else _encodable(text)
    raw = text[: limit + 1].encode("utf-8", "replace")
    if len(raw) <= limit and len(text) <= limit:
        return raw.decode("utf-8")
    return raw[:limit].decode("utf-8", "ignore") + MARKER


def cut_json(text: str, limit: int) -> str:
    """Return the text, cut and marked when it would take more than `limit` bytes within JSON.

    Quotes, line ends and control characters take two to six bytes there.
    """
    encoded = json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "replace")
    if len(encoded) <= limit:
        return text
    start = encoded[: max(0, limit - len(MARKER.encode()))].decode("utf-8", "ignore")
    half = _HALF_ESCAPE.search(start)
    return str(json.loads(f'"{start[: half.start(1)] if half else start}"')) + MARKER


def cut_list(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the texts, or as many as fit into one attribute and the marker.

    Args:
        texts: Each already cut, to `ID_CHARS` or so.
    """
    if 4 * sum(map(len, texts)) <= TEXT_BYTES and len(texts) <= LIST_ITEMS:
        return tuple(texts)
    kept: list[str] = []
    room = TEXT_BYTES
    for text in texts[:LIST_ITEMS]:
        room -= byte_size(text)
        if room < 0:
            return (*kept, MARKER)
        kept.append(text)
    return tuple(kept)


def byte_size(value: Value) -> int:
    """Return the size of an attribute's value in an export, in bytes, roughly: 8 a number."""
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "replace"))
    if isinstance(value, tuple):
        return sum(byte_size(item) for item in value)
    return 8


def _clean_list(values: Iterable[Any]) -> Value | None:
    items = [item for item in values if item is not None][: LIST_ITEMS + 1]
    items = [i.tolist() if hasattr(i, "dtype") and hasattr(i, "tolist") else i for i in items]
    items = items[:LIST_ITEMS]
    kinds = {type(item) for item in items}
    if not items:
        return None
    if kinds == {str}:
        return cut_list([_short(item) for item in items])
    if kinds == {bool}:
        return tuple(items)
    if kinds <= {int, float}:
        if kinds == {int} and all(-_INT64 <= item < _INT64 for item in items):
            return tuple(items)
        return tuple(float(item) for item in items if math.isfinite(item)) or None
    return cut(_json(items))


def _short(text: str) -> str:
    return cut(text, ID_CHARS) if len(text) > ID_CHARS or not text.isascii() else text


def _encodable(text: str) -> str:
    """Replace lone surrogates, which no exporter can encode."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=lambda item: type(item).__name__)


def _is_non_finite(value: Any) -> bool:
    """Tell a number that is no number from a value that is merely absent."""
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        value = value.tolist()
    items = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(item, float) and not math.isfinite(item) for item in items)
