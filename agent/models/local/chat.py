"""The `local` chat model: answers any question about the documents, without key or network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from pydantic import Field

from agent.errors import EmptyCorpusError, ModelRequestError
from agent.models.in_process import InProcessChat
from agent.models.local.clarifier import clarified, clarifying_question
from agent.models.local.corpus import Passage
from agent.models.local.critic import critique, revised
from agent.models.local.extractor import answer
from agent.models.local.followup import standalone
from agent.models.local.grading import passes
from agent.models.local.labelled import LabelledQuestion, load_labelled
from agent.models.local.lexicon import load_lexicon
from agent.models.local.rewriter import rewrite
from agent.models.local.topic import verdict
from agent.models.local.understanding import Understanding
from agent.retrieval.tfidf import CorpusChunk, TfidfIndex
from agent.state import TopicVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """A chunk as a request brings it."""

    id: str
    text: str


class LocalChat(InProcessChat):
    """Judges, rewrites and quotes with classical text methods; deterministic, a few ms a turn.

    The guard, the grader and the rewriter share one picture of a question before the documents
    (`Understanding.view`): which sentences speak of what it asks, by word stem, by meaning (a
    lexicon of support English) and by its likeness to labelled questions.
    """

    model_name: str = "local"
    understanding: Understanding = Field(repr=False, exclude=True)
    index: TfidfIndex | None = Field(default=None, repr=False, exclude=True)
    """The documents as search sees them; None when there are none."""

    @classmethod
    def fit(
        cls,
        chunks: Iterable[CorpusChunk],
        *,
        index: TfidfIndex | None = None,
        labelled: Sequence[LabelledQuestion] | None = None,
    ) -> Self:
        """Learn the documents.

        Args:
            chunks: The documents' chunks, with distinct ids; none at all is allowed.
            index: The index over the same chunks, when there is one already.
            labelled: Labelled questions; None for the packaged ones. Their answers count when all
                of them are chunks of the documents.
        """
        chunks = list(chunks)
        known = load_labelled() if labelled is None else labelled
        return cls(
            understanding=Understanding(chunks, known, load_lexicon()),
            index=index or _index(chunks),
        )

    def reply(self, task: str, data: dict[str, Any]) -> dict[str, Any] | str:
        """Return the verdict, the query or the text of an answer.

        Raises:
            ModelRequestError: The task is none of the roles.
        """
        match task:
            case "enhance":
                return {"question": self._enhance(**data)}
            case "guard":
                return {**self._check_topic(data["question"])}
            case "clarify":
                view = self.understanding.view(data["question"])
                return {"question": clarifying_question(view, self.understanding)}
            case "grade":
                view = self.understanding.view(data["question"])
                is_relevant = passes(view, _Given(**data["chunk"]), self.understanding)
                return {"relevant": "yes" if is_relevant else "no"}
            case "rewrite":
                return {"query": self._rewrite(data)}
            case "answer":
                view = self.understanding.view(data["question"])
                return answer(view, _passages(data), self.understanding)
            case "critique":
                view = self.understanding.view(data["question"])
                return critique(view, _passages(data), data["draft"], self.understanding.lexicon)
            case "revise":
                view = self.understanding.view(data["question"])
                return revised(view, _passages(data), data["draft"], self.understanding.lexicon)
        raise ModelRequestError(self.model_name, f"got the unknown task {task!r}")

    def _check_topic(self, question: str) -> TopicVerdict:
        """Judge the topic; labels of other documents never refuse what these documents answer."""
        view, weights = self.understanding.view(question), self.understanding.weights
        if not view.match.reading.words:  # nothing to search for; whoever wrote it can be asked
            return {"classification": "IRRELEVANT", "confidence": "LOW"}
        is_answered = view.answerable >= weights.answerable_logit
        let_all_through = is_answered and not self.understanding.has_labels
        threshold = 0.0 if let_all_through else weights.topic_probability
        return verdict(view.topic, weights.topic, threshold)

    def _enhance(
        self, question: str, history: list[dict[str, str]], *, asked_back: bool = False
    ) -> str:
        asked = [message["text"] for message in history if message["role"] == "user"]
        lexicon = self.understanding.lexicon
        if not asked_back:
            return standalone(question, asked, lexicon)
        doubtful = standalone(asked[-1], asked[:-1], lexicon)
        return clarified(doubtful, history[-1]["text"], question, lexicon)

    def _rewrite(self, data: dict[str, Any]) -> str:
        query = data["query"]
        attempts = data.get("attempts", ())
        earlier = [attempt["query"] for attempt in attempts] or [query]
        tried = {id_ for attempt in attempts for id_ in attempt["chunk_ids"]}
        if not attempts and self.index is not None:
            tried = {chunk.id for chunk, _ in self.index.search(query, 2)}
        view = self.understanding.view(data.get("question", query))
        return rewrite(view, earlier, tried, self.understanding, self.index)


def _passages(data: dict[str, Any]) -> list[Passage]:
    return [_Given(**chunk) for chunk in data["chunks"]]


def _index(chunks: Sequence[CorpusChunk]) -> TfidfIndex | None:
    try:
        return TfidfIndex.fit(chunks)
    except EmptyCorpusError:
        return None
