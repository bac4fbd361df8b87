"""A conversation and whose it is: the same id of two callers names two conversations."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self

from agent.memory.errors import InvalidThreadError

MAX_ID_CHARS: Final = 128
"""Chosen by us: a UUID, a ULID and ids of chat front ends fit."""
_ID: Final = re.compile(r"[A-Za-z0-9._~:-]+")
_DOTS: Final = frozenset({".", ".."})
"""Clients take them out of a path (RFC 3986, 5.2.4), so that it could name no such conversation."""
_NEW_ID_BYTES: Final = 16
"""128 random bits: nobody guesses another's conversation."""


@dataclass(frozen=True, kw_only=True)
class Thread:
    """One caller's conversation.

    Raises:
        InvalidThreadError: The id is empty, too long, or holds other characters than
            `A-Z a-z 0-9 . _ - ~ :`, or is `.` or `..`.
    """

    id: str
    """What the caller knows it by."""
    caller: str = ""
    """Who asks, as the service knows it, never as the request says; empty without callers."""

    def __post_init__(self) -> None:
        """Refuse what is no id; its characters are not repeated, they may be anything."""
        if len(self.id) > MAX_ID_CHARS:
            raise InvalidThreadError(f"it has {len(self.id):,} characters", MAX_ID_CHARS)
        if self.id in _DOTS:
            raise InvalidThreadError("it is no more than dots", MAX_ID_CHARS)
        if not _ID.fullmatch(self.id):
            problem = "it holds other characters" if self.id else "it is empty"
            raise InvalidThreadError(problem, MAX_ID_CHARS)

    @classmethod
    def new(cls, caller: str = "") -> Self:
        """Return a conversation with an id that was never used: 128 random bits."""
        return cls(id=secrets.token_hex(_NEW_ID_BYTES), caller=caller)

    @property
    def owner(self) -> str:
        """Under which all conversations of its caller are found: a hash, as `key` is."""
        return hashlib.sha256(json.dumps([self.caller]).encode()).hexdigest()

    @cached_property
    def key(self) -> str:
        """Under which it is stored: 64 hexadecimal digits of SHA-256 over caller and id."""
        named = json.dumps([self.caller, self.id]).encode()
        return hashlib.sha256(named).hexdigest()
