"""Model calls and retrievals inside nodes: their spans, their tokens, each counted once.

One handler a turn, passed down by LangChain to whatever the nodes call. It listens to models and
retrievers; LangChain skips it for every chain, tool and agent event.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult
from langgraph.callbacks import GraphCallbackHandler, GraphInterruptEvent
from opentelemetry import context as otel
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, StatusCode, get_current_span

from telemetry import names
from telemetry.attributes import clean_all
from telemetry.content import error_type
from telemetry.execution import STOPPED, Execution, current_execution
from telemetry.messages import asked, finish_reasons, first_message, said
from telemetry.readers import document_id, document_score
from telemetry.roles import ROUTER
from telemetry.run_metrics import CallMetrics
from telemetry.usage import StreamedUsage, usage_of

if TYPE_CHECKING:
    from telemetry.running import RunningTurn

UNKNOWN: Final = "unknown"
"""A model or provider that says no name."""
_LOCAL_STORES: Final = frozenset(("InMemoryVectorStore", "FAISS", "DocArrayInMemorySearch"))
"""Vector stores of LangChain that search in this process."""


class _Call:
    """A model call under way."""

    __slots__ = ("first_chunk", "metrics", "operation", "role", "span", "started", "usage")

    def __init__(self, span: Span, metrics: CallMetrics, role: str) -> None:
        self.span = span
        self.metrics = metrics
        self.role = role
        self.first_chunk: float | None = None
        self.usage: StreamedUsage | None = None
        self.started = time.perf_counter()

    def got(self, chunk: Any) -> None:
        """Take a chunk of the stream."""
        if self.usage is None:
            self.usage = StreamedUsage()
            self.first_chunk = time.perf_counter() - self.started
        self.usage.add(chunk)


class CallHandler(GraphCallbackHandler):
    """Watches the model and retriever calls of one turn, and whether its graph pauses."""

    run_inline = True  # without it every event of an async run hops to a thread
    ignore_chain = False  # until the graph's own run is known, see `on_chain_start`
    ignore_agent = True
    ignore_custom_event = True
    ignore_retry = True

    def __init__(self, turn: RunningTurn) -> None:
        self._turn = turn
        self._root: UUID | None = None
        self._calls: dict[UUID, _Call] = {}
        self._retrievals: dict[UUID, Span] = {}

    def on_chain_start(self, *_: Any, run_id: UUID, **__: Any) -> None:
        """Take the id of the graph's run, the first chain of all, and hear of no further one."""
        self._root = run_id
        self.ignore_chain = True

    def on_interrupt(self, event: GraphInterruptEvent) -> None:
        """Note that the turn's own graph pauses; one that a node runs for itself is not it."""
        if event.run_id == self._root:
            self._turn.book.is_paused = True

    def on_chat_model_start(
        self, _: Any, messages: Sequence[Sequence[BaseMessage]], **event: Any
    ) -> None:
        """Begin a chat call."""
        self._guard(self._begin_call, names.OPERATION_CHAT, messages, event)

    def on_llm_start(self, _: Any, __: Sequence[str], **event: Any) -> None:
        """Begin a call of a model that completes text."""
        self._guard(self._begin_call, names.OPERATION_TEXT, (), event)

    def on_llm_new_token(self, _: Any, *, run_id: UUID, chunk: Any = None, **__: Any) -> None:
        """Note when a stream begins and what usage its chunks report."""
        if (call := self._calls.get(run_id)) is not None:
            self._guard(call.got, chunk)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        """End a call that came back."""
        if (call := self._calls.pop(run_id, None)) is not None:
            self._guard(self._end_call, call, response)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """End a call that raised."""
        if (call := self._calls.pop(run_id, None)) is not None:
            self._guard(self._fail_call, call, error)

    def on_retriever_start(self, _: Any, query: str, **event: Any) -> None:
        """Begin a retrieval."""
        self._guard(self._begin_retrieval, query, event)

    def on_retriever_end(self, documents: Sequence[Any], *, run_id: UUID, **_: Any) -> None:
        """End a retrieval that came back."""
        if (span := self._retrievals.pop(run_id, None)) is not None:
            self._guard(self._end_retrieval, span, documents)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """End a retrieval that raised."""
        if (span := self._retrievals.pop(run_id, None)) is not None:
            self._guard(self._fail_span, span, error)

    def close(self) -> None:
        """End what was left open by a stream that nobody read to its end, or by a stop."""
        for call in list(self._calls.values()):
            call.span.end()
            call.metrics.observe(time.perf_counter() - call.started)
        for span in list(self._retrievals.values()):
            span.end()
        self._calls.clear()
        self._retrievals.clear()

    def _guard(self, step: Callable[..., None], *arguments: Any) -> None:
        try:
            step(*arguments)
        except Exception as error:  # noqa: BLE001 - telemetry never breaks a run
            self._turn.probe.failed("model", error)

    # -- model calls ---------------------------------------------------------------------------

    def _begin_call(
        self, operation: str, messages: Sequence[Sequence[BaseMessage]], event: dict[str, Any]
    ) -> None:
        run_id: UUID = event["run_id"]
        if run_id in self._calls:
            return
        metadata: Mapping[str, Any] = event.get("metadata") or {}
        model, provider = _model(metadata, event.get("invocation_params") or {})
        execution, role = self._made_by(metadata)
        probe = execution.node.probe if execution is not None else self._turn.probe
        self._turn.book.llm_calls.append(role)
        probe.run_metrics.llm_call(role, model)
        span = INVALID_SPAN
        if self._turn.is_recording and probe.makes_call_spans():
            span = probe.tracer.start_span(
                f"{operation} {probe.run_metrics.model_name(model)}",
                self._parent(execution),
                SpanKind.INTERNAL if provider == names.IN_PROCESS_PROVIDER else SpanKind.CLIENT,
            )
            if span.is_recording():
                span.set_attributes(self._request(operation, model, provider, metadata, event))
                self._show_messages(span, names.INPUT_MESSAGES, asked(messages))
        call = _Call(span, probe.run_metrics.call(operation, provider, model), role)
        self._calls[run_id] = call

    def _request(
        self,
        operation: str,
        model: str,
        provider: str,
        metadata: Mapping[str, Any],
        event: Mapping[str, Any],
    ) -> dict[str, Any]:
        params: Mapping[str, Any] = event.get("invocation_params") or {}
        attributes: dict[str, Any] = {
            names.OPERATION_NAME: operation,
            names.PROVIDER_NAME: provider,
            names.REQUEST_MODEL: model,
        }
        temperature = metadata.get("ls_temperature")
        max_tokens = metadata.get("ls_max_tokens")
        if temperature is not None or max_tokens is not None:
            attributes |= clean_all(
                {names.REQUEST_TEMPERATURE: temperature, names.REQUEST_MAX_TOKENS: max_tokens}
            )
        if params.get("stream"):
            attributes[names.REQUEST_STREAM] = True
        if self._turn.conversation is not None:
            attributes[names.CONVERSATION_ID] = self._turn.conversation
        return attributes

    def _end_call(self, call: _Call, response: LLMResult) -> None:
        call.metrics.observe(time.perf_counter() - call.started)
        usage = usage_of(response, call.usage)
        attributes: dict[str, Any] = {}
        if usage is not None:
            counts = (usage.input_tokens or 0, usage.output_tokens or 0)
            self._turn.book.tokens.append(counts)
            for kind, count in zip(names.TOKEN_TYPES, counts, strict=True):
                call.metrics.tokens(kind, count)
            attributes = usage.attributes()
        if not call.span.is_recording():
            return
        message = first_message(response)
        metadata = getattr(message, "response_metadata", None) or {}
        reasons = finish_reasons(response)
        if reasons:
            attributes[names.RESPONSE_FINISH_REASONS] = reasons
        model = metadata.get("model_name") or metadata.get("model")
        if isinstance(model, str):
            attributes[names.RESPONSE_MODEL] = model
        if isinstance(response_id := metadata.get("id"), str):
            attributes[names.RESPONSE_ID] = response_id
        if call.first_chunk is not None:
            attributes[names.TIME_TO_FIRST_CHUNK] = call.first_chunk
        call.span.set_attributes(attributes)
        self._show_messages(call.span, names.OUTPUT_MESSAGES, said(response))
        call.span.end()

    def _fail_call(self, call: _Call, error: BaseException) -> None:
        stopped = isinstance(error, STOPPED)
        call.metrics.observe(time.perf_counter() - call.started, is_error=not stopped)
        self._fail_span(call.span, error)

    def _fail_span(self, span: Span, error: BaseException) -> None:
        if span.is_recording():
            if not isinstance(error, STOPPED):
                span.set_status(StatusCode.ERROR)
                span.set_attribute(names.ERROR_TYPE, error_type(error))
                span.add_event(names.EVENT_EXCEPTION, self._turn.probe.gate.exception(error))
            span.end()

    def _show_messages(self, span: Span, key: str, messages: Sequence[tuple[str, str]]) -> None:
        probe = self._turn.probe
        if probe.gate.spans:
            span.set_attribute(key, probe.gate.messages_json(messages))
        if probe.gate.events:
            probe.events.emit_log(span, names.EVENT_INFERENCE, {key: probe.gate.messages(messages)})

    # -- retrievals ----------------------------------------------------------------------------

    def _begin_retrieval(self, query: str, event: dict[str, Any]) -> None:
        metadata: Mapping[str, Any] = event.get("metadata") or {}
        execution, _ = self._made_by(metadata)
        store = metadata.get("ls_vector_provider")
        is_remote = store is not None and store not in _LOCAL_STORES
        if execution is not None and is_remote:
            execution.is_remote = True
        if not self._turn.is_recording:
            return
        probe = self._turn.probe
        source = event.get("name") or metadata.get("ls_retriever_name") or UNKNOWN
        span = probe.tracer.start_span(
            names.SPAN_RETRIEVAL.format(source=source),
            self._parent(execution),
            SpanKind.CLIENT if is_remote else SpanKind.INTERNAL,
        )
        if span.is_recording():
            attributes = {
                names.OPERATION_NAME: names.OPERATION_RETRIEVAL,
                names.DATA_SOURCE_ID: source,
                names.PROVIDER_NAME: store,
                names.RETRIEVAL_QUERY: probe.gate.on_span(query),
            }
            span.set_attributes(clean_all(attributes))
        self._retrievals[event["run_id"]] = span

    def _end_retrieval(self, span: Span, documents: Sequence[Any]) -> None:
        if span.is_recording():
            scores = [document_score(document) for document in documents]
            attributes: dict[str, Any] = {
                names.RAG_CHUNK_IDS: [document_id(document) for document in documents],
                names.RAG_CHUNK_SCORES: None if None in scores else scores,
            }
            gate = self._turn.probe.gate
            if gate.spans:
                attributes[names.RETRIEVAL_DOCUMENTS] = gate.documents_json(
                    (document_id(d), document_score(d), getattr(d, "page_content", ""))
                    for d in documents
                )
            span.set_attributes(clean_all(attributes))
            span.end()

    # -- where a call belongs ------------------------------------------------------------------

    def _made_by(self, metadata: Mapping[str, Any]) -> tuple[Execution | None, str]:
        """Return the node execution that makes a call, and the role it makes it in.

        The current context tells, and where a thread of the user's lost it, the metadata that
        LangGraph passes along. A call between nodes is a router's.
        """
        execution = current_execution()
        if execution is None or execution.turn is not self._turn:
            execution = self._turn.executions.get(metadata.get("langgraph_checkpoint_ns", ""))
        if execution is not None:
            return execution, execution.node.role
        node = metadata.get("langgraph_node", "")
        probe = self._turn.probe
        return None, probe.roles.get(f"{node}{ROUTER}") or probe.role(node)

    def _parent(self, execution: Execution | None) -> Context:
        """Return the current context where it belongs to this trace, else the node's own."""
        home = self._turn.trace_id
        if get_current_span().get_span_context().trace_id == home:
            return otel.get_current()
        return execution.context if execution is not None else self._turn.context


def _model(metadata: Mapping[str, Any], params: Mapping[str, Any]) -> tuple[str, str]:
    """Return the names of a call's model and provider, as LangChain states them."""
    provider = metadata.get("ls_provider")
    model = (
        metadata.get("ls_model_name")
        or params.get("model")
        or params.get("model_name")
        or params.get("_type")
        or provider
    )
    return (
        model if isinstance(model, str) else UNKNOWN,
        provider if isinstance(provider, str) else UNKNOWN,
    )
