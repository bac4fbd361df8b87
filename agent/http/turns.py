"""The turns that were answered, so that feedback finds the one it is about.

They are noted beside the conversations. Where processes share those, feedback reaches any of them.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from dataclasses import dataclass
from typing import Final, Literal

from agent.answer import Answer
from agent.http.callers import PROBER
from agent.http.errors import NotFoundError
from agent.memory.errors import MemoryUnavailableError
from agent.memory.notes import Notes

DAYS: Final = 7
"""How long a turn can be judged; chosen by us: people judge an answer soon or never."""
KEPT_SECONDS: Final = DAYS * 86_400.0
KINDS: Final = ("turn", "verdict")
"""Of the notes: a turn under its id and its trace's, and what was said of it."""
NOTE_SECONDS: Final = 1.0
"""How long an answer waits for the note of its turn; chosen by us: healthy stores take
milliseconds, and an answer is worth more than what is said of it."""

Verdict = Literal["up", "down"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredTurn:
    """What is kept of an answered turn: nothing that anyone wrote."""

    id: str
    trace_id: str | None
    span_id: str | None


class AnsweredTurns:
    """The newest turns by their own id and by their trace's. For one event loop.

    Args:
        turns: Where they are noted.
        verdicts: Where it is noted what was said of them.
    """

    def __init__(self, turns: Notes, verdicts: Notes) -> None:
        self._turns = turns
        self._verdicts = verdicts
        self._under_way: set[asyncio.Task[None]] = set()

    async def add(self, caller: str, answer: Answer, until: float) -> str:
        """Note a turn and return its id, 128 random bits in hexadecimal digits.

        A store that does not answer keeps nobody waiting: then the turn cannot be judged.

        Args:
            caller: Whose turn it is.
            answer: What came of it.
            until: Monotonic time at which the note is waited for no longer.
        """
        seen = answer.seen
        turn = AnsweredTurn(
            id=secrets.token_hex(16),
            trace_id=seen.trace_id if seen else None,
            span_id=seen.span_id if seen else None,
        )
        if caller == PROBER:  # nobody judges its turns, and there are many
            return turn.id
        writing = asyncio.create_task(self._note(caller, turn))
        self._under_way.add(writing)
        writing.add_done_callback(self._under_way.discard)
        left = min(until - time.monotonic(), NOTE_SECONDS)
        await asyncio.wait({writing}, timeout=max(left, 0))
        return turn.id

    async def find(self, caller: str, id_: str) -> AnsweredTurn:
        """Return a caller's turn by its id or its trace's; the newest of a trace of several.

        Raises:
            NotFoundError: There is none, or it is another caller's.
            MemoryUnavailableError: The store does not answer.
        """
        noted = await self._turns.find(caller, id_)
        if noted is None:
            where = "" if self._turns.is_shared else ", and by this process, which alone knows it"
            raise NotFoundError(
                "turn",
                f"the turn_id or trace_id of one of your answers, given in the last {DAYS} days"
                f"{where}",
            )
        turn_id, trace_id, span_id = json.loads(noted)
        return AnsweredTurn(id=turn_id, trace_id=trace_id, span_id=span_id)

    async def is_news(self, caller: str, turn: AnsweredTurn, verdict: Verdict) -> bool:
        """Note what was said of a turn and return whether that had not been said before.

        Raises:
            MemoryUnavailableError: The store does not answer.
        """
        return await self._verdicts.add(caller, f"{turn.id} {verdict}", "")

    async def _note(self, caller: str, turn: AnsweredTurn) -> None:
        noted = json.dumps([turn.id, turn.trace_id, turn.span_id])
        ids = [turn.id] if turn.trace_id is None else [turn.id, turn.trace_id]
        try:
            await self._turns.put(caller, dict.fromkeys(ids, noted))
        except MemoryUnavailableError as error:
            _log.warning("an answer cannot be judged: %s", error)
