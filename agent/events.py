"""What is told of a turn while it runs: nodes that begin, the answer's text, and its end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from agent.answer import Answer
from agent.models.replies import without_thinking

_HELD_TAG: Final = re.compile(r"</?[a-z]{0,9}\Z", re.I)
"""The beginning of what may become a tag around thinking."""
_OPEN_TAG: Final = re.compile(r"<(think|thinking|thought|reasoning)>(?!.*</\1>)", re.I | re.S)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStarted:
    """A node of the graph has begun."""

    node: str
    attempt: int
    """The retrieval that it belongs to: 0 for the first, 1 for that of the first rewrite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A further piece of the reply."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """All pieces so far are void, since the model's reply was unusable; another one follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The end of the turn, always the last event. The pieces since the last `Withdrawn`, joined,
    are its reply."""

    answer: Answer


Event: TypeAlias = NodeStarted | Token | Withdrawn | Finished


class ReplyText:
    """Turns what a model writes into pieces of the reply: no thinking, no blanks at its ends."""

    def __init__(self) -> None:
        self._written = ""
        self._sent = ""

    def add(self, piece: str | None) -> Iterator[Token | Withdrawn]:
        """Take the next piece of the model's text; None when it begins anew."""
        self._written = "" if piece is None else self._written + piece
        if piece is None:
            if self._sent:
                yield from self.end("")
            return
        text = self._written
        if "<" in text:
            text = _HELD_TAG.sub("", text)
            still_thinking = _OPEN_TAG.search(text)
            text = without_thinking(text[: still_thinking.start()] if still_thinking else text)
        yield from self.end(text.strip())

    def end(self, reply: str) -> Iterator[Token | Withdrawn]:
        """Say what is missing to a reply, or that it is another one than was sent."""
        if not reply.startswith(self._sent):
            self._sent = ""
            yield Withdrawn()
        if len(reply) > len(self._sent):
            yield Token(text=reply[len(self._sent) :])
            self._sent = reply
