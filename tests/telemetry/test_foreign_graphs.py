"""Graphs with the shapes that the well-known examples made popular, each with a map of a few lines.

The code is ours, the topology theirs: an agent that decides to search and grades in an edge
(agentic RAG), documents filtered and a web search to fall back on (corrective RAG), a router in
front (adaptive RAG), and a reply that is judged and searched for again (self-RAG).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode, tools_condition
from typing_extensions import TypedDict

from telemetry.testing import Kit


def says(*replies: str) -> Callable[[str], str]:
    """Return a model call that gives the replies in turn."""
    model = GenericFakeChatModel(messages=iter([AIMessage(reply) for reply in replies]))
    return lambda text: str(model.invoke([HumanMessage(text)]).content)


def documents(*ids: str) -> list[Document]:
    return [Document(f"text of {id_}", id=id_, metadata={"score": 0.5}) for id_ in ids]


# -- agentic RAG: a model decides to search, an edge grades, nothing bounds the loop ------------


class AgenticState(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def agentic_graph(*, grades: list[str], searches: int) -> Any:
    left = [searches]
    found = iter([documents("a"), documents("b"), *[documents("b")] * 20])
    grade = says(*grades)
    rewrite = says(*[f"rewritten {n}" for n in range(30)])

    @tool(response_format="content_and_artifact")
    def search(query: str) -> tuple[str, list[Document]]:
        """Search the documents."""
        hits = next(found)
        return "\n".join(hit.page_content for hit in hits), hits

    def decide(_: AgenticState) -> dict[str, Any]:
        left[0] -= 1
        if left[0] < 0:
            return {"messages": [AIMessage("no need to search")]}
        call = {"name": "search", "args": {"query": f"words {left[0]}"}, "id": f"c{left[0]}"}
        return {"messages": [AIMessage("", tool_calls=[call])]}

    def rephrase(_: AgenticState) -> dict[str, Any]:
        return {"messages": [HumanMessage(rewrite("rephrase"))]}

    def generate(_: AgenticState) -> dict[str, Any]:
        return {"messages": [AIMessage("the answer")]}

    def is_relevant(_: AgenticState) -> str:
        return "generate" if grade("relevant?") == "yes" else "rephrase"

    graph = StateGraph(AgenticState)
    graph.add_node("decide", decide)
    graph.add_node("retrieve", ToolNode([search]))
    graph.add_node("rephrase", rephrase)
    graph.add_node("generate", generate)
    graph.add_edge(START, "decide")
    graph.add_conditional_edges("decide", tools_condition, {"tools": "retrieve", END: END})
    graph.add_conditional_edges("retrieve", is_relevant, ["generate", "rephrase"])
    graph.add_edge("rephrase", "decide")
    graph.add_edge("generate", END)
    return graph.compile(name="agentic")


AGENTIC = {
    "retrieve": "retrieve", "retrieve:router": "grade", "rephrase": "rewrite", "generate": "answer",
}  # fmt: skip
ASKED = {"messages": [HumanMessage("where is it?")]}


def test_agentic_rag_that_answers_after_one_rewrite() -> None:
    kit = Kit()
    kit.watch(agentic_graph(grades=["no", "yes"], searches=2), AGENTIC).invoke(ASKED)

    assert kit.counted("rag_turns_total", "outcome", "retrieved", "last_grade") == {
        ("answered", "yes", "pass"): 1
    }
    assert [(r.chunk_ids, r.grades, r.effect) for r in kit.turn.retrievals] == [
        (("a",), (False,), None),
        (("b",), (True,), "new_chunks"),
    ]
    assert [r.query for r in kit.turn.retrievals] == ["words 1", "words 0"]
    assert kit.counted("rag_llm_calls_total", "role") == {("grade",): 2, ("rewrite",): 1}
    assert kit.counted("rag_grades_total", "grade") == {("fail",): 1, ("pass",): 1}


def test_agentic_rag_that_needs_no_search() -> None:
    kit = Kit()
    kit.watch(agentic_graph(grades=[], searches=0), AGENTIC).invoke(ASKED)

    assert kit.counted("rag_turns_total", "outcome", "retrieved") == {("answered", "no"): 1}
    assert kit.counted("rag_routes_total", "router", "route") == {("decide", "END"): 1}


def test_agentic_rag_that_goes_round_until_the_limit() -> None:
    kit = Kit()
    graph = kit.watch(agentic_graph(grades=["no"] * 20, searches=20), AGENTIC)
    with pytest.raises(GraphRecursionError):
        graph.invoke(ASKED, {"recursion_limit": 12})

    assert kit.outcomes() == {"recursion_limit": 1}
    assert kit.turn.rewrites == 4
    effects = [r.effect for r in kit.turn.retrievals]
    assert effects == [None, "new_chunks", *["same_chunks_and_scores"] * 2]
    found = {finding.detector for finding in kit.records.findings[-1]}
    assert {"runaway_loop", "synonym_swap"} <= found


# -- corrective RAG: bad documents are filtered out, a web search helps ---------------------------


class CorrectiveState(TypedDict, total=False):
    question: str
    generation: str
    web_search: str
    documents: list[Document]


def corrective_graph(good: set[str]) -> Any:
    def retrieve(_: CorrectiveState) -> CorrectiveState:
        return {"documents": documents("a", "b")}

    def grade_documents(state: CorrectiveState) -> CorrectiveState:
        kept = [d for d in state["documents"] if d.id in good]
        return {"documents": kept, "web_search": "No" if kept else "Yes"}

    def transform_query(_: CorrectiveState) -> CorrectiveState:
        return {"question": "better words"}

    def web_search(state: CorrectiveState) -> CorrectiveState:
        return {"documents": [*state["documents"], *documents("web")]}

    def generate(_: CorrectiveState) -> CorrectiveState:
        return {"generation": "the answer"}

    graph = StateGraph(CorrectiveState)
    for node in (retrieve, grade_documents, transform_query, web_search, generate):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "retrieve")
    graph.add_edge("retrieve", "grade_documents")
    graph.add_conditional_edges(
        "grade_documents",
        lambda s: "transform_query" if s["web_search"] == "Yes" else "generate",
        ["transform_query", "generate"],
    )
    graph.add_edge("transform_query", "web_search")
    graph.add_edge("web_search", "generate")
    graph.add_edge("generate", END)
    return graph.compile(name="corrective")


CORRECTIVE = {
    "retrieve": "retrieve", "grade_documents": "grade", "transform_query": "rewrite",
    "web_search": "retrieve", "generate": "answer",
}  # fmt: skip


@pytest.mark.parametrize(
    ("good", "grades", "rewrites", "retrievals"),
    [
        pytest.param({"a"}, {("pass",): 1, ("fail",): 1}, 0, [("a", "b")], id="one is kept"),
        pytest.param(set(), {("fail",): 2}, 1, [("a", "b"), ("web",)], id="the web helps"),
    ],
)
def test_corrective_rag(
    good: set[str], grades: dict[Any, int], rewrites: int, retrievals: list[Any]
) -> None:
    kit = Kit()
    kit.watch(corrective_graph(good), CORRECTIVE).invoke({"question": "where is it?"})

    assert kit.outcomes() == {"answered": 1}
    assert kit.counted("rag_grades_total", "grade") == grades
    assert kit.turn.rewrites == rewrites
    assert [r.chunk_ids for r in kit.turn.retrievals] == retrievals
    assert kit.turn.question == "where is it?"
    assert kit.turn.reply == "the answer"


# -- adaptive RAG: a router in front sends the question to the documents, the web, or away --------


def adaptive_graph(datasource: str) -> Any:
    def retrieve(_: CorrectiveState) -> CorrectiveState:
        return {"documents": documents("a")}

    def web_search(_: CorrectiveState) -> CorrectiveState:
        return {"documents": documents("web")}

    def generate(_: CorrectiveState) -> CorrectiveState:
        return {"generation": "the answer"}

    def refuse(_: CorrectiveState) -> CorrectiveState:
        return {"generation": "not here"}

    graph = StateGraph(CorrectiveState)
    for node in (retrieve, web_search, generate, refuse):
        graph.add_node(node.__name__, node)
    graph.add_conditional_edges(
        START,
        lambda _: datasource,
        {"vectorstore": "retrieve", "web": "web_search", "none": "refuse"},
    )
    graph.add_edge("retrieve", "generate")
    graph.add_edge("web_search", "generate")
    graph.add_edge("generate", END)
    graph.add_edge("refuse", END)
    return graph.compile(name="adaptive")


ADAPTIVE = {
    "START:router": "guard", "retrieve": "retrieve", "web_search": "retrieve",
    "generate": "answer", "refuse": "off_topic",
}  # fmt: skip


@pytest.mark.parametrize(
    ("datasource", "end", "classification"),
    [
        pytest.param("vectorstore", ("answered", "yes"), "relevant", id="documents"),
        pytest.param("web", ("answered", "yes"), "relevant", id="web"),
        pytest.param("none", ("off_topic", "no"), "irrelevant", id="refused"),
    ],
)
def test_adaptive_rag(datasource: str, end: tuple[str, str], classification: str) -> None:
    kit = Kit()
    kit.watch(adaptive_graph(datasource), ADAPTIVE).invoke({"question": "where is it?"})

    assert kit.counted("rag_turns_total", "outcome", "retrieved") == {end: 1}
    assert kit.counted("rag_topic_checks_total", "classification") == {(classification,): 1}
    assert kit.value("rag_chunk_score_count", grade="none") == len(kit.turn.retrievals)


# -- self-RAG: the reply itself is judged, and may send the turn back ------------------------------


class SelfState(CorrectiveState, total=False):
    tries: int


def self_graph(useful: list[str], *, bound: int | None) -> Any:
    verdicts = iter(useful)

    def retrieve(_: SelfState) -> SelfState:
        return {"documents": documents("a")}

    def grade_documents(state: SelfState) -> SelfState:
        return {"documents": state["documents"]}

    def generate(_: SelfState) -> SelfState:
        return {"generation": "a draft"}

    def transform_query(state: SelfState) -> SelfState:
        return {"question": "better words", "tries": state.get("tries", 0) + 1}

    def apologise(_: SelfState) -> SelfState:
        return {"generation": "found nothing"}

    def is_useful(state: SelfState) -> str:
        if next(verdicts) == "useful":
            return END
        return (
            "apologise"
            if bound is not None and state.get("tries", 0) >= bound
            else ("transform_query")
        )

    graph = StateGraph(SelfState)
    for node in (retrieve, grade_documents, generate, transform_query, apologise):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "retrieve")
    graph.add_edge("retrieve", "grade_documents")
    graph.add_edge("grade_documents", "generate")
    graph.add_conditional_edges("generate", is_useful, ["transform_query", "apologise", END])
    graph.add_edge("transform_query", "retrieve")
    graph.add_edge("apologise", END)
    return graph.compile(name="self")


SELF = {
    "retrieve": "retrieve", "grade_documents": "grade", "transform_query": "rewrite",
    "generate": "answer", "apologise": "no_results",
}  # fmt: skip


def test_self_rag_that_is_useful_at_the_second_try() -> None:
    kit = Kit()
    kit.watch(self_graph(["not", "useful"], bound=None), SELF).invoke({"question": "where?"})

    assert kit.outcomes() == {"answered": 1}
    assert kit.turn.rewrites == 1
    assert kit.turn.terminal_roles == ("answer",)
    assert kit.value("rag_terminal_conflicts_total") == 0
    assert kit.counted("rag_rewrites_total", "effect") == {("same_chunks_and_scores",): 1}


def test_self_rag_whose_drafts_are_never_useful_says_so() -> None:
    kit = Kit()
    kit.watch(self_graph(["not"] * 5, bound=2), SELF).invoke({"question": "where?"})

    assert kit.counted("rag_turns_total", "outcome", "last_grade") == {("no_results", "pass"): 1}
    assert kit.turn.rewrites == 2
    assert kit.turn.terminal_roles == ("no_results",)


@pytest.mark.parametrize(
    ("graph", "roles", "given"),
    [
        pytest.param(agentic_graph(grades=["yes"], searches=1), AGENTIC, ASKED, id="agentic"),
        pytest.param(corrective_graph({"a"}), CORRECTIVE, {"question": "q"}, id="corrective"),
        pytest.param(adaptive_graph("web"), ADAPTIVE, {"question": "q"}, id="adaptive"),
        pytest.param(self_graph(["useful"], bound=1), SELF, {"question": "q"}, id="self"),
    ],
)
def test_foreign_graphs_stay_below_the_limit_of_series(
    graph: Any, roles: dict[str, str], given: Any
) -> None:
    kit = Kit()
    kit.watch(graph, roles).invoke(given)

    assert kit.value("rag_turns_total") == 1
    assert kit.value("rag_telemetry_errors_total") == 0
    assert len(kit.series()) <= 400
