"""One question in, one answer out: the edge at which a failed run becomes a reply."""

from __future__ import annotations

import logging
import time
import unicodedata
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, cast

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import GraphRecursionError
from langgraph.types import StreamMode

from agent.answer import Answer, Observation, answer_from_state, with_observation
from agent.context import AgentContext
from agent.errors import AgentError, InvalidQuestionError
from agent.events import Event, Finished, NodeStarted, ReplyText
from agent.graph import SupportGraph, limit_for
from agent.state import Outcome, SupportState

MAX_QUESTION_CHARS = 8_000
"""Chosen by us: a long e-mail fits, a pasted log file does not."""

RECURSION_LIMIT_REPLY = (
    "I had to stop before I found an answer. Please rephrase the question, or contact support."
)
STREAMED = frozenset({"generate_response"})
"""Nodes whose model writes to the user; what judges write is nobody else's business."""
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
    remembering: SupportGraph | None = None
    """The same graph with a checkpointer, for turns of a conversation."""
    limit: int | None = None
    """A recursion limit above the smallest that fits the bound; None for the smallest."""
    take_observation: Callable[[], Observation | None] = lambda: None
    """Returns what telemetry saw of the turn that has just ended in this context, once."""

    def __post_init__(self) -> None:
        """Refuse a limit that would cut a legitimate turn."""
        limit_for(self.context, self.limit)

    def with_memory(self, checkpointer: BaseCheckpointSaver[Any]) -> SupportAgent:
        """Return an agent that keeps the turns of conversations with the checkpointer."""
        return replace(self, remembering=self.graph.copy({"checkpointer": checkpointer}))

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
        deadline: float | None = None,
    ) -> Answer:
        """Answer one question without blocking the event loop; see `answer`.

        Args:
            question: As of `answer`.
            history: As of `answer`.
            thread_id: As of `answer`.
            deadline: Monotonic time (`time.monotonic`) at which the turn has to be over: it ends
                then with the outcome `error` and the reason `timeout`.
        """
        answer = None
        modes: list[StreamMode] = ["values"]
        async for event in self._run(valid_question(question), history, thread_id, deadline, modes):
            if isinstance(event, Finished):
                answer = event.answer
        if answer is None:
            raise AssertionError("a run ended without its last event")
        return answer

    def astream(
        self,
        question: str,
        *,
        history: Sequence[AnyMessage] = (),
        thread_id: str | None = None,
        deadline: float | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Answer one question and tell of it meanwhile; closing the stream cancels the turn.

        Args:
            question: As of `answer`; a bad one is refused before the first event.
            history: As of `answer`.
            thread_id: As of `answer`.
            deadline: As of `aanswer`.
        """
        modes: list[StreamMode] = ["values", "tasks", "custom"]
        return self._run(valid_question(question), history, thread_id, deadline, modes)

    async def _run(
        self,
        question: str,
        history: Sequence[AnyMessage],
        thread_id: str | None,
        deadline: float | None,
        modes: list[StreamMode],
    ) -> AsyncGenerator[Event, None]:
        is_told = "custom" in modes
        remembering = self.remembering if thread_id is not None else None
        turn, reply = _Turn(question), ReplyText()
        chunks = (remembering or self.graph).astream(
            self._input(question, history),
            self._config(thread_id),
            context=replace(
                self.context, deadline=deadline, streamed=STREAMED if is_told else frozenset()
            ),
            stream_mode=modes,
            durability="exit" if remembering else None,
        )
        try:
            async with aclosing(cast("AsyncGenerator[Any, None]", chunks)):
                async for mode, chunk in cast("AsyncIterator[tuple[str, Any]]", chunks):
                    if mode == "values":
                        turn.state = cast(SupportState, chunk)
                    elif mode == "custom":
                        for event in reply.add(chunk):
                            yield event
                    elif "triggers" in chunk:
                        yield turn.started(chunk["name"])
        except Exception as error:  # noqa: BLE001 - the edge: every failure becomes a reply
            answer = turn.failed(error)
        else:
            answer = turn.finished()
        answer = with_observation(answer, self.take_observation())
        if is_told:
            for event in reply.end(answer.reply):
                yield event
        yield Finished(answer=answer)

    @staticmethod
    def _input(question: str, history: Sequence[AnyMessage]) -> SupportState:
        return {"question": question, "messages": list(history)}

    def _config(self, thread_id: str | None) -> RunnableConfig:
        config: RunnableConfig = {"recursion_limit": limit_for(self.context, self.limit)}
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

    def started(self, node: str) -> NodeStarted:
        attempt = self.state.get("rewrites", 0) + (node == "optimize_query")
        return NodeStarted(node=node, attempt=attempt)

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
