"""Graphs, models and retrievers for the tests of the telemetry core; nothing here needs a network.

`support_graph` has the eight nodes of the contract. The four RAG graphs have the topology of the
well-known examples, with code of our own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Annotated, Any, Literal, TypedDict

from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    CallbackManagerForLLMRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.language_models.base import LangSmithParams
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.retrievers import BaseRetriever
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from pydantic import PrivateAttr

Usage = tuple[int, int]


class Scripted(BaseChatModel):
    """A chat model that gives its replies one after another, and the last one from then on.

    Args:
        replies: Texts; an exception among them is raised.
        usage: (input, output) tokens of each call; None reports none.
        streamed: Usage of each chunk when it is streamed, as the provider reports it.
    """

    replies: Sequence[Any] = ("yes",)
    usage: Usage | None = (10, 5)
    streamed: Sequence[Usage | None] = ()
    model_name: str = "scripted-1"
    provider: str = "acme"
    _given: int = PrivateAttr(default=0)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def calls(self) -> int:
        return self._given

    def _get_ls_params(self, stop: list[str] | None = None, **_: Any) -> LangSmithParams:
        return LangSmithParams(
            ls_provider=self.provider, ls_model_name=self.model_name, ls_model_type="chat"
        )

    def _next(self) -> str:
        reply = self.replies[min(self._given, len(self.replies) - 1)]
        self._given += 1
        if isinstance(reply, BaseException):
            raise reply
        return str(reply)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        message = AIMessage(
            content=self._next(),
            usage_metadata=usage_metadata(self.usage) if self.usage else None,
            response_metadata={"model_name": self.model_name, "finish_reason": "stop"},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in self._chunks():
            if run_manager:
                run_manager.on_llm_new_token(str(chunk.message.content), chunk=chunk)
            yield chunk

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._chunks():
            await asyncio.sleep(0)
            if run_manager:
                await run_manager.on_llm_new_token(str(chunk.message.content), chunk=chunk)
            yield chunk

    def _chunks(self) -> Iterator[ChatGenerationChunk]:
        reply = self._next()
        reports = self.streamed or [None, self.usage]
        size = -(-len(reply) // len(reports))
        for index, report in enumerate(reports):
            text = reply[index * size : (index + 1) * size]
            yield ChatGenerationChunk(
                message=AIMessageChunk(
                    content=text, usage_metadata=usage_metadata(report) if report else None
                )
            )


def usage_metadata(usage: Usage) -> Any:
    return {
        "input_tokens": usage[0],
        "output_tokens": usage[1],
        "total_tokens": sum(usage),
    }


class Shelf(BaseRetriever):
    """A retriever that finds the next list of (id, score) each time, and the last from then on."""

    finds: Sequence[Sequence[tuple[str, float]]] = ((("a", 0.5), ("b", 0.25)),)
    text: str = "text of {id}"
    _given: int = PrivateAttr(default=0)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        hits = self.finds[min(self._given, len(self.finds) - 1)]
        self._given += 1
        return [
            Document(page_content=self.text.format(id=id_), id=id_, metadata={"score": score})
            for id_, score in hits
        ]


# -- the eight nodes ------------------------------------------------------------------------------

SUPPORT_ROLES = {
    "enhance_query": "enhance",
    "validate_topic": "guard",
    "handle_off_topic": "off_topic",
    "fetch_content": "retrieve",
    "assess_relevance": "grade",
    "generate_response": "answer",
    "optimize_query": "rewrite",
    "handle_no_results": "no_results",
}
QUESTION = {"question": "where is it?"}


class SupportState(TypedDict, total=False):
    question: str
    query: str
    topic: dict[str, str]
    documents: list[Document]
    grade: list[str]
    rewrites: int
    outcome: str | None
    reason: str | None
    reply: str


def support_graph(  # noqa: C901 - one small function a node
    *,
    topic: str = "RELEVANT",
    grades: Sequence[str] = ("no",),
    bound: int = 2,
    finds: Sequence[Sequence[tuple[str, float]]] = ((("a", 0.5), ("b", 0.25)),),
    replies: Sequence[Any] = ("It is there.",),
    text: str = "text of {id}",
    is_async: bool = False,
    inside: Callable[[str], None] = lambda _: None,
    build: Callable[[StateGraph[Any, Any, Any, Any]], None] = lambda _: None,
    **compile_options: Any,
) -> Any:
    """Return the compiled eight-node graph, with LangChain models and a LangChain retriever.

    Args:
        topic: What the guard says.
        grades: Replies of the grader, one a chunk.
        bound: Rewrites allowed.
        finds: What each search finds.
        replies: Replies of the answering model.
        text: Text of each document.
        is_async: The nodes are coroutine functions.
        inside: Called in each node, with its name.
        build: Adds to the builder before it is compiled.
    """
    guard = Scripted(replies=[topic])
    grader = Scripted(replies=grades)
    rewriter = Scripted(replies=["first words", "second words", "third words"])
    writer = Scripted(replies=replies)
    shelf = Shelf(finds=finds, text=text)

    def enhance_query(state: SupportState) -> Any:
        yield from ()
        return {
            "query": state["question"], "rewrites": 0, "outcome": None, "max_rewrites": bound,
        }  # fmt: skip

    def validate_topic(state: SupportState) -> Any:
        said = yield guard, state["question"]
        return {"topic": {"classification": said.text, "confidence": "HIGH"}}

    def handle_off_topic(_: SupportState) -> Any:
        yield from ()
        return {"outcome": "off_topic", "reason": "classified_irrelevant", "reply": "No."}

    def fetch_content(state: SupportState) -> Any:
        found = yield shelf, state["query"]
        return {"documents": found}

    def assess_relevance(state: SupportState) -> Any:
        verdicts = []
        for document in state["documents"]:
            said = yield grader, document.page_content
            verdicts.append(said.text)
        return {"grade": verdicts}

    def optimize_query(state: SupportState) -> Any:
        said = yield rewriter, state["question"]
        return {"query": said.text, "rewrites": state["rewrites"] + 1}

    def generate_response(state: SupportState) -> Any:
        said = yield writer, state["question"]
        return {"outcome": "answered", "reason": "passing_chunk", "reply": said.text}

    def handle_no_results(_: SupportState) -> Any:
        yield from ()
        return {"outcome": "no_results", "reason": "nothing_passed", "reply": "Nothing found."}

    def after_topic(state: SupportState) -> Literal["fetch_content", "handle_off_topic"]:
        relevant = state["topic"]["classification"] == "RELEVANT"
        return "fetch_content" if relevant else "handle_off_topic"

    def after_grading(
        state: SupportState,
    ) -> Literal["generate_response", "optimize_query", "handle_no_results"]:
        if "yes" in state["grade"]:
            return "generate_response"
        return "optimize_query" if state["rewrites"] < bound else "handle_no_results"

    graph = StateGraph(SupportState)
    for body in (
        enhance_query, validate_topic, handle_off_topic, fetch_content, assess_relevance,
        optimize_query, generate_response, handle_no_results,
    ):  # fmt: skip
        graph.add_node(body.__name__, _node(body, inside, is_async=is_async))
    graph.add_edge(START, "enhance_query")
    graph.add_edge("enhance_query", "validate_topic")
    graph.add_conditional_edges("validate_topic", after_topic)
    graph.add_edge("fetch_content", "assess_relevance")
    graph.add_conditional_edges("assess_relevance", after_grading)
    graph.add_edge("optimize_query", "fetch_content")
    for last in ("handle_off_topic", "generate_response", "handle_no_results"):
        graph.add_edge(last, END)
    build(graph)
    return graph.compile(**{"name": "support", **compile_options})


def _node(body: Any, inside: Callable[[str], None], *, is_async: bool) -> Callable[..., Any]:
    """Return the node of a body that yields (what to call, with what) and returns its update."""

    def run(state: SupportState) -> Any:
        inside(body.__name__)
        steps, said = body(state), None
        try:
            while True:
                target, value = steps.send(said)
                said = target.invoke(value)
        except StopIteration as stop:
            return stop.value

    async def arun(state: SupportState) -> Any:
        inside(body.__name__)
        await asyncio.sleep(0)
        steps, said = body(state), None
        while True:
            try:
                target, value = steps.send(said)
            except StopIteration as stop:
                return stop.value
            said = await target.ainvoke(value)

    return arun if is_async else run


# -- the well-known RAG graphs --------------------------------------------------------------------


class MessageState(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


AGENTIC_ROLES = {
    "retrieve": "retrieve",
    "retrieve:router": "grade",
    "rewrite_question": "rewrite",
    "generate_answer": "answer",
}


def agentic_rag(*, grades: Sequence[str] = ("yes",), searches: bool = True) -> Any:
    """Messages only; a model decides to search, a conditional edge grades, and nothing counts."""
    grader = Scripted(replies=grades)

    def generate_query_or_respond(state: MessageState) -> MessageState:
        asked = [m for m in state["messages"] if isinstance(m, HumanMessage)][-1]
        if not searches:
            return {"messages": [AIMessage("Hello!")]}
        call = {"name": "search", "args": {"query": asked.text}, "id": f"c{len(state['messages'])}"}
        return {"messages": [AIMessage("", tool_calls=[call])]}

    def retrieve(state: MessageState) -> MessageState:
        call = state["messages"][-1].tool_calls[0]
        found = [Document(page_content=f"about {call['args']['query']}", id="d1")]
        text = "\n".join(document.page_content for document in found)
        return {"messages": [ToolMessage(text, tool_call_id=call["id"], artifact=found)]}

    def grade_documents(state: MessageState) -> Literal["generate_answer", "rewrite_question"]:
        verdict = grader.invoke(state["messages"][-1].text).text
        return "generate_answer" if verdict == "yes" else "rewrite_question"

    def rewrite_question(state: MessageState) -> MessageState:
        n = sum(isinstance(m, HumanMessage) for m in state["messages"])
        return {"messages": [HumanMessage(f"rewritten {n}")]}

    def generate_answer(_: MessageState) -> MessageState:
        return {"messages": [AIMessage("It is so.")]}

    def wants_search(state: MessageState) -> str:
        return "tools" if state["messages"][-1].tool_calls else END

    graph = StateGraph(MessageState)
    for body in (generate_query_or_respond, retrieve, rewrite_question, generate_answer):
        graph.add_node(body)
    graph.add_edge(START, "generate_query_or_respond")
    graph.add_conditional_edges(
        "generate_query_or_respond", wants_search, {"tools": "retrieve", END: END}
    )
    graph.add_conditional_edges("retrieve", grade_documents)
    graph.add_edge("rewrite_question", "generate_query_or_respond")
    graph.add_edge("generate_answer", END)
    return graph.compile(name="agentic_rag")


class DocumentState(TypedDict, total=False):
    question: str
    generation: str
    web_search: str
    documents: list[Document]


CORRECTIVE_ROLES = {
    "retrieve": "retrieve",
    "grade_documents": "grade",
    "transform_query": "rewrite",
    "web_search_node": "retrieve",
    "generate": "answer",
}


def documents(*ids: str) -> list[Document]:
    return [Document(page_content=f"text of {id_}", id=id_) for id_ in ids]


def corrective_rag(*, relevant: Sequence[str] = ("a",)) -> Any:
    """Search, keep the relevant documents; when one was dropped, search the web instead."""

    def retrieve(_: DocumentState) -> DocumentState:
        return {"documents": documents("a", "b")}

    def grade_documents(state: DocumentState) -> DocumentState:
        kept = [d for d in state["documents"] if d.id in relevant]
        return {
            "documents": kept,
            "web_search": "No" if len(kept) == len(state["documents"]) else "Yes",
        }

    def transform_query(state: DocumentState) -> DocumentState:
        return {"question": f"better: {state['question']}"}

    def web_search_node(state: DocumentState) -> DocumentState:
        return {"documents": [*state["documents"], *documents("web")]}

    def generate(_: DocumentState) -> DocumentState:
        return {"generation": "It is so."}

    def decide_to_generate(state: DocumentState) -> str:
        return "transform_query" if state["web_search"] == "Yes" else "generate"

    graph = StateGraph(DocumentState)
    for body in (retrieve, grade_documents, transform_query, web_search_node, generate):
        graph.add_node(body)
    graph.add_edge(START, "retrieve")
    graph.add_edge("retrieve", "grade_documents")
    graph.add_conditional_edges(
        "grade_documents",
        decide_to_generate,
        {"transform_query": "transform_query", "generate": "generate"},
    )
    graph.add_edge("transform_query", "web_search_node")
    graph.add_edge("web_search_node", "generate")
    graph.add_edge("generate", END)
    return graph.compile(name="corrective_rag")


SELF_ROLES = {
    "retrieve": "retrieve",
    "grade_documents": "grade",
    "transform_query": "rewrite",
    "generate": "answer",
}
ADAPTIVE_ROLES = {**SELF_ROLES, "web_search": "retrieve"}


def self_rag(  # noqa: C901 - one small function a node
    *,
    relevant: Callable[[str], Sequence[str]] = lambda _: ("a",),
    judged: Sequence[str] = ("useful",),
    sources: Sequence[str] = (),
    name: str = "self_rag",
) -> Any:
    """Grade the documents, then grade the answer: against the documents, and as an answer.

    Args:
        relevant: Ids that pass, by the question.
        judged: What the conditional edge after `generate` says, one after another: `useful`,
            `not useful` or `not supported`.
        sources: Nodes to which the first edge sends the questions, one after another; makes
            the adaptive graph.
    """
    left, ways = list(judged), list(sources)

    def retrieve(_: DocumentState) -> DocumentState:
        return {"documents": documents("a", "b")}

    def web_search(_: DocumentState) -> DocumentState:
        return {"documents": documents("web")}

    def grade_documents(state: DocumentState) -> DocumentState:
        return {"documents": [d for d in state["documents"] if d.id in relevant(state["question"])]}

    def transform_query(state: DocumentState) -> DocumentState:
        return {"question": f"better: {state['question']}"}

    def generate(_: DocumentState) -> DocumentState:
        return {"generation": "It is so."}

    def decide_to_generate(state: DocumentState) -> str:
        return "generate" if state["documents"] else "transform_query"

    def grade_generation(_: DocumentState) -> str:
        return left.pop(0) if len(left) > 1 else left[0]

    def route_question(_: DocumentState) -> str:
        return ways.pop(0) if len(ways) > 1 else ways[0]

    graph = StateGraph(DocumentState)
    for body in (retrieve, grade_documents, transform_query, generate):
        graph.add_node(body)
    if sources:
        graph.add_node(web_search)
        graph.add_conditional_edges(
            START, route_question, {"web_search": "web_search", "vectorstore": "retrieve"}
        )
        graph.add_edge("web_search", "generate")
    else:
        graph.add_edge(START, "retrieve")
    graph.add_edge("retrieve", "grade_documents")
    graph.add_conditional_edges(
        "grade_documents",
        decide_to_generate,
        {"transform_query": "transform_query", "generate": "generate"},
    )
    graph.add_edge("transform_query", "retrieve")
    graph.add_conditional_edges(
        "generate",
        grade_generation,
        {"not supported": "generate", "useful": END, "not useful": "transform_query"},
    )
    return graph.compile(name=name)


def adaptive_rag(*, sources: Sequence[str] = ("vectorstore",), **options: Any) -> Any:
    """The same with a first edge that sends a question to the web or to the documents."""
    return self_rag(sources=sources, name="adaptive_rag", **options)
