"""The published lab's stand-ins as a chat model: it reads its verdicts off the golden set."""

from __future__ import annotations

import re
from typing import Any, Final

from agent.errors import ModelRequestError
from agent.golden import GoldenQuestion, GoldenSet
from agent.models.in_process import InProcessChat

ANSWER_SENTENCES: Final = 2
"""Sentences quoted from each answer chunk; chosen by us: in the handbook the second qualifies the
first."""
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


class GoldenChat(InProcessChat):
    """Knows the questions of one golden set and nothing else.

    The topic check says what the label says, the grader passes only the golden answer chunks, and
    the rewriter gives the hand-written rewrites in order. So what a run shows is the graph and the
    retrieval, not a model's mistakes.
    """

    golden: GoldenSet
    model_name: str = "golden"

    def reply(self, task: str, data: dict[str, Any]) -> dict[str, Any] | str:
        """Return the golden verdict or text.

        Raises:
            UnknownGoldenQuestionError: The question, or for a rewrite without a question the
                query, is not in the golden set.
        """
        if data.get("asked_back"):
            return {"question": self._clarified(data)}
        entry = self.golden.find(data.get("question", data.get("query", "")))
        match task:
            case "enhance":
                return {"question": entry.queries[0]}
            case "guard":
                is_on = entry.topic == "on"
                label = "RELEVANT" if is_on else "IRRELEVANT"
                return {"classification": label, "confidence": "HIGH"}
            case "clarify":
                return {"question": f"Do you mean: {entry.queries[0]}"}
            case "grade":
                return {"relevant": "yes" if data["chunk"]["id"] in entry.answers else "no"}
            case "rewrite":
                return {"query": entry.rewrite_after(data["query"])}
            case "answer":
                return _answer(entry, data["chunks"])
            case "critique":
                is_cited = any(f"[{id_}]" in data["draft"] for id_ in entry.answers)
                answers = "fully" if is_cited else "no"
                note = "none" if is_cited else f"Answer from {', '.join(entry.answers)}."
                return {"supported": "all", "answers": answers, "note": note}
            case "revise":
                return _answer(entry, data["chunks"])
        raise ModelRequestError(self.model_name, f"got the unknown task {task!r}")

    def _clarified(self, data: dict[str, Any]) -> str:
        """Return the question that was asked back about: golden questions need no reply."""
        asked = [m["text"] for m in data["history"] if m["role"] == "user"]
        return self.golden.find(asked[-1]).queries[0]


def _answer(entry: GoldenQuestion, chunks: list[dict[str, str]]) -> str:
    """Quote the first sentences of the golden answer chunks among `chunks`, each with its id."""
    return " ".join(
        f"{_opening(chunk['text'])} [{chunk['id']}]"
        for chunk in chunks
        if chunk["id"] in entry.answers
    )


def _opening(text: str) -> str:
    """Return the first sentences of a chunk's body, which is below its heading."""
    heading, _, body = text.strip().partition("\n\n")
    sentences = _SENTENCE_END.split(" ".join((body or heading).split()))
    return " ".join(sentences[:ANSWER_SENTENCES])
