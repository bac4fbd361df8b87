"""Fakes for the agent's tests: a model that replies from a table, a retriever that reads a dict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import PrivateAttr

from agent.context import AgentContext
from agent.models.in_process import InProcessChat
from agent.models.support import SupportModel

Reply = dict[str, Any] | str
DEFAULT_REPLIES: dict[str, Reply] = {
    "enhance": {"question": "standalone question"},
    "guard": {"classification": "RELEVANT", "confidence": "HIGH"},
    "grade": {"relevant": "no"},
    "rewrite": {"query": "other words"},
    "answer": "It is so [a].",
    "clarify": {"question": "Do you mean servers?"},
    "critique": {"supported": "all", "answers": "fully", "note": "none"},
    "revise": "It is so, and more [a].",
}


class ScriptedChat(InProcessChat):
    """Replies from a table by task; a callable gets the data, an exception is raised."""

    model_name: str = "scripted"
    replies: Mapping[str, Any] = {}
    _asked: list[tuple[str, dict[str, Any]]] = PrivateAttr(default_factory=list)

    @property
    def asked(self) -> list[tuple[str, dict[str, Any]]]:
        return self._asked

    def reply(self, task: str, data: dict[str, Any]) -> Reply:
        self._asked.append((task, data))
        reply = self.replies.get(task, DEFAULT_REPLIES[task])
        if callable(reply):
            reply = reply(data)
        if isinstance(reply, Exception):
            raise reply
        return reply


class DictRetriever(BaseRetriever):
    """Finds what a dict holds for the query; `None` as key is found for any other query."""

    found: Mapping[str | None, Sequence[tuple[str, float]]] = {None: (("a", 0.5), ("b", 0.25))}
    error: Exception | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        if self.error is not None:
            raise self.error
        hits = self.found.get(query, self.found.get(None, ()))
        return [
            Document(page_content=f"text of {id_}", id=id_, metadata={"id": id_, "score": score})
            for id_, score in hits
        ]


def make_context(
    replies: Mapping[str, Any] | None = None,
    *,
    chat: ScriptedChat | None = None,
    retriever: BaseRetriever | None = None,
    **changes: Any,
) -> AgentContext:
    return AgentContext(
        model=SupportModel(chat or ScriptedChat(replies=replies or {})),
        retriever=retriever or DictRetriever(),
        **changes,
    )


def in_turn(*verdicts: str) -> Callable[[Any], Reply]:
    """Return a grader that gives the verdicts one after another and then the last one."""
    left = list(verdicts)
    return lambda _: {"relevant": left.pop(0) if len(left) > 1 else left[0]}
