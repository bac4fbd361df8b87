"""How much is taken on: of bytes, of questions a minute, of turns at once, of seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

BODY_SECONDS: Final = 10.0
"""Longest wait for a body; chosen by us: 256 KiB over a slow mobile line take two."""
READ_SECONDS: Final = 10.0
"""How much longer than its turn a stream may take to be read; chosen by us, as for a body."""
QUEUE_SECONDS: Final = 5.0
"""Longest wait for a free place; chosen by us: a caller that waits longer asks again anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one service; the fields are described in `agent.settings.Settings`."""

    max_body_bytes: int = 262_144
    rate_per_minute: int | None = None
    max_turns: int = 64
    max_waiting: int = 128
    turn_timeout_seconds: float = 60.0
    body_seconds: float = BODY_SECONDS
    queue_seconds: float = QUEUE_SECONDS


DEFAULTS: Final = Limits()
