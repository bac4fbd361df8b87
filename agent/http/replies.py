"""Replies as JSON that every reader takes: finite numbers, plain values, valid Unicode."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response

_HALVES: Final = re.compile("[\ud800-\udfff]")
"""Halves of surrogate pairs: a Python text may hold them, UTF-8 cannot."""


class JsonReply(Response):
    """A reply that is one JSON value.

    Args:
        value: Built-ins; what JSON has no form for is made plain, see `plain`.
        status: HTTP status.
        headers: Further headers.
    """

    media_type = "application/json"

    def __init__(
        self, value: Any, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(encoded(value), status, headers)


def encoded(value: Any, *, ascii_only: bool = False) -> bytes:
    """Return a value as JSON in UTF-8, without blanks.

    Args:
        value: Built-ins; anything else, and what is not valid, is made plain first.
        ascii_only: Escape every other character, so that no reader finds a line's end in it.
    """
    try:
        return _dumped(value, ascii_only).encode()
    except (TypeError, ValueError):  # UnicodeEncodeError is one
        return _dumped(plain(value), ascii_only).encode()


def plain(value: Any) -> Any:
    """Return a value of built-ins: NaN and infinities become null, half surrogates U+FFFD.

    A number of another library (NumPy's have `tolist`) becomes Python's; what is nothing of JSON
    becomes its text.
    """
    if isinstance(value, str):
        return _HALVES.sub("\N{REPLACEMENT CHARACTER}", value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {plain(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return plain(value.tolist() if hasattr(value, "tolist") else str(value))


def _dumped(value: Any, ascii_only: bool) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if not ascii_only:
        return text
    text.encode()  # refuses a half surrogate, which escaping would hide
    return json.dumps(value, allow_nan=False, separators=(",", ":"))
