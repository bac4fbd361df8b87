"""A turn while it runs, and its one end: whatever ended it, it is counted exactly once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from langgraph.errors import (
    GraphBubbleUp,
    GraphRecursionError,
    NodeTimeoutError,
    ParentCommand,
)
from langgraph.types import Command
from opentelemetry import context as otel
from opentelemetry.context import Context
from opentelemetry.trace import (
    INVALID_SPAN,
    Link,
    Span,
    SpanKind,
    StatusCode,
    format_span_id,
    format_trace_id,
)

from telemetry import names
from telemetry.attributes import clean_all
from telemetry.book import Book, End
from telemetry.calls import CallHandler
from telemetry.content import error_type, reason_code
from telemetry.detectors import Finding
from telemetry.execution import STOPPED, Execution, Node, context_of_turn
from telemetry.facts import Seen
from telemetry.probe import Probe
from telemetry.readers import updates_of
from telemetry.topology import DEFAULT_RECURSION_LIMIT
from telemetry.turn import Turn

DRIFT: Final = "rewrite_drift"
"""Name of the detector whose finding means that a turn's rewrites drifted."""


class RunningTurn:
    """One turn between its start and its end.

    Args:
        probe: The instrumented graph.
        given: The graph's input.
        config: The call's config, with the graph's own below it.
    """

    def __init__(self, probe: Probe, given: Any, config: Mapping[str, Any]) -> None:
        self.probe = probe
        self.is_closed = False
        self.executions: dict[str, Execution] = {}
        """Node executions under way, by LangGraph's namespace of the task."""
        self.book = Book(probe)
        self.conversation: str | None = None
        self.span: Span = INVALID_SPAN
        base = otel.get_current()
        with probe.guard("run"):
            self._read(given, config)
        with probe.guard("run"):
            self.span = self._start_span(given, base)
        self.is_recording = self.span.is_recording()
        self.trace_id = self.span.get_span_context().trace_id
        self.context = context_of_turn(self, self.span, base)
        self.handler = CallHandler(self)
        probe.turn_metrics.opened()

    def entered(self, node: Node, config: Mapping[str, Any]) -> None:
        """Note that a node begins; the first one tells the recursion limit that is in effect."""
        self.book.last_node = node.path
        if self.book.recursion_limit is None:
            self.book.recursion_limit = config.get("recursion_limit", DEFAULT_RECURSION_LIMIT)

    def leave(self, execution: Execution) -> bool:
        """Take an execution off the list of open ones; False when it was not on it any more."""
        return self.executions.pop(execution.key, None) is not None

    def close(self, error: BaseException | None) -> None:
        """End the turn: count it, show it, hand it on. A second call does nothing.

        Args:
            error: What ended the run, None when it came to its own end.
        """
        if self.is_closed:
            return
        probe, end = self.probe, self._end(error)
        with probe.guard("run"):
            self._close_what_is_open(error)
        self.is_closed = True
        turn = Turn(graph=probe.graph, version=probe.version, outcome=end.outcome or names.ERROR)
        with probe.guard("run"):
            turn = self.book.close(end)
        findings: list[Finding] = []
        for check in probe.detectors:
            with probe.guard("run"):
                if (finding := check(turn)) is not None:
                    findings.append(finding)
        exemplar = self._exemplar()
        with probe.guard("run"):
            self._show(turn, findings, error)
        drifted = any(finding.detector == DRIFT for finding in findings)
        with probe.guard("run"):
            probe.turn_metrics.closed(turn, drifted=drifted, exemplar=exemplar)
        if probe.records is not None:
            with probe.guard("record"):
                probe.records.put(turn, tuple(findings))

    def _read(self, given: Any, config: Mapping[str, Any]) -> None:
        """Take the thread id and the question, which are all a turn keeps of its input."""
        thread_id = (config.get("configurable") or {}).get("thread_id")
        if thread_id is not None:
            self.book.thread_id = str(thread_id)
            self.conversation = self.probe.gate.conversation(self.book.thread_id)
        if not isinstance(given, Command):
            seen = Seen(updates_of(given), None)
            self.book.question = self.probe.readers.question(seen)

    def _start_span(self, given: Any, base: Context) -> Span:
        probe = self.probe
        attributes = {
            names.OPERATION_NAME: names.OPERATION_TURN,
            names.AGENT_NAME: probe.graph,
            names.AGENT_VERSION: probe.version,
        }
        if self.conversation is not None:
            attributes[names.CONVERSATION_ID] = self.conversation
        links = []
        thread_id = self.book.thread_id
        if thread_id is not None and (given is None or isinstance(given, Command)):
            paused = probe.paused.pop(thread_id)
            links = [Link(paused)] if paused is not None else []
        return probe.tracer.start_span(
            names.SPAN_TURN.format(graph=probe.graph),
            base,
            SpanKind.INTERNAL,
            attributes=attributes,
            links=links,
        )

    def _end(self, error: BaseException | None) -> End:
        """Say what the end of the run means. Control flow of LangGraph is told by its class."""
        trace_id = format_trace_id(self.trace_id) if self.is_recording else None
        if error is None or isinstance(error, ParentCommand):
            outcome = names.INTERRUPTED if self.book.is_paused else None
        elif isinstance(error, GraphBubbleUp):
            outcome = names.INTERRUPTED
        elif isinstance(error, STOPPED):
            outcome = names.CANCELLED
        else:
            recursion = isinstance(error, GraphRecursionError)
            outcome = names.RECURSION_LIMIT if recursion else names.ERROR
            return End(outcome=outcome, error_type=error_type(error), trace_id=trace_id)
        return End(outcome=outcome, trace_id=trace_id)

    def _close_what_is_open(self, error: BaseException | None) -> None:
        for execution in list(self.executions.values()):
            is_cause = isinstance(error, NodeTimeoutError) and (
                error.node == execution.node.path.rpartition("/")[2]
            )
            execution.give_up(error if is_cause else None)
        self.executions.clear()
        self.handler.close()
        if self.book.is_paused and self.book.thread_id is not None:
            self.probe.paused.put(self.book.thread_id, self.span.get_span_context())

    def _show(self, turn: Turn, findings: Sequence[Finding], error: BaseException | None) -> None:
        """Put the turn on its span and end it."""
        span, probe = self.span, self.probe
        if not self.is_recording:
            return
        attributes = turn_attributes(turn)
        if findings:
            attributes[names.RAG_FINDINGS] = [finding.detector for finding in findings]
            if any(finding.detector == DRIFT for finding in findings):
                attributes[names.RAG_DRIFTED] = True
        if probe.gate.spans:
            for key, role, text in (
                (names.INPUT_MESSAGES, "user", turn.question),
                (names.OUTPUT_MESSAGES, "assistant", turn.reply),
            ):
                if text:
                    attributes[key] = probe.gate.messages_json([(role, text)])
        span.set_attributes(clean_all(attributes))
        if turn.outcome in (names.ERROR, names.RECURSION_LIMIT):
            span.set_status(StatusCode.ERROR)
            if error is not None:
                span.add_event(names.EVENT_EXCEPTION, probe.gate.exception(error))
        span.end()

    def _exemplar(self) -> dict[str, str] | None:
        """Return the link from a counter to this trace, None when it is not sampled."""
        context = self.span.get_span_context()
        if not self.is_recording or not context.trace_flags.sampled:
            return None
        return {
            names.EXEMPLAR_TRACE_ID: format_trace_id(context.trace_id),
            names.EXEMPLAR_SPAN_ID: format_span_id(context.span_id),
        }


def turn_attributes(turn: Turn) -> dict[str, Any]:
    """Return what the turn's span shows of a finished turn; None where there is nothing."""
    swaps = sum(r.effect == names.SAME_CHUNKS_AND_SCORES for r in turn.retrievals)
    failed = turn.outcome in (names.ERROR, names.RECURSION_LIMIT)
    return {
        names.RAG_OUTCOME: turn.outcome,
        names.RAG_REASON: reason_code(turn.reason),
        names.RAG_TOPIC_CLASSIFICATION: turn.classification,
        names.RAG_TOPIC_CONFIDENCE: turn.confidence,
        names.RAG_REWRITES: turn.rewrites,
        names.RAG_MAX_REWRITES: turn.max_rewrites,
        names.RAG_LLM_CALLS: turn.llm_calls,
        names.RAG_RETRIEVALS: len(turn.retrievals),
        names.RAG_SYNONYM_SWAPS: swaps,
        names.RAG_DRIFTED: False,
        names.RAG_BUDGET_FIRST: turn.outcome == names.NO_RESULTS and turn.last_grade == names.PASS,
        names.RAG_CONFLICT: True if turn.is_conflict else None,
        names.RAG_RECURSION_LIMIT: turn.recursion_limit,
        names.RAG_LAST_NODE: turn.last_node if turn.outcome not in _SELF_ENDED else None,
        names.ERROR_TYPE: (turn.error_type or reason_code(turn.reason)) if failed else None,
    }


_SELF_ENDED: Final = frozenset(names.TERMINAL_OUTCOMES.values())
