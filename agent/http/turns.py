"""The turns that this process has answered, so that feedback finds the one it is about."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final, Literal

from agent.answer import Answer, Observation
from agent.http.errors import NotFoundError

MAX_TURNS: Final = 10_000
"""Turns remembered; chosen by us: 8 MB (measured), and people judge an answer soon or never."""

Verdict = Literal["up", "down"]


@dataclass(slots=True, kw_only=True)
class AnsweredTurn:
    """What is kept of an answered turn: nothing that anyone wrote."""

    id: str
    caller: str
    seen: Observation | None
    """What telemetry saw of it; None when it saw nothing."""
    verdicts: set[Verdict] = field(default_factory=set)
    """What was said of it so far."""


class AnsweredTurns:
    """The newest turns by their own id and by their trace's; the oldest is forgotten first.

    Args:
        limit: Turns kept at most.
    """

    def __init__(self, limit: int = MAX_TURNS) -> None:
        self._limit = limit
        self._turns: OrderedDict[str, AnsweredTurn] = OrderedDict()
        self._by_trace: dict[str, str] = {}

    def add(self, caller: str, answer: Answer) -> str:
        """Remember a turn and return its id, 128 random bits in hexadecimal digits."""
        turn = AnsweredTurn(id=secrets.token_hex(16), caller=caller, seen=answer.seen)
        self._turns[turn.id] = turn
        if answer.trace_id is not None:
            self._by_trace[answer.trace_id] = turn.id
        while len(self._turns) > self._limit:
            self._forget(self._turns.popitem(last=False)[1])
        return turn.id

    def find(self, caller: str, id_: str) -> AnsweredTurn:
        """Return a caller's turn by its id or its trace's; the newest of a trace of several.

        Raises:
            NotFoundError: There is none, or it is another caller's.
        """
        turn = self._turns.get(id_) or self._turns.get(self._by_trace.get(id_, ""))
        if turn is None or turn.caller != caller:
            raise NotFoundError(
                "turn", f"the turn_id or trace_id of one of your last {self._limit:,} answers here"
            )
        return turn

    def _forget(self, turn: AnsweredTurn) -> None:
        trace_id = turn.seen.trace_id if turn.seen else None
        if trace_id is not None and self._by_trace.get(trace_id) == turn.id:
            del self._by_trace[trace_id]
