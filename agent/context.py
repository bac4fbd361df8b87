"""What the nodes are given besides the state: the model, the retriever and the run's settings."""

from __future__ import annotations

from dataclasses import dataclass

from langchain_core.retrievers import BaseRetriever

from agent.models.support import SupportModel
from agent.settings import RewriteFrom


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentContext:
    """One graph run's tools; built once by the composition root and shared by all runs."""

    model: SupportModel
    retriever: BaseRetriever
    max_rewrites: int = 2
    """Rewrites allowed per question, 0 or more."""
    rewrite_from: RewriteFrom = "original"
    """What the rewriter reads: the original question and the attempts, or the current query."""
    max_drafts: int = 0
    """Drafts allowed a request in the revise loop, 2 or more; 0 for a graph without it."""
    fallback: BaseRetriever | None = None
    """Second source, asked once when grading failed at the bound."""
    fallback_chunks: int = 2
    """Chunks of the second source that are graded at most."""
    min_score: float | None = None
    """Chunks that score below it are dropped before grading; None keeps all k."""
    subjects: str = "the documents"
    """What the off-topic reply says it can help with."""
    deadline: float | None = None
    """Monotonic time (`time.monotonic`) at which the turn has to be over; None for no limit."""
    streamed: frozenset[str] = frozenset()
    """Nodes whose model calls go out piece by piece, in an async run: never one that judges."""
