"""What an agent is put together from and what a change, or a fault, replaces."""

from __future__ import annotations

from dataclasses import dataclass

from langchain_core.language_models.chat_models import BaseChatModel

from agent.retrieval.tfidf import TfidfRetriever
from agent.routers import GradingRouter


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of one agent. Another agent is made with `dataclasses.replace`."""

    chat: BaseChatModel
    retriever: TfidfRetriever
    route_after_grading: GradingRouter
    grader: str
    """What grades, for the label `grader`."""
    otlp_endpoint: str | None = None
    """Base URL of the collector of this agent's spans; None for the process' own export."""
