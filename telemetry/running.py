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
    StatusCode,
    format_span_id,
    format_trace_id,
    set_span_in_context,
)

from telemetry import names
from telemetry.book import Book
from telemetry.call_spans import SpanHandler
from telemetry.calls import CallHandler
from telemetry.content import error_type
from telemetry.detectors import Finding
from telemetry.events import emit
from telemetry.execution import STOPPED, Execution, Node
from telemetry.facts import Statement, only
from telemetry.probe import Probe
from telemetry.report import TurnReport
from telemetry.synthetic import are_synthetic
from telemetry.turn import Turn
from telemetry.turn_attributes import turn_attributes
from telemetry.updates import updates_of

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
        self.is_synthetic = are_synthetic()
        self.executions: dict[str, Execution] = {}
        """Node executions under way, by LangGraph's namespace of the task."""
        self.times: list[tuple[Node, float, float, int]] = []
        """Node executions that have ended: when they began, their seconds and attempt."""
        self.book = Book(probe)
        self.conversation: str | None = None
        self.span: Span = INVALID_SPAN
        base = otel.get_current()
        try:
            self._read(given, config)
        except Exception as error:  # noqa: BLE001 - a reader or hook of the host's
            probe.failed("reader", error)
        try:
            self.span = self._start_span(given, base)
        except Exception as error:  # noqa: BLE001 - a sampler or span processor of the host's
            probe.failed("run", error)
        self.is_recording = self.span.is_recording()
        self.trace_id = self.span.get_span_context().trace_id
        self.context = set_span_in_context(self.span, base)
        self.handler = SpanHandler(self) if self.is_recording else CallHandler(self)
        self._logger = probe.events.logger if self.is_recording else None
        if not self.is_synthetic:
            probe.turn_metrics.opened()

    def emit(self, span: Span, event: str, attributes: Mapping[str, Any]) -> None:
        """Emit an event that belongs to a span of this turn."""
        emit(self._logger, span, event, attributes)

    def emit_log(self, span: Span, event: str, attributes: Mapping[str, Any]) -> None:
        """Emit an event that may not be put on a span."""
        if self._logger is not None:
            emit(self._logger, span, event, attributes)

    def close(self, error: BaseException | None) -> None:
        """End the turn: count it, show it, hand it on. A second call does nothing.

        Args:
            error: What ended the run, None when it came to its own end.
        """
        if self.is_closed:
            return
        probe = self.probe
        outcome = self._outcome(error)
        try:
            self._close_what_is_open(error)
        except Exception as failure:  # noqa: BLE001 - telemetry never breaks a run
            probe.failed("run", failure)
        self.is_closed = True
        turn = self._finished(outcome, error)
        findings = self._findings(turn)
        drifted = DRIFT in [finding.detector for finding in findings]
        report = TurnReport(
            probe,
            turn,
            drifted=drifted,
            exemplar=self._exemplar(turn, findings),
            times=self.times,
            calls=self.handler.calls,
        )
        probe.turn_metrics.families.post(report)
        try:
            if self.is_recording:
                self._show(turn, findings, drifted, error)
        except Exception as failure:  # noqa: BLE001 - telemetry never breaks a run
            probe.failed("run", failure)
        try:
            if probe.records is not None:
                probe.records.put(turn, findings)
        except Exception as failure:  # noqa: BLE001 - telemetry never breaks a run
            probe.failed("record", failure)
        del self.handler  # it holds the turn: without this, only a garbage collection frees both

    def _finished(self, outcome: str | None, error: BaseException | None) -> Turn:
        failed = outcome in (names.ERROR, names.RECURSION_LIMIT)
        try:
            return self.book.close(
                outcome=outcome,
                llm_calls=len(self.handler.calls),
                failed_calls=self.handler.failed,
                executions=self.times,
                error_type=error_type(error) if failed and error is not None else None,
                trace_id=format_trace_id(self.trace_id) if self.is_recording else None,
                span_id=self._span_id(),
                is_synthetic=self.is_synthetic,
            )
        except Exception as failure:  # noqa: BLE001 - the turn is counted, whatever is wrong
            probe = self.probe
            probe.failed("run", failure)
            return Turn(
                graph=probe.graph,
                version=probe.version,
                outcome=outcome or names.ERROR,
                build=probe.build,
                is_synthetic=self.is_synthetic,
            )

    def _span_id(self) -> str | None:
        span_id = self.span.get_span_context().span_id
        return format_span_id(span_id) if self.is_recording else None

    def _findings(self, turn: Turn) -> tuple[Finding, ...]:
        findings: list[Finding] = []
        for check in self.probe.detectors:
            try:
                if (finding := only(Finding, check(turn))) is not None:
                    findings.append(finding)
            except Exception as failure:  # noqa: BLE001 - telemetry never breaks a run
                self.probe.failed("run", failure)
        return tuple(findings)

    def _read(self, given: Any, config: Mapping[str, Any]) -> None:
        """Take the thread id and the question, which are all a turn keeps of its input."""
        thread_id = (config.get("configurable") or {}).get("thread_id")
        if thread_id is not None:
            self.book.thread_id = str(thread_id)
            self.conversation = self.probe.gate.conversation(self.book.thread_id)
        update = given if type(given) is dict else updates_of(given)
        if update and not isinstance(given, Command):
            readers = self.probe.readers
            self.book.question = only(str, readers.question(update, None))
            statement = only(Statement, readers.statement(update, None))
            if statement is not None and statement.max_rewrites is not None:
                self.book.stated(Statement(max_rewrites=statement.max_rewrites))

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
        return probe.tracer.start_turn(
            names.SPAN_TURN.format(graph=probe.graph), base, attributes, links
        )

    def _outcome(self, error: BaseException | None) -> str | None:
        """Say what the end of the run means; None for the graph's own end.

        Control flow of LangGraph is told by its class, never by its name or text.
        """
        if error is None or isinstance(error, ParentCommand):
            return names.INTERRUPTED if self.book.is_paused else None
        if isinstance(error, GraphBubbleUp):
            return names.INTERRUPTED
        if isinstance(error, STOPPED):  # also whoever stops reading once the graph has paused
            return names.INTERRUPTED if self.book.is_paused else names.CANCELLED
        recursion = isinstance(error, GraphRecursionError)
        return names.RECURSION_LIMIT if recursion else names.ERROR

    def _close_what_is_open(self, error: BaseException | None) -> None:
        for execution in list(self.executions.values()):
            is_cause = isinstance(error, NodeTimeoutError) and (
                error.node == execution.node.path.rpartition("/")[2]
            )
            execution.give_up(error if is_cause else None)
        self.executions.clear()
        self.handler.close()
        if self._outcome(error) == names.INTERRUPTED and self.book.thread_id is not None:
            self.probe.paused.put(self.book.thread_id, self.span.get_span_context())

    def _show(
        self,
        turn: Turn,
        findings: Sequence[Finding],
        drifted: bool,
        error: BaseException | None,
    ) -> None:
        """Put the turn on its span and end it."""
        span, gate = self.span, self.probe.gate
        attributes = turn_attributes(turn)
        attributes[names.RAG_DRIFTED] = drifted
        if findings:
            attributes[names.RAG_FINDINGS] = [finding.detector for finding in findings]
        if gate.spans:
            if turn.question:
                attributes[names.INPUT_MESSAGES] = gate.messages_json([("user", turn.question)])
            if turn.reply:
                attributes[names.OUTPUT_MESSAGES] = gate.messages_json([("assistant", turn.reply)])
        span.set_attributes(attributes)
        if turn.outcome in (names.ERROR, names.RECURSION_LIMIT):
            span.set_status(StatusCode.ERROR)
            if error is not None:
                span.add_event(names.EVENT_EXCEPTION, gate.exception(error))
        span.end()

    def _exemplar(self, turn: Turn, findings: Sequence[Finding]) -> dict[str, str] | None:
        """Return the link from a counter to this trace, None when the trace is not kept."""
        context = self.span.get_span_context()
        if not self.is_recording or not context.trace_flags.sampled:
            return None
        keeps = self.probe.keeps
        if keeps is not None:
            failed = turn.outcome != names.ANSWERED or bool(findings)
            try:
                if not keeps(context.trace_id, failed=failed):
                    return None
            except Exception as failure:  # noqa: BLE001 - telemetry never breaks a run
                self.probe.failed("run", failure)
                return None
        return {
            names.EXEMPLAR_TRACE_ID: format_trace_id(context.trace_id),
            names.EXEMPLAR_SPAN_ID: format_span_id(context.span_id),
        }
