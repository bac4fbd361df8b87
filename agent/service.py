"""One question in, one answer out: the edge at which a failed run becomes a reply."""

from __future__ import annotations

import logging
import time
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphRecursionError

from agent.answer import Answer, Observation, answer_from_state, with_observation
from agent.context import AgentContext
from agent.errors import AgentError, InvalidQuestionError
from agent.graph import SupportGraph, recursion_limit
from agent.state import Outcome, SupportState

MAX_QUESTION_CHARS = 8_000
"""Chosen by us: a long e-mail fits, a pasted log file does not."""

RECURSION_LIMIT_REPLY = (
    "I had to stop before I found an answer. Please rephrase the question, or contact support."
)
ERROR_REPLY = "Something went wrong on our side. Please try again, or contact support."

_INVISIBLE = frozenset({"Cf", "Zs", "Zl", "Zp"})
"""Unicode categories of which a text may consist without showing anything: blanks, joiners, marks
of direction and of byte order."""
_UNDECODED = frozenset(map(chr, range(0xDC80, 0xDD00)))
"""What Python makes of bytes of a command line or a file that are not UTF-8 (PEP 383)."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportAgent:
    """The graph, its tools and its recursion limit; shared by any number of threads and tasks."""

    graph: SupportGraph
    context: AgentContext
    limit: int | None = None
    """A recursion limit above the smallest that fits the bound; None for the smallest."""
    take_observation: Callable[[], Observation | None] = lambda: None
    """Returns what telemetry saw of the turn that has just ended in this context, once."""

    def __post_init__(self) -> None:
        """Refuse a limit that would cut a legitimate turn."""
        recursion_limit(self.context.max_rewrites, self.limit)

    def answer(
        self,
        question: str,
        *,
        history: Sequence[AnyMessage] = (),
        thread_id: str | None = None,
    ) -> Answer:
        """Answer one question.

        Args:
            question: 1 to `MAX_QUESTION_CHARS` characters of valid Unicode.
            history: Earlier questions and replies, oldest first, for a graph without checkpointer.
            thread_id: The conversation it belongs to; needs a graph with a checkpointer.

        Returns:
            The answer. A run that failed has the outcome `error` or `recursion_limit`.

        Raises:
            InvalidQuestionError: The question is empty, too long, or not text.
            AgentError: The agent is set up in a way that cannot answer this question, for example
                the `golden` model was asked one that is not in its golden set.
        """
        text = valid_question(question)
        turn = _Turn(text)
        try:
            for values in self.graph.stream(
                self._input(text, history), self._config(thread_id), context=self.context,
                stream_mode="values",
            ):  # fmt: skip
                turn.state = cast(SupportState, values)
        except Exception as error:  # noqa: BLE001 - the edge: every failure becomes a reply
            answer = turn.failed(error)
        else:
            answer = turn.finished()
        return with_observation(answer, self.take_observation())

    async def aanswer(
        self,
        question: str,
        *,
        history: Sequence[AnyMessage] = (),
        thread_id: str | None = None,
    ) -> Answer:
        """Answer one question without blocking the event loop; see `answer`."""
        text = valid_question(question)
        turn = _Turn(text)
        try:
            async for values in self.graph.astream(
                self._input(text, history), self._config(thread_id), context=self.context,
                stream_mode="values",
            ):  # fmt: skip
                turn.state = cast(SupportState, values)
        except Exception as error:  # noqa: BLE001 - the edge: every failure becomes a reply
            answer = turn.failed(error)
        else:
            answer = turn.finished()
        return with_observation(answer, self.take_observation())

    @staticmethod
    def _input(question: str, history: Sequence[AnyMessage]) -> SupportState:
        return {"question": question, "messages": list(history)}

    def _config(self, thread_id: str | None) -> RunnableConfig:
        config: RunnableConfig = {
            "recursion_limit": recursion_limit(self.context.max_rewrites, self.limit)
        }
        if thread_id is not None:
            config["configurable"] = {"thread_id": thread_id}
        return config


def valid_question(question: str) -> str:
    """Return the question without blanks around it.

    Raises:
        InvalidQuestionError: It is empty, longer than `MAX_QUESTION_CHARS`, or not valid text.
    """
    text = question.strip()
    if all(unicodedata.category(c) in _INVISIBLE for c in text[: MAX_QUESTION_CHARS + 1]):
        raise InvalidQuestionError("it is empty", MAX_QUESTION_CHARS)
    if len(text) > MAX_QUESTION_CHARS:
        raise InvalidQuestionError(f"it has {len(text):,} characters", MAX_QUESTION_CHARS)
    surrogates = {c for c in text if 0xD800 <= ord(c) <= 0xDFFF}
    if surrogates and surrogates <= _UNDECODED:
        raise InvalidQuestionError("it holds bytes that are not UTF-8", MAX_QUESTION_CHARS)
    if surrogates:
        raise InvalidQuestionError(
            "it holds half of a surrogate pair, which is not valid Unicode", MAX_QUESTION_CHARS
        )
    if any(ord(c) < 32 and c not in "\t\n\r" for c in text):
        raise InvalidQuestionError(
            "it holds control characters, as binary data does", MAX_QUESTION_CHARS
        )
    return text


class _Turn:
    """The last state that a turn reached, and when it began."""

    def __init__(self, question: str) -> None:
        self.state: SupportState = {}
        self._question = question
        self._began = time.perf_counter()

    def finished(self) -> Answer:
        outcome = self.state["outcome"]
        if outcome is None:
            raise AssertionError("the graph ended without an outcome: a terminal node is missing")
        return self._answer(outcome, self.state["reason"], self.state["reply"])

    def failed(self, error: Exception) -> Answer:
        if isinstance(error, AgentError) and error.exit_code == 2:
            raise error  # the caller's mistake, not a failed turn
        if isinstance(error, GraphRecursionError):
            return self._answer("recursion_limit", "recursion_limit", RECURSION_LIMIT_REPLY)
        code = error.code if isinstance(error, AgentError) else type(error).__name__
        # The exception's text may quote the question, so only its class is logged.
        _log.error("turn failed: %s", code)
        return self._answer("error", code, ERROR_REPLY)

    def _answer(self, outcome: Outcome, reason: str | None, reply: str) -> Answer:
        answer = answer_from_state(
            self.state, question=self._question, outcome=outcome, reason=reason, reply=reply
        )
        return replace(answer, duration_seconds=time.perf_counter() - self._began)
