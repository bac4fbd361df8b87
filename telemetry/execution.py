"""One execution of a node: its span, its time, its tries, and what it meant for the turn.

A node that a retry policy starts again is still one execution with one span. So a failed try of
such a node stays open until its next try or the end of the turn.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from langgraph.errors import GraphBubbleUp, GraphInterrupt, ParentCommand
from opentelemetry import context as otel
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span, StatusCode, set_span_in_context

from telemetry import names
from telemetry.content import error_type
from telemetry.facts import Seen
from telemetry.observe import observe
from telemetry.readers import updates_of

if TYPE_CHECKING:
    from telemetry.probe import Probe
    from telemetry.running import RunningTurn

STOPPED: Final = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit)
"""Raised in a node or a run that somebody stopped: an outcome, not an error."""

EXHAUSTED: Final = object()
"""Stands for the end of a stream."""

_TURN_KEY: Final = otel.create_key("loopscope-turn")
_EXECUTION_KEY: Final = otel.create_key("loopscope-execution")


def current_turn() -> RunningTurn | None:
    """Return the turn that the current context belongs to, None outside one."""
    turn: RunningTurn | None = otel.get_current().get(_TURN_KEY)  # type: ignore[assignment]
    return None if turn is None or turn.is_closed else turn


def current_execution() -> Execution | None:
    """Return the node execution that the current context belongs to, None outside one."""
    return otel.get_current().get(_EXECUTION_KEY)  # type: ignore[return-value]


def context_of_turn(turn: RunningTurn, span: Span, base: Context) -> Context:
    """Return the context in which a turn's graph runs: its span is the current one."""
    return set_span_in_context(span, otel.set_value(_TURN_KEY, turn, base))


def next_in(context: Context, chunks: Iterator[Any]) -> Any:
    """Return the next chunk, or `EXHAUSTED`, with the context current only while it is made."""
    token = otel.attach(context)
    try:
        return next(chunks, EXHAUSTED)
    finally:
        otel.detach(token)


async def anext_in(context: Context, chunks: AsyncIterator[Any]) -> Any:
    """Return the next chunk, or `EXHAUSTED`, with the context current only while it is made."""
    token = otel.attach(context)
    try:
        chunk = await anext(chunks, EXHAUSTED)
    except GeneratorExit:  # the task was dropped, and its context with it: nothing to reset
        raise
    except BaseException:
        otel.detach(token)
        raise
    otel.detach(token)
    return chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What is known of a node before it runs."""

    probe: Probe
    path: str
    """Name, or `outer/inner` for a node of a subgraph."""
    role: str
    may_retry: bool = False
    """A retry policy may start it again after it raised."""
    may_time_out: bool = False
    """It may be stopped because it takes too long, and started again after that."""


class Execution:
    """A node that is running, or that failed and may be tried again.

    Args:
        turn: The turn it belongs to.
        node: The node.
        key: What the turn knows it by: LangGraph's namespace of the task.
        step: The superstep.
    """

    __slots__ = (
        "_ended_ns", "_error", "_seconds", "_started", "context", "given", "is_remote", "key",
        "node", "span", "step", "tries", "turn",
    )  # fmt: skip

    def __init__(self, turn: RunningTurn, node: Node, key: str, step: int) -> None:
        base = otel.get_current()
        self.turn = turn
        self.node = node
        self.key = key
        self.step = step
        self.tries = 1
        self.is_remote = False
        self.given: Any = None
        """What the first of several steps was given; held until the last has run."""
        self.span: Span = INVALID_SPAN
        if turn.is_recording:
            self.span = node.probe.tracer.start_span(names.SPAN_NODE.format(node=node.path), base)
            base = set_span_in_context(self.span, base)
        self.context = otel.set_value(_EXECUTION_KEY, self, base)
        self._error: BaseException | None = None
        self._ended_ns: int | None = None
        self._seconds = 0.0
        self._started = time.perf_counter()

    def begin_again(self) -> None:
        """Note that the retry policy tries the node again."""
        self.tries += 1
        if self.span.is_recording():
            failed = {} if self._error is None else {names.ERROR_TYPE: error_type(self._error)}
            self.span.add_event(names.EVENT_RETRY, failed)
        self._error = None

    def returned(self, output: Any, state: Any) -> None:
        """Note what the node returned and was given, and end it. Keeps neither."""
        attributes: dict[str, Any] = {}
        try:
            seen = Seen(updates_of(output), state, self.turn.book.chunk_ids)
            attributes = observe(self, seen)
        except Exception as error:  # noqa: BLE001 - a reader or a hook of the user's
            self.node.probe.failed("reader", error)
        self._end(attributes)

    def raised(self, error: BaseException, state: Any) -> None:
        """Note what the node raised. Control flow and a stop are no errors."""
        if isinstance(error, ParentCommand):
            self.returned(error.args[0], state)
            return
        if isinstance(error, GraphBubbleUp):
            if isinstance(error, GraphInterrupt) and self.span.is_recording():
                self.span.add_event(names.EVENT_INTERRUPTED)
            self._end({})
            return
        self._ended_ns = time.time_ns()
        self._seconds = time.perf_counter() - self._started
        if isinstance(error, STOPPED):
            if not self.node.may_time_out:
                self._end({})
            return
        self._error = error
        if not self.node.may_retry:
            self.give_up()

    def give_up(self, error: BaseException | None = None) -> None:
        """End a failed execution that nothing tries again.

        Args:
            error: Why, where the node itself saw only that it was stopped.
        """
        error = self._error or error
        if error is None:
            self._end({})
            return
        kind = error_type(error)
        node = self.node
        if node.role == names.RETRIEVE:
            self.turn.book.retrieval_failed()
        node.probe.run_metrics.node_error(node.path, kind)
        if self.span.is_recording():
            self.span.set_status(StatusCode.ERROR)
            self.span.add_event(names.EVENT_EXCEPTION, node.probe.gate.exception(error))
        self._error = None
        self._end({names.ERROR_TYPE: kind})

    def _end(self, attributes: dict[str, Any]) -> None:
        """End the span, count the time, and leave the turn's list of open executions."""
        node, self.given = self.node, None
        if not self.turn.leave(self):
            return  # the turn ended first, and ended this too
        if self.span.is_recording():
            attributes[names.RAG_NODE] = node.path
            attributes[names.RAG_STEP] = self.step
            attributes[names.RAG_ATTEMPT] = self.turn.book.attempt
            if node.role != names.NONE:
                attributes[names.RAG_ROLE] = node.role
            if self.tries > 1:
                attributes[names.RAG_TRIES] = self.tries
            self.span.set_attributes(attributes)
            self.span.end(self._ended_ns)
        seconds = self._seconds if self._ended_ns else time.perf_counter() - self._started
        node.probe.run_metrics.node(node.path, seconds)
