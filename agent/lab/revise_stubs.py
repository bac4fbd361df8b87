"""The real revise loop run with a critic that is never pleased: its table and its worst case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from agent.context import AgentContext
from agent.models.in_process import InProcessChat
from agent.models.support import SupportModel
from agent.revise import PASS_SCORE, build_revise_graph, route_after_critique
from agent.settings import MAX_DRAFTS, TOKENS_PER_DRAFT

PUBLISHED_STATES = ((0, 0.5), (3, 0.9), (1, 0.9))
"""Attempts and score of the published rows: below the pass score, at the cap, passed."""


def router_table(states: Sequence[tuple[int, float]] = PUBLISHED_STATES) -> list[dict[str, Any]]:
    """Return the route for each (attempts, score)."""
    return [
        {
            "attempts": attempts,
            "score": score,
            "route": route_after_critique(
                {"drafts": attempts, "max_drafts": MAX_DRAFTS, "score": score}
            ),
        }
        for attempts, score in states
    ]


def worst_case() -> dict[str, Any]:
    """Run the loop to its end, and count the drafts that it wrote."""
    chat = NeverPleased()
    chunk = {"id": "a", "text": "It is so.", "score": 1.0}
    build_revise_graph().invoke(
        {
            "question": "q",
            "standalone": "q",
            "chunks": [chunk],
            "attempts": [{"query": "q", "chunks": [{"id": "a", "score": 1.0, "grade": "pass"}]}],
            "is_fallback": False,
            "judgement_failures": [],
        },
        context=AgentContext(
            model=SupportModel(chat),
            retriever=_Empty(),
            max_drafts=MAX_DRAFTS,
        ),
    )
    return {
        "max_attempts": chat.drafts,
        "pass_score": PASS_SCORE,
        "tokens_per_attempt": TOKENS_PER_DRAFT,
        "worst_case_tokens": chat.drafts * TOKENS_PER_DRAFT,
    }


class NeverPleased(InProcessChat):
    """Writes a draft whenever it is asked to, and passes none."""

    model_name: str = "never_pleased"
    drafts: int = 0

    def reply(self, task: str, data: dict[str, Any]) -> dict[str, Any] | str:  # noqa: ARG002
        """Return a draft, or the critique that it is not good enough."""
        if task == "critique":
            return {"supported": "none", "answers": "no", "note": "Not yet."}
        self.drafts += 1
        return f"Draft {self.drafts} [a]."


class _Empty(BaseRetriever):
    """Finds nothing: the loop does not search."""

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:  # noqa: ARG002
        return []
