"""The instrumented graph stands in for the original: same results, chunks, events and pictures."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, StreamWriter, interrupt
from loop_graphs import LOOP_ROLES, line_graph, loop_graph
from prometheus_client import CollectorRegistry
from pydantic import BaseModel
from typing_extensions import TypedDict

from telemetry import instrument, uninstrument
from telemetry.errors import NotAGraphError, UnknownNodeError, UnknownRoleError
from telemetry.testing import Kit

QUESTION = {"question": "where is it?"}
MODES = ["values", "updates", "custom", "messages", "tasks", "debug", "checkpoints"]


class ChatState(TypedDict, total=False):
    question: str
    messages: Annotated[list[AnyMessage], add_messages]


def chat_graph(**options: Any) -> Any:
    model = FakeListChatModel(responses=["a reply of some words"])

    def think(state: ChatState, writer: StreamWriter) -> ChatState:
        writer({"thinking": state["question"]})
        return {}

    def reply(state: ChatState) -> ChatState:
        return {"messages": [model.invoke(state["question"])]}

    graph = StateGraph(ChatState)
    graph.add_node("think", think)
    graph.add_node("reply", reply)
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", lambda _: "reply", ["reply"])
    graph.add_edge("reply", END)
    return graph.compile(name="chat", **options)


UNSTABLE = {
    "id", "run_id", "run_ids", "parent_ids", "checkpoint_id", "checkpoint_ns", "thread_ts", "ts",
    "langgraph_checkpoint_ns", "timestamp",
}  # fmt: skip


def stable(value: Any) -> Any:
    """Return a chunk as plain values, without ids and times, which differ from run to run."""
    if isinstance(value, dict):
        return {k: stable(v) for k, v in value.items() if k not in UNSTABLE}
    if isinstance(value, list | tuple):
        return [stable(item) for item in value]
    if isinstance(value, BaseModel):
        return stable(value.model_dump())
    if isinstance(value, str | int | float | bool | None):
        return value
    return type(value).__name__


@pytest.mark.parametrize("subgraphs", [False, True], ids=["flat", "with subgraphs"])
@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("mode", [*MODES, MODES], ids=[*MODES, "all modes"])
def test_stream_gives_the_same_chunks(mode: Any, version: Any, subgraphs: bool) -> None:
    def chunks(graph: Any) -> Any:
        config = {"configurable": {"thread_id": "1"}}
        return stable(
            list(
                graph.stream(
                    QUESTION, config, stream_mode=mode, version=version, subgraphs=subgraphs
                )
            )
        )

    graph = chat_graph(checkpointer=InMemorySaver())
    watched = Kit().watch(chat_graph(checkpointer=InMemorySaver()), {"reply": "answer"})

    assert chunks(watched) == chunks(graph)


@pytest.mark.parametrize("mode", [*MODES, MODES], ids=[*MODES, "all modes"])
async def test_astream_gives_the_same_chunks(mode: Any) -> None:
    async def chunks(graph: Any) -> Any:
        config = {"configurable": {"thread_id": "1"}}
        return [stable(c) async for c in graph.astream(QUESTION, config, stream_mode=mode)]

    graph = chat_graph(checkpointer=InMemorySaver())
    watched = Kit().watch(chat_graph(checkpointer=InMemorySaver()), {"reply": "answer"})

    assert await chunks(watched) == await chunks(graph)


async def collect(stream: AsyncIterator[Any]) -> list[Any]:
    return [stable(item) async for item in stream]


async def test_astream_events_gives_the_same_events() -> None:
    graph = chat_graph()
    watched = Kit().watch(graph, {"reply": "answer"})

    assert await collect(watched.astream_events(QUESTION, version="v2")) == await collect(
        graph.astream_events(QUESTION, version="v2")
    )


async def test_callbacks_of_the_caller_hear_the_same() -> None:
    class Ears(BaseCallbackHandler):
        def __init__(self) -> None:
            self.heard: list[tuple[str, Any]] = []

        def on_chain_start(self, _: Any, inputs: Any, **event: Any) -> None:
            self.heard.append((event["name"], sorted(event["tags"])))

        def on_chat_model_start(self, *_: Any, **event: Any) -> None:
            self.heard.append(("model", sorted(event["metadata"])))

    def heard(graph: Any) -> list[Any]:
        ears, baked = Ears(), Ears()
        graph.with_config(callbacks=[baked]).invoke(QUESTION, {"callbacks": [ears]})
        assert ears.heard == baked.heard
        return ears.heard

    kit = Kit()
    graph = chat_graph()

    assert heard(kit.watch(graph)) == heard(graph)
    assert kit.value("rag_turns_total") == 1


@pytest.mark.parametrize("xray", [False, True])
def test_the_picture_is_the_same(xray: bool) -> None:
    inner = loop_graph()
    outer = StateGraph(dict)
    outer.add_node("inner", inner)
    outer.add_edge(START, "inner")
    graph = outer.compile(name="outer")
    watched = Kit().watch(graph)

    assert watched.get_graph(xray=xray).draw_mermaid() == graph.get_graph(xray=xray).draw_mermaid()
    assert watched.get_graph(xray=xray).to_json() == graph.get_graph(xray=xray).to_json()
    assert list(watched.get_subgraphs()) == list(graph.get_subgraphs())


def test_schemas_and_names_are_the_same() -> None:
    graph = chat_graph()
    watched = Kit().watch(graph)

    assert isinstance(watched, type(graph))
    assert watched.get_name() == graph.get_name()
    assert watched.get_input_jsonschema() == graph.get_input_jsonschema()
    assert watched.get_output_jsonschema() == graph.get_output_jsonschema()
    assert watched.builder is graph.builder


@dataclass
class Tools:
    unit: str


def test_context_store_runtime_and_config_reach_the_nodes() -> None:
    seen: dict[str, Any] = {}

    def look(_: dict[str, Any], config: RunnableConfig, runtime: Runtime[Tools]) -> dict[str, Any]:
        runtime.store.put(("a",), "k", {"v": 1})  # type: ignore[union-attr]
        seen["unit"] = runtime.context.unit
        seen["tenant"] = config["configurable"]["tenant"]
        seen["own"] = [k for k in config["configurable"] if "loopscope" in k]
        return {}

    store = InMemoryStore()
    graph = StateGraph(dict, context_schema=Tools)
    graph.add_node("look", look)
    graph.add_edge(START, "look")
    watched = Kit().watch(graph.compile(store=store, name="tools"))
    watched.invoke({}, {"configurable": {"tenant": "x"}}, context=Tools("kg"))

    assert seen == {"unit": "kg", "tenant": "x", "own": []}
    item = store.get(("a",), "k")
    assert item is not None
    assert item.value == {"v": 1}


def test_state_can_be_read_changed_and_resumed() -> None:
    def ask(_: dict[str, Any]) -> dict[str, Any]:
        return {"said": interrupt("well?")}

    kit = Kit()
    graph = kit.watch(line_graph(ask, checkpointer=InMemorySaver()))
    config = {"configurable": {"thread_id": "1"}}
    graph.invoke({}, config)
    assert graph.get_state(config).next == ("ask",)
    graph.update_state(config, {"extra": 1})
    result = graph.invoke(Command(resume="yes"), config)

    assert result == {"said": "yes"}
    assert len(list(graph.get_state_history(config))) >= 3


def test_pydantic_states_work_and_version_2_keeps_its_class() -> None:
    class Pair(BaseModel):
        question: str
        answer: str = ""

    def reply(state: Pair) -> dict[str, str]:
        return {"answer": state.question.upper()}

    builder = StateGraph(Pair)
    builder.add_node("reply", reply)
    builder.add_edge(START, "reply")
    graph = builder.compile(name="pair")
    watched = Kit().watch(graph, {"reply": "answer"})

    assert watched.invoke({"question": "a"}) == graph.invoke({"question": "a"})
    assert watched.invoke({"question": "a"}, version="v2") == graph.invoke(
        {"question": "a"}, version="v2"
    )


def test_the_callers_graph_and_input_stay_as_they_are() -> None:
    kit = Kit()
    graph = loop_graph()
    nodes, bounds = dict(graph.nodes), {n: p.bound for n, p in graph.nodes.items()}
    given = {"question": "where?", "documents": [{"id": "x"}]}
    before = copy.deepcopy(given)
    kit.watch(graph, LOOP_ROLES).invoke(given)
    graph.invoke(given)

    assert given == before
    assert graph.nodes == nodes
    assert {n: p.bound for n, p in graph.nodes.items()} == bounds
    assert kit.value("rag_turns_total") == 1


def test_instrumenting_twice_gives_the_same_graph() -> None:
    kit = Kit()
    once = kit.watch(loop_graph(bound=0), LOOP_ROLES)
    twice = kit.watch(once, LOOP_ROLES)
    twice.with_config(tags=["x"]).invoke(QUESTION)

    assert twice is once
    assert kit.value("rag_turns_total") == 1


def test_uninstrument_gives_the_original_back() -> None:
    kit = Kit()
    graph = loop_graph(bound=0)
    watched = kit.watch(graph, LOOP_ROLES)
    uninstrument(watched).invoke(QUESTION)

    assert uninstrument(watched) is graph
    assert uninstrument(graph) is graph
    assert kit.value("rag_turns_total") == 0


@pytest.mark.parametrize(
    ("graph", "roles", "error", "message"),
    [
        pytest.param(
            StateGraph(dict),
            {},
            NotAGraphError,
            "cannot instrument: got StateGraph, expected a compiled graph. "
            "Call `.compile()` on the builder first.",
            id="a builder",
        ),
        pytest.param(
            line_graph(lambda _: {}),
            {"search": "retrieve"},
            UnknownNodeError,
            "roles: got the node 'search', expected one of <lambda>. "
            "Name a node of a subgraph as 'outer/inner' and a conditional edge as 'node:router'.",
            id="a node that is not there",
        ),
        pytest.param(
            loop_graph(),
            {"search": "retriever"},
            UnknownRoleError,
            "roles: got 'retriever' for 'search', expected one of enhance, guard, retrieve, "
            "grade, rewrite, answer, off_topic, no_results, clarify, revise, critique. "
            "Leave the node out when none of them fits.",
            id="a word that is no role",
        ),
        pytest.param(
            loop_graph(),
            {"judge:router": "answer"},
            UnknownRoleError,
            "roles: got 'answer' for 'judge:router', expected one of guard, grade. "
            "Leave the node out when none of them fits.",
            id="a router cannot answer",
        ),
    ],
)
def test_a_mistake_says_what_was_expected(
    graph: Any, roles: dict[str, str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        instrument(graph, roles=roles, registry=CollectorRegistry())

    assert str(caught.value) == message
