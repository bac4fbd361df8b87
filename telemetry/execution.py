"""One execution of a node: its span, its time, its tries, and what it meant for the turn.

A node that a retry policy starts again is still one execution with one span. So a failed try of
such a node stays open until its next try or the end of the turn.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from langgraph.errors import GraphBubbleUp, GraphInterrupt, NodeCancelledError, ParentCommand
from opentelemetry import context as otel
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span, StatusCode, set_span_in_context

from telemetry import names
from telemetry.content import error_type
from telemetry.observe import Attributes, NothingFoundError, observe

if TYPE_CHECKING:
    from telemetry.probe import Probe
    from telemetry.running import RunningTurn

STOPPED: Final = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit)
"""Raised in a node or a run that somebody stopped: an outcome, not an error."""
EXHAUSTED: Final = object()
"""Stands for the end of a stream."""

TURN: Final[ContextVar[RunningTurn | None]] = ContextVar("loopscope_turn", default=None)
"""The turn that the current context belongs to; it may have ended."""


def is_stop(error: BaseException) -> bool:
    """Return whether what a node or a call raises means that somebody stopped it.

    A `CancelledError` that the code raised by itself stops nobody: LangGraph makes an error of
    the node's of it, by the same rule.
    """
    if not isinstance(error, asyncio.CancelledError):
        return isinstance(error, STOPPED)
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop here, so nothing that could be cancelled
        return False
    return task is not None and task.cancelling() > 0


def current_turn() -> RunningTurn | None:
    """Return the running turn that the current context belongs to, None outside one."""
    turn = TURN.get()
    return None if turn is None or turn.is_closed else turn


class Within:
    """Makes a turn and its span current for the time of a `with` block, in one task or thread."""

    __slots__ = ("_context_token", "_turn", "_turn_token")

    def __init__(self, turn: RunningTurn) -> None:
        self._turn = turn

    def __enter__(self) -> None:
        self._turn_token = TURN.set(self._turn)
        self._context_token = otel.attach(self._turn.context)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not GeneratorExit:  # then the task was dropped, and its context with it
            otel.detach(self._context_token)
            TURN.reset(self._turn_token)


@dataclass(frozen=True, kw_only=True)
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

    @cached_property
    def span_name(self) -> str:
        """Name of its spans."""
        return names.SPAN_NODE.format(node=self.path)

    @cached_property
    def attributes(self) -> Mapping[str, str]:
        """What every span of it shows."""
        shown = {names.RAG_NODE: self.path}
        return shown if self.role == names.NONE else {**shown, names.RAG_ROLE: self.role}


class Execution:
    """A node that is running, or that failed and may be tried again.

    Args:
        turn: The turn it belongs to.
        node: The node.
        key: What the turn knows it by: LangGraph's namespace of the task.
        metadata: LangGraph's metadata of the task.
    """

    tries = 1
    is_remote = False
    """It searched over a network."""
    is_cached = False
    """LangGraph's node cache served it: nothing ran."""
    given: Any = None
    """What the first of several steps was given; held until the last has run."""
    span: Span = INVALID_SPAN
    context: Context | None = None
    """Current while the node's code runs, where its span is recorded."""
    _error: BaseException | None = None
    _ended: tuple[int, float] | None = None
    """(Unix time in nanoseconds, seconds taken) of a try that failed and may be tried again."""

    def __init__(
        self, turn: RunningTurn, node: Node, key: str, metadata: Mapping[str, Any]
    ) -> None:
        self.turn = turn
        self.node = node
        self.key = key
        step = metadata.get("langgraph_step", 0)
        self.step = step if type(step) is int else 0
        """The superstep, as LangGraph counts it."""
        if turn.is_recording:
            base = otel.get_current()
            self.span = node.probe.tracer.start_span(node.span_name, base)
            self.context = set_span_in_context(self.span, base)
        self._started = time.perf_counter()

    def begin_again(self) -> None:
        """Note that the retry policy tries the node again."""
        self.tries += 1
        if self.context is not None:
            failed = {} if self._error is None else {names.ERROR_TYPE: error_type(self._error)}
            self.span.add_event(names.EVENT_RETRY, failed)
        self._error = self._ended = None

    def returned(self, output: Any, state: Any) -> None:
        """Note what the node returned and was given, and end it. Keeps neither, never raises."""
        seconds = time.perf_counter() - self._started
        attributes: Attributes | None = None
        try:
            attributes = observe(self, output, state)
        except NothingFoundError as error:
            self.node.probe.failed("reader", error, advice=str(error))
        except Exception as error:  # noqa: BLE001 - a reader or a hook of the user's
            self.node.probe.failed("reader", error)
        self._end(seconds, attributes)

    def raised(self, error: BaseException, state: Any) -> None:
        """Note what the node raised. Control flow and a stop are no errors. Never raises."""
        if isinstance(error, ParentCommand):
            self.returned(error.args[0], state)
            return
        try:
            self._raised(error)
        except Exception as failure:  # noqa: BLE001 - the caller shall see the node's own error
            self.node.probe.failed("node", failure)

    def _raised(self, error: BaseException) -> None:
        seconds = time.perf_counter() - self._started
        if isinstance(error, GraphBubbleUp):
            if isinstance(error, GraphInterrupt):
                self.span.add_event(names.EVENT_INTERRUPTED)
                # LangGraph says so at the end of the stream, which not every reader waits for.
                if self.node.probe is self.turn.probe and "|" not in self.key:
                    self.turn.book.is_paused = True
            self._end(seconds)
            return
        if is_stop(error):
            if self.node.may_time_out:
                self._ended = (time.time_ns(), seconds)
            else:
                self._end(seconds)
            return
        if isinstance(error, asyncio.CancelledError):  # the turn ends with this one of LangGraph's
            cancelled, error = error, NodeCancelledError(self.node.path.rpartition("/")[2])
            error.__cause__ = cancelled
        self._ended = (time.time_ns(), seconds)
        self._error = error
        if not self.node.may_retry:
            self.give_up()

    def give_up(self, error: BaseException | None = None) -> None:
        """End an execution that is still open: it failed and nothing tries it again, or was left.

        Args:
            error: Why, where the node itself saw only that it was stopped.
        """
        error, self._error = self._error or error, None
        seconds = self._ended[1] if self._ended else time.perf_counter() - self._started
        if error is None:
            self._end(seconds)
            return
        kind = error_type(error)
        node = self.node
        if node.role == names.RETRIEVE:
            self.turn.book.retrieval_failed()
        if not self.turn.is_synthetic:
            node.probe.run_metrics.node_error(node.path, kind)
        if self.context is not None:
            self.span.set_status(StatusCode.ERROR)
            self.span.add_event(names.EVENT_EXCEPTION, node.probe.gate.exception(error))
        self._end(seconds, {names.ERROR_TYPE: kind})

    def _end(self, seconds: float, attributes: Attributes | None = None) -> None:
        """Leave the turn's open executions, note the time, end the span."""
        turn, node = self.turn, self.node
        if turn.executions.pop(self.key, None) is None:
            return  # the turn ended first, and ended this too
        if not self.is_cached:
            turn.times.append((node, self._started, seconds, turn.book.attempt))
        self.given = None
        if self.context is None:
            return
        shown: Attributes = {
            **node.attributes,
            names.RAG_STEP: self.step,
            names.RAG_ATTEMPT: turn.book.attempt,
        }
        if self.tries > 1:
            shown[names.RAG_TRIES] = self.tries
        if self.is_cached:
            shown[names.RAG_CACHED] = True
        if attributes:
            shown.update(attributes)
        self.span.set_attributes(shown)
        try:
            self.span.end(self._ended[0] if self._ended else None)
        except Exception as error:  # noqa: BLE001 - a span processor of the host's
            node.probe.failed("node", error)
