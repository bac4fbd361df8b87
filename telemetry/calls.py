"""Model calls inside nodes, each counted once, and whether the graph pauses.

One handler a turn, passed down by LangChain to whatever the nodes call. It hears of models and
retrievers only: LangChain skips it for every chain, tool and agent event.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult
from langgraph.callbacks import GraphCallbackHandler, GraphInterruptEvent
from opentelemetry.trace import INVALID_SPAN, Span

from telemetry import names
from telemetry.execution import is_stop
from telemetry.messages import first_message
from telemetry.report import Call, LateCall
from telemetry.usage import usage_of

if TYPE_CHECKING:
    from telemetry.running import RunningTurn

LOCAL_STORES = frozenset(("InMemoryVectorStore", "FAISS", "DocArrayInMemorySearch"))
"""Vector stores of LangChain that search in this process."""


class CallHandler(GraphCallbackHandler):
    """Notes the calls of a turn whose spans nobody records.

    Its methods only note: what a call was is worked out when the turn has ended.
    """

    run_inline = True  # without it every event of an async run hops to a thread
    ignore_chain = False  # until the graph's own run is known, see `on_chain_start`
    ignore_agent = True
    ignore_chat_model = False
    ignore_custom_event = True
    ignore_llm = False
    ignore_retriever = False
    ignore_retry = True

    failed = 0
    """Calls that raised, none of them because somebody stopped it."""

    def __init__(self, turn: RunningTurn) -> None:
        self._turn = turn
        self._makes_call_spans = False
        self._root: UUID | None = None
        self._open: dict[int, Call] = {}
        """By the integer of the run id: a UUID is slow to hash."""
        self._left: dict[int, Call] = {}
        """What was still open when the turn ended, and is counted with it."""
        self._is_closed = False
        self.calls: list[Call] = []
        """The calls that have ended; all of them once the handler is closed."""

    def on_chain_start(self, *_: Any, run_id: UUID, **__: Any) -> None:
        """Take the id of the graph's run, the first chain of all, and hear of no further one."""
        self._root = run_id
        self.ignore_chain = True

    def on_interrupt(self, event: GraphInterruptEvent) -> None:
        """Note that the turn's own graph pauses; one that a node runs for itself is not it."""
        if event.run_id == self._root:
            self._turn.book.is_paused = True

    def on_chat_model_start(
        self,
        serialized: Any,  # noqa: ARG002 - LangChain's signature
        messages: Sequence[Sequence[BaseMessage]],
        **event: Any,
    ) -> None:
        """Begin a chat call."""
        self._begin(names.OPERATION_CHAT, messages, event)

    def on_llm_start(
        self,
        serialized: Any,  # noqa: ARG002 - LangChain's signature
        prompts: Sequence[str],  # noqa: ARG002
        **event: Any,
    ) -> None:
        """Begin a call of a model that completes text."""
        self._begin(names.OPERATION_TEXT, (), event)

    def on_llm_new_token(
        self,
        token: Any,  # noqa: ARG002 - LangChain gives it by name in sync runs
        *,
        run_id: UUID,
        chunk: Any = None,
        **_: Any,
    ) -> None:
        """Note when a stream begins and what usage its chunks report."""
        call = self._open.get(run_id.int) or self._left.get(run_id.int)
        if call is not None:
            call.got(chunk)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        """End a call that came back."""
        call = self._open.pop(run_id.int, None) or self._left.get(run_id.int)
        if call is None:
            return
        self._ended(call)
        try:
            message = first_message(response)
            usage = usage_of(response, message, call.streamed)
            if usage is not None:
                call.usage = usage
                self._turn.book.tokens.append((usage.input_tokens or 0, usage.output_tokens or 0))
            if call.span is not INVALID_SPAN:
                self._show(call, response, message)
                call.span = INVALID_SPAN  # the call waits to be counted, its span need not
        except Exception as error:  # noqa: BLE001 - telemetry never breaks a run
            call.span.end()
            call.span = INVALID_SPAN
            self._turn.probe.failed("model", error)
        if self._is_closed:
            self._count_late(run_id, call)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """End a call that raised."""
        call = self._open.pop(run_id.int, None)
        if call is None:
            return
        call.is_error = not is_stop(error)
        self.failed += call.is_error
        self._ended(call)
        if call.span is not INVALID_SPAN:
            self._show_failure(call.span, error)
            call.span = INVALID_SPAN
        if self._is_closed:
            self._count_late(run_id, call)

    def on_retriever_start(
        self,
        serialized: Any,  # noqa: ARG002 - LangChain's signature
        query: str,  # noqa: ARG002
        **event: Any,
    ) -> None:
        """Note that the node searches over a network: scores are then compared differently."""
        metadata = event.get("metadata") or {}
        store = metadata.get("ls_vector_provider")
        if store is not None and store not in LOCAL_STORES:
            execution = self._turn.executions.get(metadata.get("langgraph_checkpoint_ns", ""))
            if execution is not None:
                execution.is_remote = True

    def close(self) -> None:
        """End what a stream that nobody read to its end, or a stop, left open."""
        while self._open:
            key, call = self._open.popitem()
            self._ended(call)
            call.span = INVALID_SPAN  # it has ended too
            self._left[key] = copy.copy(call)  # the turn's own is counted as it is now
        self._is_closed = True

    def _ended(self, call: Call) -> None:
        """Note that a call ended, among those of the turn unless that has ended first."""
        if not self._is_closed:
            call.ended()
            self.calls.append(call)

    def _count_late(self, run_id: UUID, call: Call) -> None:
        """Count a call of a background task that outlived the turn, or its tokens alone."""
        try:
            was_counted = self._left.pop(run_id.int, None) is not None
            if not self._turn.is_synthetic:
                self._turn.probe.metric_set.post(LateCall(call, was_counted=was_counted))
        except Exception as error:  # noqa: BLE001 - telemetry never breaks a run
            self._turn.probe.failed("model", error)

    def _begin(
        self, operation: str, messages: Sequence[Sequence[BaseMessage]], event: dict[str, Any]
    ) -> None:
        """Note a call that begins, once."""
        key = event["run_id"].int
        if key in self._open:
            return
        try:
            call = self._open[key] = Call(self._turn, operation, event)
            if self._makes_call_spans:
                self._start_span(call, messages, event)
        except Exception as error:  # noqa: BLE001 - telemetry never breaks a run
            self._turn.probe.failed("model", error)

    def _start_span(
        self, call: Call, messages: Sequence[Sequence[BaseMessage]], event: dict[str, Any]
    ) -> None:
        """Begin the span of a call."""

    def _show(self, call: Call, response: LLMResult, message: Any) -> None:
        """Show a call that came back."""

    def _show_failure(self, span: Span, error: BaseException) -> None:
        """Show a call or a retrieval that raised."""
