"""The latest conversations of this process, so that a follow-up question finds what it follows."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from langchain_core.messages import AnyMessage

from agent.answer import Answer
from agent.state import exchange, keep_recent

MAX_CONVERSATIONS: Final = 1_000
"""Chosen by us: about 20 MB when each holds ten long questions and replies."""


class Conversations:
    """Messages by thread id, in memory; the conversation that was silent longest is forgotten.

    Args:
        limit: Conversations kept at most.
    """

    def __init__(self, limit: int = MAX_CONVERSATIONS) -> None:
        self._limit = limit
        self._threads: OrderedDict[str, list[AnyMessage]] = OrderedDict()

    def history(self, thread_id: str | None) -> list[AnyMessage]:
        """Return what was said so far, oldest first."""
        return list(self._threads.get(thread_id, ())) if thread_id is not None else []

    def add(self, thread_id: str | None, answer: Answer) -> None:
        """Keep a question and its reply, the newest `HISTORY_MESSAGES` messages of a thread."""
        if thread_id is None:
            return
        said = exchange(answer.question, answer.reply, answer.outcome)
        self._threads[thread_id] = keep_recent(self._threads.pop(thread_id, []), said)
        while len(self._threads) > self._limit:
            self._threads.popitem(last=False)
