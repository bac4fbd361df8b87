"""The spans of the model calls and retrievals of a recorded turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult
from opentelemetry import context as otel
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode, get_current_span

from telemetry import names
from telemetry.attributes import clean_all
from telemetry.calls import LOCAL_STORES, CallHandler
from telemetry.content import error_type
from telemetry.documents import document_id, document_score
from telemetry.execution import Execution, is_stop
from telemetry.messages import asked, finish_reasons, said
from telemetry.report import UNKNOWN, Call

if TYPE_CHECKING:
    from telemetry.running import RunningTurn


MAX_KINDS: Final = 256
"""Kinds of calls remembered of a graph. Chosen by us: a model's name may come from a request."""


class CallKind:
    """What the spans of all calls to one model have in common.

    Args:
        key: Operation, provider and model, and temperature and token limit as LangChain has them.
        model_label: The model's name as a label, of few values.
    """

    __slots__ = ("attributes", "span_kind", "span_name")

    def __init__(self, key: tuple[str, str, str, Any, Any], model_label: str) -> None:
        operation, provider, model, temperature, max_tokens = key
        self.span_name = f"{operation} {model_label}"
        is_here = provider == names.IN_PROCESS_PROVIDER
        self.span_kind = SpanKind.INTERNAL if is_here else SpanKind.CLIENT
        self.attributes = clean_all(
            {
                names.OPERATION_NAME: operation,
                names.PROVIDER_NAME: provider,
                names.REQUEST_MODEL: model,
                names.REQUEST_TEMPERATURE: temperature,
                names.REQUEST_MAX_TOKENS: max_tokens,
            }
        )


class SpanHandler(CallHandler):
    """Notes the calls of a turn and makes their spans."""

    def __init__(self, turn: RunningTurn) -> None:
        super().__init__(turn)
        self._gate = turn.probe.gate
        self._shows_content = self._gate.is_open
        self._makes_call_spans = turn.probe.makes_call_spans()
        self._retrievals: dict[int, Span] = {}

    def on_retriever_start(self, serialized: Any, query: str, **event: Any) -> None:
        """Begin a retrieval."""
        super().on_retriever_start(serialized, query, **event)
        self._guard(self._begin_retrieval, query, event)

    def on_retriever_end(self, documents: Sequence[Any], *, run_id: UUID, **_: Any) -> None:
        """End a retrieval that came back."""
        if (span := self._retrievals.pop(run_id.int, None)) is not None:
            self._guard(self._end_retrieval, span, documents)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """End a retrieval that raised."""
        if (span := self._retrievals.pop(run_id.int, None)) is not None:
            self._guard(self._fail, span, error)

    def close(self) -> None:
        """End what a stream that nobody read to its end, or a stop, left open."""
        for span in [
            *(call.span for call in list(self._open.values())),
            *list(self._retrievals.values()),
        ]:
            span.end()
        self._retrievals.clear()
        super().close()

    def _guard(self, step: Callable[..., None], *arguments: Any) -> None:
        try:
            step(*arguments)
        except Exception as error:  # noqa: BLE001 - telemetry never breaks a run
            self._turn.probe.failed("model", error)

    # -- model calls ---------------------------------------------------------------------------

    def _start_span(
        self, call: Call, messages: Sequence[Sequence[BaseMessage]], event: dict[str, Any]
    ) -> None:
        probe = call.probe
        metadata = event.get("metadata") or {}
        key = (
            call.operation, call.provider, call.model,
            metadata.get("ls_temperature"), metadata.get("ls_max_tokens"),
        )  # fmt: skip
        kind = probe.call_kinds.get(key)
        if kind is None:
            kind = CallKind(key, probe.run_metrics.model_name(call.model))
            if len(probe.call_kinds) < MAX_KINDS:
                probe.call_kinds[key] = kind
        context, above = self._parent(call.execution)
        call.span = span = probe.tracer.start_span(kind.span_name, context, kind.span_kind, above)
        if not span.is_recording():
            return
        attributes = kind.attributes
        if self._turn.conversation is not None:
            attributes = {**attributes, names.CONVERSATION_ID: self._turn.conversation}
        span.set_attributes(attributes)
        if self._shows_content:
            self._show_messages(span, names.INPUT_MESSAGES, asked(messages))

    def _show(self, call: Call, response: LLMResult, message: Any) -> None:
        span = call.span
        attributes: dict[str, Any] = {} if call.usage is None else call.usage.attributes()
        if metadata := getattr(message, "response_metadata", None):
            model = metadata.get("model_name") or metadata.get("model")
            if isinstance(model, str):
                attributes[names.RESPONSE_MODEL] = model
            if isinstance(response_id := metadata.get("id"), str):
                attributes[names.RESPONSE_ID] = response_id
        first = response.generations[0] if response.generations else ()
        if (metadata or (first and first[0].generation_info)) and (
            reasons := finish_reasons(response)
        ):
            attributes[names.RESPONSE_FINISH_REASONS] = reasons
        if call.first_chunk is not None:
            attributes[names.REQUEST_STREAM] = True
            attributes[names.TIME_TO_FIRST_CHUNK] = call.first_chunk
        if attributes:
            span.set_attributes(attributes)
        if self._shows_content:
            self._show_messages(span, names.OUTPUT_MESSAGES, said(response))
        span.end()

    def _show_failure(self, span: Span, error: BaseException) -> None:
        self._guard(self._fail, span, error)

    def _fail(self, span: Span, error: BaseException) -> None:
        if not span.is_recording():
            return
        if not is_stop(error):
            span.set_status(StatusCode.ERROR)
            span.set_attribute(names.ERROR_TYPE, error_type(error))
            span.add_event(names.EVENT_EXCEPTION, self._gate.exception(error))
        span.end()

    def _show_messages(self, span: Span, key: str, messages: Sequence[tuple[str, str]]) -> None:
        if self._gate.spans:
            span.set_attribute(key, self._gate.messages_json(messages))
        if self._gate.events:
            self._turn.emit_log(span, names.EVENT_INFERENCE, {key: self._gate.messages(messages)})

    # -- retrievals ----------------------------------------------------------------------------

    def _begin_retrieval(self, query: str, event: dict[str, Any]) -> None:
        metadata: Mapping[str, Any] = event.get("metadata") or {}
        store = metadata.get("ls_vector_provider")
        is_remote = store is not None and store not in LOCAL_STORES
        source = event.get("name") or metadata.get("ls_retriever_name") or UNKNOWN
        execution = self._turn.executions.get(metadata.get("langgraph_checkpoint_ns", ""))
        context, above = self._parent(execution)
        span = self._turn.probe.tracer.start_span(
            names.SPAN_RETRIEVAL.format(source=source),
            context,
            SpanKind.CLIENT if is_remote else SpanKind.INTERNAL,
            above,
        )
        if span.is_recording():
            attributes = {
                names.OPERATION_NAME: names.OPERATION_RETRIEVAL,
                names.DATA_SOURCE_ID: source,
                names.PROVIDER_NAME: store,
                names.RETRIEVAL_QUERY: self._gate.on_span(query),
            }
            span.set_attributes(clean_all(attributes))
        self._retrievals[event["run_id"].int] = span

    def _end_retrieval(self, span: Span, documents: Sequence[Any]) -> None:
        if not span.is_recording():
            return
        scores = [document_score(document) for document in documents]
        attributes: dict[str, Any] = {
            names.RAG_CHUNK_IDS: [document_id(document) for document in documents],
            names.RAG_CHUNK_SCORES: None if None in scores else scores,
        }
        if self._gate.spans:
            attributes[names.RETRIEVAL_DOCUMENTS] = self._gate.documents_json(
                (document_id(d), document_score(d), getattr(d, "page_content", ""))
                for d in documents
            )
        span.set_attributes(clean_all(attributes))
        span.end()

    def _parent(self, execution: Execution | None) -> tuple[Context, Span]:
        """Return the current context where it belongs to this trace, else the node's; its span."""
        context = otel.get_current()
        current = get_current_span(context)
        home = execution.span if execution is not None else self._turn.span
        if current is home or current.get_span_context().trace_id == self._turn.trace_id:
            return context, current
        if execution is not None and execution.context is not None:
            return execution.context, execution.span
        return self._turn.context, self._turn.span
