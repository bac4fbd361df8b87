"""A self-contained eight-node graph with the shape of the support agent, for measuring.

Its models are fake chat models of LangChain, its retriever is a dictionary: what is measured is
LangGraph, LangChain and whatever watches them.
"""

from __future__ import annotations

from typing import Any, TypedDict

from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from langgraph.graph import END, START, StateGraph

ROLES = {
    "enhance_query": "enhance",
    "validate_topic": "guard",
    "handle_off_topic": "off_topic",
    "fetch_content": "retrieve",
    "assess_relevance": "grade",
    "generate_response": "answer",
    "optimize_query": "rewrite",
    "handle_no_results": "no_results",
}
QUESTION = "Do you offer a student discount?"
"""Never answered: 3 retrievals, 9 model calls, 12 node executions."""
MAX_REWRITES = 2


class State(TypedDict, total=False):
    question: str
    query: str
    topic: dict[str, str]
    chunks: list[dict[str, Any]]
    attempts: list[dict[str, Any]]
    rewrites: int
    outcome: str | None
    reply: str


def build(chunk_text: str = "text") -> Any:  # noqa: C901 - the nodes of one graph
    """Return the compiled graph; every chunk carries `chunk_text`."""
    guard = FakeListChatModel(responses=["RELEVANT"])
    grader = FakeListChatModel(responses=["no"])
    rewriter = FakeListChatModel(responses=["student price", "discount for education"])

    def ask(model: Any, text: str) -> str:
        return str(model.invoke([HumanMessage(text)]).content)

    def enhance_query(state: State) -> State:
        return {
            "query": state["question"],
            "attempts": [],
            "rewrites": 0,
            "outcome": None,
            "max_rewrites": MAX_REWRITES,
        }  # type: ignore[typeddict-unknown-key]

    def validate_topic(state: State) -> State:
        return {"topic": {"classification": ask(guard, state["question"]), "confidence": "HIGH"}}

    def handle_off_topic(_: State) -> State:
        return {"outcome": "off_topic", "reply": "no"}

    def fetch_content(state: State) -> State:
        n = state["rewrites"]
        return {
            "chunks": [
                {"id": f"plans-{n}", "text": chunk_text, "score": 0.41},
                {"id": "annual", "text": chunk_text, "score": 0.32},
            ]
        }

    def assess_relevance(state: State) -> State:
        graded = [
            {
                "id": chunk["id"],
                "score": chunk["score"],
                "grade": "pass" if ask(grader, chunk["text"]) == "yes" else "fail",
            }
            for chunk in state["chunks"]
        ]
        return {"attempts": [*state["attempts"], {"query": state["query"], "chunks": graded}]}

    def optimize_query(state: State) -> State:
        return {"query": ask(rewriter, state["question"]), "rewrites": state["rewrites"] + 1}

    def generate_response(state: State) -> State:
        return {"outcome": "answered", "reply": ask(guard, state["question"])}

    def handle_no_results(_: State) -> State:
        return {"outcome": "no_results", "reply": "nothing found"}

    def after_topic(state: State) -> str:
        relevant = state["topic"]["classification"] == "RELEVANT"
        return "fetch_content" if relevant else "handle_off_topic"

    def after_grading(state: State) -> str:
        if any(c["grade"] == "pass" for c in state["attempts"][-1]["chunks"]):
            return "generate_response"
        return "optimize_query" if state["rewrites"] < MAX_REWRITES else "handle_no_results"

    graph = StateGraph(State)
    for body in (
        enhance_query,
        validate_topic,
        handle_off_topic,
        fetch_content,
        assess_relevance,
        optimize_query,
        generate_response,
        handle_no_results,
    ):
        graph.add_node(body.__name__, body)
    graph.add_edge(START, "enhance_query")
    graph.add_edge("enhance_query", "validate_topic")
    graph.add_conditional_edges(
        "validate_topic", after_topic, ["fetch_content", "handle_off_topic"]
    )
    graph.add_edge("fetch_content", "assess_relevance")
    graph.add_conditional_edges(
        "assess_relevance",
        after_grading,
        ["generate_response", "optimize_query", "handle_no_results"],
    )
    graph.add_edge("optimize_query", "fetch_content")
    for last in ("handle_off_topic", "generate_response", "handle_no_results"):
        graph.add_edge(last, END)
    return graph.compile(name="bench_agent")
