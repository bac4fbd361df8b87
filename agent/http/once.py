"""A question that is sent again with the key of the first time gets the first time's reply.

Source: draft-ietf-httpapi-idempotency-key-header, "The Idempotency-Key HTTP Header Field".
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from agent.http.errors import IdempotencyKeyError, KeyReusedError, StillUnderWayError
from agent.memory.errors import MemoryUnavailableError
from agent.memory.notes import Notes

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotency-Replayed"
"""Header of a reply that was given before."""
MAX_KEY_CHARS: Final = 255
REPLY_SECONDS: Final = 3_600.0
"""How long a reply is kept; chosen by us: clients retry within minutes, and it holds text."""
SPARE_SECONDS: Final = 10.0
"""How much longer than a question may take its key is held for it; chosen by us: twice as long as
a store may take."""
KIND: Final = "reply"
"""Of the notes."""
_KEY: Final = re.compile(r'"(?P<quoted>(?:[ !#-\[\]-~]|\\["\\])+)"|(?P<bare>[!#-~]+)')
"""A string of RFC 8941, as the draft wants it, or the bare text that most clients send."""

_log = logging.getLogger(__name__)


class Once:
    """Replies by the keys that their callers gave.

    Args:
        notes: Where they are kept.
        turn_seconds: Longest time of a question.
    """

    def __init__(self, notes: Notes, turn_seconds: float) -> None:
        self._notes = notes
        self._held_seconds = turn_seconds + SPARE_SECONDS

    async def reply(
        self, caller: str, given: str, body: str, work: Callable[[], Awaitable[str]]
    ) -> tuple[str, bool]:
        """Return the reply to a question, and whether it was given before.

        A question that is refused, or whose caller leaves, leaves its key as it was.

        Args:
            caller: Who asks; a key is its own.
            given: Value of the header.
            body: What is asked.
            work: Asks it and returns the reply.

        Raises:
            IdempotencyKeyError: The header holds no key.
            KeyReusedError: The key came with another question before.
            StillUnderWayError: The first question of this key is not answered yet.
            MemoryUnavailableError: The store does not answer; nothing was asked.
        """
        key, digest = read_key(given), hashlib.sha256(body.encode()).hexdigest()
        held = json.dumps([digest, None])
        if not await self._notes.add(caller, key, held, seconds=self._held_seconds):
            return await self._earlier(caller, key, digest), True
        try:
            reply = await work()
        except BaseException:
            with suppress(MemoryUnavailableError):
                await self._notes.remove(caller, key)
            raise
        try:
            await self._notes.put(caller, {key: json.dumps([digest, reply])})
        except MemoryUnavailableError as error:  # the answer is there, and goes out
            _log.warning("a reply cannot be given again: %s", error)
        return reply, False

    async def _earlier(self, caller: str, key: str, digest: str) -> str:
        noted = await self._notes.find(caller, key)
        asked, reply = json.loads(noted) if noted is not None else (digest, None)
        if asked != digest:
            raise KeyReusedError()
        if reply is None:
            raise StillUnderWayError()
        return str(reply)


def read_key(given: str) -> str:
    """Return the key of a header.

    Raises:
        IdempotencyKeyError: It holds none.
    """
    found = _KEY.fullmatch(given.strip())
    if found is None or len(given) > MAX_KEY_CHARS:
        raise IdempotencyKeyError(MAX_KEY_CHARS)
    if found["bare"] is not None:
        return found["bare"]
    return re.sub(r'\\(["\\])', r"\1", found["quoted"])
