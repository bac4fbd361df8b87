"""The books of the well-known RAG graphs and of LangChain's own agent, by a role map each."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest
from graphs import (
    ADAPTIVE_ROLES,
    AGENTIC_ROLES,
    CORRECTIVE_ROLES,
    SELF_ROLES,
    adaptive_rag,
    agentic_rag,
    corrective_rag,
    documents,
    self_rag,
)
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Send
from opentelemetry.trace import StatusCode
from pydantic import BaseModel

from telemetry.testing import Kit

MESSAGES = {"messages": [HumanMessage("where is it?")]}
QUESTION = {"question": "where is it?"}
Grades = tuple[bool | None, ...]


@dataclass(frozen=True, kw_only=True)
class Books:
    """What the books say of one turn."""

    end: tuple[str, str, str]
    """Outcome, retrieved, last grade."""
    rewrites: int = 0
    grades: tuple[Grades, ...] = ()
    """Of each retrieval."""
    routes: dict[tuple[str, str], float]
    reply: str | None = "It is so."


def better(question: str) -> Sequence[str]:
    return ("a",) if question.startswith("better") else ()


CASES: dict[str, tuple[Callable[[], Any], dict[str, str], Any, Books]] = {
    "agentic: answered at once": (
        agentic_rag, AGENTIC_ROLES, MESSAGES,
        Books(
            end=("answered", "yes", "pass"), grades=((True,),),
            routes={
                ("generate_query_or_respond", "retrieve"): 1, ("retrieve", "generate_answer"): 1,
            },
        ),
    ),
    "agentic: answered after one rewrite": (
        lambda: agentic_rag(grades=["no", "yes"]), AGENTIC_ROLES, MESSAGES,
        Books(
            end=("answered", "yes", "pass"), rewrites=1, grades=((False,), (True,)),
            routes={
                ("generate_query_or_respond", "retrieve"): 2, ("retrieve", "rewrite_question"): 1,
                ("retrieve", "generate_answer"): 1,
            },
        ),
    ),
    "agentic: no search needed": (
        lambda: agentic_rag(searches=False), AGENTIC_ROLES, MESSAGES,
        Books(
            end=("answered", "no", "none"), reply="Hello!",
            routes={("generate_query_or_respond", "END"): 1},
        ),
    ),
    "agentic: round and round": (
        lambda: agentic_rag(grades=["no"]), AGENTIC_ROLES, MESSAGES,
        Books(
            end=("recursion_limit", "yes", "fail"), rewrites=5, grades=((False,),) * 5,
            routes={
                ("generate_query_or_respond", "retrieve"): 6, ("retrieve", "rewrite_question"): 5,
            },
            reply=None,
        ),
    ),
    "corrective: all relevant": (
        lambda: corrective_rag(relevant=("a", "b")), CORRECTIVE_ROLES, QUESTION,
        Books(
            end=("answered", "yes", "pass"), grades=((True, True),),
            routes={("grade_documents", "generate"): 1},
        ),
    ),
    "corrective: one relevant, the web helps": (
        corrective_rag, CORRECTIVE_ROLES, QUESTION,
        Books(
            end=("answered", "yes", "pass"), rewrites=1, grades=((True, False), ()),
            routes={("grade_documents", "transform_query"): 1},
        ),
    ),
    "corrective: none relevant, the web answers": (
        lambda: corrective_rag(relevant=()), CORRECTIVE_ROLES, QUESTION,
        Books(
            end=("answered", "yes", "none"), rewrites=1, grades=((False, False), ()),
            routes={("grade_documents", "transform_query"): 1},
        ),
    ),
    "self: useful at once": (
        self_rag, SELF_ROLES, QUESTION,
        Books(
            end=("answered", "yes", "pass"), grades=((True, False),),
            routes={("grade_documents", "generate"): 1, ("generate", "END"): 1},
        ),
    ),
    "self: no relevant document at first": (
        lambda: self_rag(relevant=better), SELF_ROLES, QUESTION,
        Books(
            end=("answered", "yes", "pass"), rewrites=1, grades=((False, False), (True, False)),
            routes={
                ("grade_documents", "transform_query"): 1, ("grade_documents", "generate"): 1,
                ("generate", "END"): 1,
            },
        ),
    ),
    "self: two drafts unsupported, one not useful": (
        lambda: self_rag(judged=["not supported", "not supported", "not useful", "useful"]),
        SELF_ROLES, QUESTION,
        Books(
            end=("answered", "yes", "pass"), rewrites=1, grades=((True, False), (True, False)),
            routes={
                ("grade_documents", "generate"): 2, ("generate", "generate"): 2,
                ("generate", "transform_query"): 1, ("generate", "END"): 1,
            },
        ),
    ),
    "self: never useful": (
        lambda: self_rag(judged=["not useful"]), SELF_ROLES, QUESTION,
        Books(
            end=("recursion_limit", "yes", "pass"), rewrites=4, grades=((True, False),) * 4,
            routes={("grade_documents", "generate"): 4, ("generate", "transform_query"): 4},
        ),
    ),
    "adaptive: the documents": (
        adaptive_rag, ADAPTIVE_ROLES, QUESTION,
        Books(
            end=("answered", "yes", "pass"), grades=((True, False),),
            routes={
                ("START", "retrieve"): 1, ("grade_documents", "generate"): 1,
                ("generate", "END"): 1,
            },
        ),
    ),
    "adaptive: the web": (
        lambda: adaptive_rag(sources=["web_search"]), ADAPTIVE_ROLES, QUESTION,
        Books(
            end=("answered", "yes", "none"), grades=((),),
            routes={("START", "web_search"): 1, ("generate", "END"): 1},
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("build", "roles", "given", "books"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_the_books_of_a_foreign_graph(
    build: Any, roles: dict[str, str], given: Any, books: Books, is_async: bool
) -> None:
    kit = Kit()
    graph = kit.watch(build(), roles)
    config = {"recursion_limit": 16}
    try:
        await graph.ainvoke(given, config) if is_async else graph.invoke(given, config)
    except GraphRecursionError:
        assert books.end[0] == "recursion_limit"

    assert kit.counted("rag_turns_total", "outcome", "retrieved", "last_grade") == {books.end: 1}
    assert kit.turn.rewrites == books.rewrites
    assert tuple(r.grades for r in kit.turn.retrievals) == books.grades
    assert kit.counted("rag_routes_total", "router", "route") == books.routes
    assert kit.turn.question == "where is it?"
    assert kit.turn.reply == books.reply
    assert kit.value("rag_terminal_conflicts_total") == 0
    assert kit.value("rag_telemetry_errors_total") == 0
    assert len(kit.trace_ids()) == 1
    assert len(kit.series()) <= 400


def test_a_graph_of_messages_keeps_the_books_of_each_turn_of_a_conversation() -> None:
    kit = Kit()
    graph = agentic_rag(grades=["no", "yes", "no", "no", "yes"])
    graph.checkpointer = InMemorySaver()
    watched = kit.watch(graph, AGENTIC_ROLES)
    config = {"configurable": {"thread_id": "t-1"}}
    for question in ("first?", "second?"):
        watched.invoke({"messages": [HumanMessage(question)]}, config)

    assert [(t.question, t.rewrites, len(t.retrievals)) for t in kit.turns] == [
        ("first?", 1, 2), ("second?", 2, 3),
    ]  # fmt: skip
    assert [t.retrievals[0].query for t in kit.turns] == ["first?", "second?"]
    assert kit.value("rag_rewrites_per_turn_sum") == 3


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param("where?", id="a text"),
        pytest.param(["where?"], id="a list of texts"),
        pytest.param([("user", "where?")], id="a pair"),
        pytest.param([{"role": "user", "content": "where?"}], id="a mapping"),
        pytest.param([HumanMessage([{"type": "text", "text": "where?"}])], id="content in parts"),
    ],
)
def test_a_question_is_read_in_every_form_that_langgraph_takes(messages: Any) -> None:
    kit = Kit()
    kit.watch(agentic_rag(), AGENTIC_ROLES).invoke({"messages": messages})

    assert kit.turn.question == "where?"


# -- LangChain's own parts ------------------------------------------------------------------------


class ToolModel(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **_: Any) -> ToolModel:
        return self


def scripted(*messages: AIMessage) -> ToolModel:
    def forever() -> Iterator[AIMessage]:
        yield from messages

    return ToolModel(messages=forever())


@tool(response_format="content_and_artifact")
def search(query: str) -> tuple[str, list[Document]]:
    """Search the documents."""
    found = [Document(page_content=query, id="d1", metadata={"score": 0.5})]
    return query, found


@tool
def plain_search(query: str) -> str:
    """Search the documents and give their text alone."""
    return f"text about {query}"


def call(name: str, query: str, id_: str = "c1") -> dict[str, Any]:
    return {"name": name, "args": {"query": query}, "id": id_}


def test_the_agent_of_langchain_is_one_turn_with_its_tool_as_a_retrieval() -> None:
    model = scripted(AIMessage("", tool_calls=[call("search", "x")]), AIMessage("It is there."))
    kit = Kit()
    agent = create_agent(model, [search], name="agent")
    kit.watch(agent, {"tools": "retrieve", "model": "answer"}).invoke(MESSAGES)

    chat = ("chat generic-fake-chat-model", [])
    assert kit.tree() == (
        "invoke_workflow agent",
        [("node model", [chat]), ("node tools", []), ("node model", [chat])],
    )
    assert kit.counted("rag_turns_total", "outcome", "retrieved") == {("answered", "yes"): 1}
    assert (kit.turn.question, kit.turn.reply) == ("where is it?", "It is there.")
    assert kit.turn.retrievals[0].chunk_ids == ("d1",)
    assert kit.turn.retrievals[0].scores == (0.5,)
    assert kit.value("rag_llm_calls_total", role="answer") == 2
    assert kit.value("rag_telemetry_errors_total") == 0


def test_two_tool_calls_at_once_are_two_retrievals_of_one_attempt() -> None:
    both = [call("search", "x", "c1"), call("plain_search", "y", "c2")]
    model = scripted(AIMessage("", tool_calls=both), AIMessage("It is there."))
    kit = Kit()
    agent = create_agent(model, [search, plain_search], name="agent")
    kit.watch(agent, {"tools": "retrieve", "model": "answer"}).invoke(MESSAGES)

    assert len(kit.named("node tools")) == 2
    assert kit.counted("rag_retrievals_total", "result", "attempt") == {("hit", "0"): 2}
    assert "d1" in {id_ for r in kit.turn.retrievals for id_ in r.chunk_ids}
    assert kit.counted("rag_rewrites_total", "effect") == {}


def test_a_tool_node_that_gives_text_alone_is_one_chunk_named_by_a_hash() -> None:
    def respond(_: MessagesState) -> Any:
        return {"messages": [AIMessage("", tool_calls=[call("plain_search", "x")])]}

    graph = StateGraph(MessagesState)
    graph.add_node("respond", respond)
    graph.add_node("retrieve", ToolNode([plain_search]))
    graph.add_edge(START, "respond")
    graph.add_edge("respond", "retrieve")
    kit = Kit()
    kit.watch(graph.compile(name="tools"), {"retrieve": "retrieve"}).invoke(MESSAGES)
    (retrieval,) = kit.turn.retrievals

    assert len(retrieval.chunk_ids) == 1
    assert "text" not in retrieval.chunk_ids[0]
    assert retrieval.query == "x"


# -- other states ---------------------------------------------------------------------------------


class Verdict(BaseModel):
    binary_score: str


class WideState(TypedDict, total=False):
    question: str
    documents: list[Document]
    verdicts: Annotated[list[Verdict], operator.add]
    grade: Any
    kept: Annotated[list[str], operator.add]
    messages: list[AnyMessage]
    answer: str


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        pytest.param({"grade": Verdict(binary_score="yes")}, (True, True), id="one of a model"),
        pytest.param({"grade": ["yes", "No "]}, (True, False), id="a list of words"),
        pytest.param(
            {"grade": [Verdict(binary_score="no"), Verdict(binary_score="yes")]},
            (False, True),
            id="a list of models",
        ),
        pytest.param({"grade": False}, (False, False), id="a flag"),
        pytest.param({"documents": documents("b")}, (False, True), id="the documents kept"),
        pytest.param({"documents": []}, (False, False), id="no document kept"),
    ],
)
def test_a_grader_may_write_its_verdict_in_any_usual_way(
    verdict: dict[str, Any], expected: Grades
) -> None:
    graph = StateGraph(WideState)
    graph.add_node("retrieve", lambda _: {"documents": documents("a", "b")})
    graph.add_node("judge", lambda _: verdict)
    graph.add_edge(START, "retrieve")
    graph.add_edge("retrieve", "judge")
    kit = Kit()
    kit.watch(graph.compile(name="g"), {"retrieve": "retrieve", "judge": "grade"}).invoke(QUESTION)

    assert kit.turn.retrievals[0].grades == expected
    assert kit.outcomes() == {"answered" if True in expected else "gave_up": 1}


@pytest.mark.parametrize("key", ["document", "chunk", "doc"])
def test_graders_that_are_sent_one_document_each_say_nothing_of_the_others(key: str) -> None:
    def judge(sent: Any) -> Any:
        return {"grade": "yes" if sent[key].id == "b" else "no"}

    def spread(state: WideState) -> list[Send]:
        return [Send("judge", {key: document}) for document in state["documents"]]

    class Joined(WideState, total=False):
        grade: Annotated[Any, lambda _, new: new]

    graph = StateGraph(Joined)
    graph.add_node("retrieve", lambda _: {"documents": documents("a", "b", "c")})
    graph.add_node("judge", judge)
    graph.add_node("reply", lambda _: {"answer": "It is so."})
    graph.add_edge(START, "retrieve")
    graph.add_conditional_edges("retrieve", spread, ["judge"])
    graph.add_edge("judge", "reply")
    graph.add_edge("reply", END)
    kit = Kit()
    roles = {"retrieve": "retrieve", "judge": "grade", "reply": "answer"}
    kit.watch(graph.compile(name="spread"), roles).invoke(QUESTION)

    assert kit.turn.retrievals[0].grades == (False, True, False)
    assert kit.counted("rag_grades_total", "grade") == {("pass",): 1, ("fail",): 2}
    assert kit.counted("rag_turns_total", "outcome", "last_grade") == {("answered", "pass"): 1}


def test_what_two_nodes_say_of_the_end_is_put_together() -> None:
    graph = StateGraph(dict)
    graph.add_node("end", lambda state: {**state, "outcome": "no_results", "reason": "no_stock"})
    graph.add_node("word", lambda _: {"answer": "Sorry."})
    graph.add_edge(START, "end")
    graph.add_edge("end", "word")
    kit = Kit()
    kit.watch(graph.compile(name="g"), {"word": "answer"}).invoke(QUESTION)

    assert kit.outcomes() == {"no_results": 1}
    assert (kit.turn.reason, kit.turn.reply) == ("no_stock", "Sorry.")


def test_a_guard_in_the_first_edge_is_a_topic_check() -> None:
    graph = StateGraph(dict)
    graph.add_node("refuse", lambda _: {"answer": "No."})
    graph.add_node("reply", lambda _: {"answer": "Yes."})
    graph.add_conditional_edges(
        START, lambda state: "refuse" if "weather" in state["question"] else "reply",
        ["refuse", "reply"],
    )  # fmt: skip
    kit = Kit()
    roles = {"START:router": "guard", "refuse": "off_topic", "reply": "answer"}
    watched = kit.watch(graph.compile(name="g"), roles)
    for question in ("the weather?", "a refund?"):
        watched.invoke({"question": question})

    assert kit.counted("rag_topic_checks_total", "classification") == {
        ("irrelevant",): 1, ("relevant",): 1,
    }  # fmt: skip
    assert kit.outcomes() == {"off_topic": 1, "answered": 1}
    assert {s.status.status_code for s in kit.spans} == {StatusCode.UNSET}
