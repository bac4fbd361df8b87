"""Model calls and retrievals: one span each, under its node, and every token counted once."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models.base import LangSmithParams
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult, LLMResult
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from loop_graphs import line_graph
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON
from opentelemetry.trace import SpanKind, StatusCode

from telemetry.content import digest
from telemetry.testing import Kit

Usage = dict[str, Any] | None
TEN_AND_FIVE: Usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}


class Parrot(BaseChatModel):
    """A chat model that says what it is told to, with the usage it is told to report."""

    name_: str = "parrot-1"
    provider: str = "zoo"
    usage: Usage = None
    chunks: list[Usage] = []  # noqa: RUF012 - pydantic copies it
    error: Exception | None = None
    metadata_: dict[str, Any] = {}  # noqa: RUF012

    @property
    def _llm_type(self) -> str:
        return "parrot"

    def _get_ls_params(self, stop: Any = None, **_: Any) -> LangSmithParams:
        return LangSmithParams(
            ls_provider=self.provider,
            ls_model_name=self.name_,
            ls_model_type="chat",
            ls_temperature=0.5,
            ls_max_tokens=99,
        )

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> Any:
        if self.error is not None:
            raise self.error
        message = AIMessage("hello", usage_metadata=self.usage, response_metadata=self.metadata_)
        return ChatResult(generations=[ChatGeneration(message=message)])


class Streaming(Parrot):
    def _stream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any
    ) -> Iterator[ChatGenerationChunk]:
        for usage in self.chunks:
            chunk = ChatGenerationChunk(message=AIMessageChunk("a ", usage_metadata=usage))
            if run_manager:
                run_manager.on_llm_new_token("a ", chunk=chunk)
            yield chunk


def asking(model: Any, n: int = 1) -> Any:
    def ask(_: dict[str, Any]) -> dict[str, Any]:
        for _n in range(n):
            model.invoke([HumanMessage("hi")])
        return {}

    return ask


def test_a_call_is_a_span_of_the_convention_under_its_node() -> None:
    kit = Kit()
    model = Parrot(
        usage={
            **TEN_AND_FIVE,  # type: ignore[dict-item]
            "input_token_details": {"cache_read": 4},
            "output_token_details": {"reasoning": 2},
        },
        metadata_={"model_name": "parrot-1-0613", "finish_reason": "stop", "id": "resp-9"},
    )
    kit.watch(line_graph(asking(model)), {"ask": "answer"}).invoke(
        {}, {"configurable": {"thread_id": "t-1"}}
    )

    assert kit.tree() == ("invoke_workflow line", [("node ask", [("chat parrot-1", [])])])
    span = kit.span("chat parrot-1")
    assert span.kind is SpanKind.CLIENT
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "zoo",
        "gen_ai.request.model": "parrot-1",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 99,
        "gen_ai.conversation.id": digest("t-1"),
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 4,
        "gen_ai.usage.reasoning.output_tokens": 2,
        "gen_ai.response.model": "parrot-1-0613",
        "gen_ai.response.id": "resp-9",
        "gen_ai.response.finish_reasons": ("stop",),
    }


def test_a_model_of_this_process_is_internal() -> None:
    kit = Kit()
    kit.watch(line_graph(asking(Parrot(provider="loopscope")))).invoke({})

    assert kit.span("chat parrot-1").kind is SpanKind.INTERNAL


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        pytest.param(Parrot(usage=TEN_AND_FIVE), (30, 15), id="usage of the whole reply"),
        pytest.param(
            Streaming(
                chunks=[
                    {"input_tokens": 10, "output_tokens": 1, "total_tokens": 11},
                    {"input_tokens": 0, "output_tokens": 4, "total_tokens": 4},
                ]
            ),
            (30, 15),
            id="a stream that reports what is new",
        ),
        pytest.param(
            Streaming(
                chunks=[
                    {"input_tokens": 10, "output_tokens": 1, "total_tokens": 11},
                    {"input_tokens": 10, "output_tokens": 3, "total_tokens": 13},
                    {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
                ]
            ),
            (30, 15),
            id="a stream that repeats the total so far",
        ),
        pytest.param(
            Streaming(chunks=[None, None, TEN_AND_FIVE]), (30, 15), id="a stream that ends with it"
        ),
        pytest.param(Parrot(), (0, 0), id="a model that reports nothing"),
    ],
)
async def test_tokens_are_counted_once(model: Parrot, expected: tuple[int, int]) -> None:
    kit = Kit()

    async def ask(_: dict[str, Any]) -> dict[str, Any]:
        if isinstance(model, Streaming):
            _ = [chunk async for chunk in model.astream([HumanMessage("hi")])]
        else:
            await model.ainvoke([HumanMessage("hi")])
        return {}

    async def again(_: dict[str, Any]) -> dict[str, Any]:
        for _n in range(2):
            if isinstance(model, Streaming):
                list(model.stream([HumanMessage("hi")]))
            else:
                model.invoke([HumanMessage("hi")])
        return {}

    await kit.watch(line_graph(ask, again)).ainvoke({})

    spent = tuple(
        kit.value("gen_ai_client_token_usage_sum", gen_ai_token_type=kind)
        for kind in ("input", "output")
    )
    on_spans = tuple(
        sum((s.attributes or {}).get(f"gen_ai.usage.{kind}_tokens", 0) for s in kit.spans)
        for kind in ("input", "output")
    )
    assert spent == on_spans == expected
    assert (kit.turn.input_tokens or 0, kit.turn.output_tokens or 0) == expected
    assert kit.value("rag_llm_calls_total") == kit.turn.llm_calls == 3
    for span in kit.spans:
        if not span.name.startswith("chat"):
            assert not [key for key in span.attributes or {} if "usage" in key]
    if expected == (0, 0):
        assert not [line for line in kit.series() if "token_usage" in line]
        assert kit.turn.input_tokens is None


def test_a_stream_tells_when_its_first_chunk_came() -> None:
    kit = Kit()

    def ask(_: dict[str, Any]) -> dict[str, Any]:
        list(Streaming(chunks=[None, None]).stream("hi"))
        return {}

    kit.watch(line_graph(ask)).invoke({})

    assert kit.span("chat parrot-1").attributes["gen_ai.response.time_to_first_chunk"] >= 0


def test_a_stream_that_nobody_reads_to_its_end_is_closed_and_counted() -> None:
    kit = Kit()
    kept: list[Any] = []

    def ask(_: dict[str, Any]) -> dict[str, Any]:
        chunks = Streaming(chunks=[None, None]).stream("hi")
        next(chunks)
        kept.append(chunks)
        return {}

    kit.watch(line_graph(ask)).invoke({})

    assert len(kit.named("chat parrot-1")) == 1
    assert kit.value("rag_llm_calls_total") == 1
    assert kit.value("gen_ai_client_operation_duration_seconds_count") == 1


def test_a_call_that_fails_is_an_error_span_without_its_message() -> None:
    kit = Kit()

    def ask(_: dict[str, Any]) -> dict[str, Any]:
        with pytest.raises(ConnectionError):
            Parrot(error=ConnectionError("secret")).invoke("hi")
        return {}

    kit.watch(line_graph(ask)).invoke({})

    span = kit.span("chat parrot-1")
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] == "ConnectionError"
    assert dict(span.events[0].attributes) == {"exception.type": "ConnectionError"}
    assert kit.outcomes() == {"answered": 1}
    assert kit.counted("gen_ai_client_operation_duration_seconds_count", "error_type") == {
        ("_OTHER",): 1
    }


async def test_a_call_that_is_cancelled_is_no_error() -> None:
    kit = Kit()

    class Slow(Parrot):
        async def _agenerate(self, *_: Any, **__: Any) -> Any:
            await asyncio.sleep(10)

    async def ask(_: dict[str, Any]) -> dict[str, Any]:
        await Slow().ainvoke("hi")
        return {}

    task = asyncio.create_task(kit.watch(line_graph(ask)).ainvoke({}))
    while not (task.done() or kit.value("rag_open_turns")):
        await asyncio.sleep(0)
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert kit.span("chat parrot-1").status.status_code is StatusCode.UNSET
    assert kit.outcomes() == {"cancelled": 1}


def test_calls_are_counted_by_the_role_of_their_node() -> None:
    kit = Kit()
    model = Parrot()

    def guard(_: dict[str, Any]) -> dict[str, Any]:
        model.invoke("on topic?")
        return {"topic": {"classification": "RELEVANT", "confidence": "LOW"}}

    def judge(_: dict[str, Any]) -> dict[str, Any]:
        model.batch(["a", "b", "c"])
        return {}

    def other(_: dict[str, Any]) -> dict[str, Any]:
        model.invoke("why?")
        return {}

    graph = StateGraph(dict)
    for node in (guard, judge, other):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "guard")
    graph.add_edge("guard", "judge")

    def route(_: dict[str, Any]) -> str:
        return "other" if model.invoke("where to?") else "judge"

    graph.add_conditional_edges("judge", route, ["other"])
    kit.watch(graph.compile(name="roles"), {"guard": "guard", "judge": "enhance"}).invoke({})

    assert kit.counted("rag_llm_calls_total", "role", "model") == {
        ("guard", "parrot-1"): 1,
        ("enhance", "parrot-1"): 4,  # three of the node, one of the router that leaves it
        ("none", "parrot-1"): 1,
    }
    assert kit.value("rag_topic_checks_total", classification="relevant", confidence="low") == 1
    assert [name for name, _ in kit.tree()[1]] == [
        "node guard", "node judge", "chat parrot-1", "node other",
    ]  # fmt: skip


def test_a_model_that_completes_text_is_counted_too() -> None:
    kit = Kit()

    def ask(_: dict[str, Any]) -> dict[str, Any]:
        FakeListLLM(responses=["x"]).invoke("hi")
        return {}

    kit.watch(line_graph(ask)).invoke({})

    assert kit.value("rag_llm_calls_total") == 1
    assert kit.spans[-1].attributes["gen_ai.operation.name"] == "text_completion"


def test_many_models_share_one_label() -> None:
    kit = Kit()

    def ask(_: dict[str, Any]) -> dict[str, Any]:
        for n in range(50):
            Parrot(name_=f"model-{n}").invoke("hi")
        return {}

    kit.watch(line_graph(ask)).invoke({})

    by_model = kit.counted("rag_llm_calls_total", "model")
    assert by_model["other",] == 42
    assert sum(by_model.values()) == 50


@pytest.mark.parametrize(
    ("forced", "at_work", "spans"),
    [
        pytest.param(None, False, 1, id="nobody else: we do"),
        pytest.param(None, True, 0, id="another instrumentor is at work: it does"),
        pytest.param(True, True, 1, id="unless we are told to"),
        pytest.param(False, False, 0, id="or told not to"),
    ],
)
def test_a_call_gets_one_span_whoever_makes_it(
    monkeypatch: pytest.MonkeyPatch, forced: bool | None, at_work: bool, spans: int
) -> None:
    module = ModuleType("openinference.instrumentation.langchain")
    module.LangChainInstrumentor = SimpleNamespace(  # type: ignore[attr-defined]
        _instance=SimpleNamespace(_is_instrumented_by_opentelemetry=at_work)
    )
    monkeypatch.setitem(sys.modules, module.__name__, module)
    kit = Kit()
    kit.watch(line_graph(asking(Parrot(usage=TEN_AND_FIVE))), call_spans=forced).invoke({})

    assert len(kit.named("chat parrot-1")) == spans
    assert kit.value("gen_ai_client_token_usage_sum") == 15
    assert kit.value("rag_llm_calls_total") == 1


def test_unsampled_turns_are_counted_all_the_same() -> None:
    kit = Kit(ALWAYS_OFF)
    kit.watch(line_graph(asking(Parrot(usage=TEN_AND_FIVE), n=3)), {"ask": "answer"}).invoke({})

    assert kit.spans == []
    assert kit.counted("rag_llm_calls_total", "role") == {("answer",): 3}
    assert kit.value("gen_ai_client_token_usage_sum") == 45
    assert kit.turn.trace_id is None


# -- retrievals ---------------------------------------------------------------------------------


class Shelf(BaseRetriever):
    scores: list[float | None] = [0.5, 0.25]  # noqa: RUF012 - pydantic copies it
    error: Exception | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        if self.error is not None:
            raise self.error
        return [
            Document("text", id=f"d{n}", metadata={"score": score})
            for n, score in enumerate(self.scores)
        ]


class FarShelf(Shelf):
    """A retriever that says it asks a vector store over a network."""

    def _get_ls_params(self, **_: Any) -> Any:
        return {"ls_retriever_name": "far", "ls_vector_provider": "Pinecone"}


def shelf_graph(shelf: Shelf) -> Any:
    def search(_: dict[str, Any]) -> dict[str, Any]:
        return {"documents": shelf.invoke("words")}

    return line_graph(search)


def test_a_retriever_is_a_span_with_ids_and_scores() -> None:
    kit = Kit()
    kit.watch(shelf_graph(Shelf()), {"search": "retrieve"}).invoke({})

    span = kit.span("retrieval Shelf")
    assert span.kind is SpanKind.INTERNAL
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.data_source.id": "Shelf",
        "rag.chunk.ids": ("d0", "d1"),
        "rag.chunk.scores": (0.5, 0.25),
    }
    node = kit.span("node search").attributes
    assert (node["rag.chunk.ids"], node["rag.chunk.scores"]) == (("d0", "d1"), (0.5, 0.25))
    assert not kit.turn.retrievals[0].is_remote


def test_a_remote_retriever_is_a_client_and_its_scores_are_told_apart_less_finely() -> None:
    kit = Kit()
    kit.watch(shelf_graph(FarShelf()), {"search": "retrieve"}).invoke({})

    assert kit.span("retrieval FarShelf").kind is SpanKind.CLIENT
    assert kit.turn.retrievals[0].is_remote


def test_unsampled_turns_know_a_remote_retriever_too() -> None:
    kit = Kit(ALWAYS_OFF)
    kit.watch(shelf_graph(FarShelf()), {"search": "retrieve"}).invoke({})

    assert kit.turn.retrievals[0].is_remote


def test_a_retriever_that_fails_is_an_error_span() -> None:
    kit = Kit()
    with pytest.raises(ConnectionError):
        kit.watch(shelf_graph(Shelf(error=ConnectionError("secret")))).invoke({})

    span = kit.span("retrieval Shelf")
    assert span.attributes["error.type"] == "ConnectionError"
    assert span.status.description is None


async def test_async_calls_do_not_hop_to_a_thread() -> None:
    kit = Kit()
    threads: list[int] = []

    async def ask(_: dict[str, Any]) -> dict[str, Any]:
        threads.append(threading.active_count())
        await Async().ainvoke("hi")
        threads.append(threading.active_count())
        return {}

    class Async(Parrot):
        async def _agenerate(self, *arguments: Any, **options: Any) -> Any:
            return self._generate(*arguments, **options)

    await kit.watch(line_graph(ask)).ainvoke({})

    assert threads[0] == threads[1]
    assert len(kit.named("chat parrot-1")) == 1


# -- calls that outlive their turn ----------------------------------------------------------------


class Slow(Streaming):
    """Waits for the test before it answers, the first time after its stream has begun."""

    gate: Any = None

    async def _agenerate(self, *arguments: Any, **options: Any) -> Any:
        await self.gate.wait()
        return self._generate(*arguments)

    async def _astream(self, *_: Any, run_manager: Any = None, **__: Any) -> Any:
        for usage in self.chunks:
            chunk = ChatGenerationChunk(message=AIMessageChunk("a ", usage_metadata=usage))
            if run_manager:
                await run_manager.on_llm_new_token("a ", chunk=chunk)
            yield chunk
            await self.gate.wait()


def in_the_background(make: Callable[[], Any], tasks: list[Any], *, starts: bool) -> Any:
    """Return a node that leaves a task behind, whose call begins in the turn or after it."""

    async def leave(_: dict[str, Any]) -> dict[str, Any]:
        tasks.append(asyncio.ensure_future(make()))
        if starts:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        return {}

    return leave


@pytest.mark.parametrize("is_batched", [True, False], ids=["batched", "counted at once"])
@pytest.mark.parametrize("starts", [True, False], ids=["begun in the turn", "begun after it"])
@pytest.mark.parametrize("is_stream", [False, True], ids=["call", "stream"])
@pytest.mark.parametrize("is_recorded", [True, False], ids=["recorded", "not recorded"])
async def test_a_call_that_outlives_its_turn_is_counted_once_with_its_tokens_and_role(
    is_recorded: bool, is_stream: bool, starts: bool, is_batched: bool
) -> None:
    kit = Kit(ALWAYS_ON if is_recorded else ALWAYS_OFF)
    gate, begin = asyncio.Event(), asyncio.Event()
    model = Slow(usage=TEN_AND_FIVE, chunks=[None, TEN_AND_FIVE], gate=gate)

    async def call() -> None:
        if not starts:
            await begin.wait()
        if is_stream:
            async for _ in model.astream("hi"):
                pass
        else:
            await model.ainvoke("hi")

    tasks: list[Any] = []
    leave = in_the_background(call, tasks, starts=starts)
    await kit.watch(line_graph(leave), {"leave": "answer"}).ainvoke({})
    if not is_batched:
        kit.scrape()
    assert kit.turn.llm_calls == (1 if starts else 0)
    begin.set()
    gate.set()
    await tasks[0]

    assert kit.counted("rag_llm_calls_total", "role", "model") == {("answer", "parrot-1"): 1}
    assert kit.value("gen_ai_client_operation_duration_seconds_count") == 1
    assert kit.value("gen_ai_client_token_usage_sum", gen_ai_token_type="input") == 10
    assert kit.value("gen_ai_client_token_usage_sum", gen_ai_token_type="output") == 5
    assert kit.outcomes() == {"answered": 1}
    assert kit.value("rag_telemetry_errors_total") == 0
    assert len(kit.named("chat parrot-1")) == (1 if is_recorded else 0)


async def test_a_call_that_fails_after_its_turn_is_a_failed_call() -> None:
    kit = Kit()
    gate = asyncio.Event()
    tasks: list[Any] = []
    model = Slow(error=ConnectionError(), gate=gate)

    async def call() -> None:
        await gate.wait()
        with pytest.raises(ConnectionError):
            await model.ainvoke("hi")

    leave = in_the_background(call, tasks, starts=False)
    await kit.watch(line_graph(leave), {"leave": "answer"}).ainvoke({})
    gate.set()
    await tasks[0]

    assert kit.value("gen_ai_client_operation_duration_seconds_count", error_type="_OTHER") == 1
    assert kit.counted("rag_llm_calls_total", "role") == {("answer",): 1}
    assert kit.outcomes() == {"answered": 1}


async def test_a_late_call_of_a_node_of_a_subgraph_has_that_nodes_role() -> None:
    kit = Kit()
    gate = asyncio.Event()
    gate.set()
    begin = asyncio.Event()
    tasks: list[Any] = []

    async def call() -> None:
        await begin.wait()
        await Slow(gate=gate).ainvoke("hi")

    inner = line_graph(in_the_background(call, tasks, starts=False))
    graph = StateGraph(dict)
    graph.add_node("sub", inner)
    graph.add_edge(START, "sub")
    roles = {"sub/leave": "rewrite"}
    await kit.watch(graph.compile(name="outer"), roles).ainvoke({})
    begin.set()
    await tasks[0]

    assert kit.counted("rag_llm_calls_total", "role") == {("rewrite",): 1}


def test_a_call_of_a_router_in_a_subgraph_has_that_routers_role() -> None:
    kit = Kit()
    model = Parrot()

    def judge(_: dict[str, Any]) -> str:
        model.invoke("good?")
        return END

    inner = StateGraph(dict)
    inner.add_node("search", lambda _: {})
    inner.add_edge(START, "search")
    inner.add_conditional_edges("search", judge, [END])
    graph = StateGraph(dict)
    graph.add_node("sub", inner.compile())
    graph.add_edge(START, "sub")
    kit.watch(graph.compile(name="outer"), {"sub/search:router": "grade"}).invoke({})

    assert kit.counted("rag_llm_calls_total", "role") == {("grade",): 1}


class Mute(Parrot):
    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[])


def test_a_reply_that_holds_nothing_ends_its_call_all_the_same() -> None:
    kit = Kit()

    def ask(_: dict[str, Any], config: Any) -> dict[str, Any]:
        Mute().generate([[HumanMessage("hi")]], callbacks=config["callbacks"])
        return {}

    ask.__annotations__["config"] = RunnableConfig
    kit.watch(line_graph(ask)).invoke({})

    assert kit.tree() == ("invoke_workflow line", [("node ask", [("chat parrot-1", [])])])
    assert (kit.turn.llm_calls, kit.value("rag_telemetry_errors_total")) == (1, 0)


def test_callbacks_that_tell_nothing_but_their_run_are_normal() -> None:
    """What LangChain gives a handler differs by version, runnable and way of calling."""
    kit = Kit()

    def work(_: dict[str, Any], config: Any) -> dict[str, Any]:
        (handler,) = [h for h in config["callbacks"].handlers if hasattr(h, "on_llm_new_token")]
        handler.on_chain_start(None, None, run_id=uuid4())
        chat, text, search, never_begun = (uuid4() for _ in range(4))
        handler.on_chat_model_start(None, [[]], run_id=chat, metadata=None, name=None)
        handler.on_llm_start(None, None, run_id=text)
        handler.on_retriever_start(None, None, run_id=search)
        handler.on_llm_new_token(None, run_id=chat)
        handler.on_llm_end(LLMResult(generations=[]), run_id=chat)
        handler.on_llm_error(ValueError(), run_id=text)
        handler.on_retriever_end("a string", run_id=search)
        handler.on_llm_end(None, run_id=never_begun)
        handler.on_llm_error(ValueError(), run_id=never_begun)
        handler.on_retriever_end(None, run_id=never_begun)
        handler.on_retriever_error(ValueError(), run_id=never_begun)
        return {}

    work.__annotations__["config"] = RunnableConfig
    kit.watch(line_graph(work)).invoke({})
    below = [("chat unknown", []), ("text_completion unknown", []), ("retrieval unknown", [])]

    assert kit.tree() == ("invoke_workflow line", [("node work", below)])
    assert (kit.turn.llm_calls, kit.value("rag_telemetry_errors_total")) == (2, 0)
