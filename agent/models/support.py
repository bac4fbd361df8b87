"""The graph's jobs, done by any chat model: each a generator body that ends in a judgement.

A judgement that fails is tried once more and then replaced by the role's declared fallback, which
is never a verdict made out of the failure:

    enhance   the question as it was asked, after the one that it clarifies
    guard     RELEVANT with LOW confidence: let through
    clarify   a fixed question
    grade     ungraded: the chunk is kept
    rewrite   the query unchanged
    answer    None: the node replies with a fixed text
    critique  None: the draft is published unchecked
    revise    None: the loop ends with the best draft

A second model, where there is one, is asked once before the fallback; not after a refusal, which is
an answer. A model that was given up for the second one is left alone for `REST_SECONDS`, so that an
outage costs its time-outs once and not in every judgement.

This is the only layer that retries; models are built without retries of their own.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, cast

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AnyMessage, HumanMessage

from agent.models.asking import ask
from agent.models.critiques import critique_of
from agent.models.failures import UnusableReplyError
from agent.models.replies import FORMS, read_answer, read_verdict
from agent.models.requests import request
from agent.models.structured import StructuredMethod, StructuredOutput
from agent.state import (
    Attempt,
    Chunk,
    Classification,
    Confidence,
    Critique,
    FailureReason,
    Grade,
    Role,
    TopicVerdict,
)
from agent.steps import Steps

T = TypeVar("T")

RETRIES: Final = 1
"""Further calls after a failed one, for one judgement. Chosen by us: a second failure rarely heals
within the time a customer waits."""
REST_SECONDS: Final = 30.0
"""How long a model that failed is not asked while a second one answers. Chosen by us: as long as
its time-out, so that an outage takes at most every other half minute of one judgement."""
DEFAULT_SUBJECTS: Final = (
    "a company's services, their prices, its support procedures and the company itself"
)

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement(Generic[T]):
    """What a model was asked to judge, or the role's fallback and why it stands there."""

    value: T
    failure: FailureReason | None = None


def maximum_model_calls(
    max_rewrites: int,
    chunks_per_retrieval: int,
    *,
    has_history: bool = True,
    has_topic_check: bool = True,
    has_second_model: bool = False,
    has_fallback: bool = False,
    max_drafts: int = 0,
) -> int:
    """Return the most model calls that one turn can make, whatever fails.

    The longest turn judges 1 enhancement, 1 topic, k chunks in each of m + 1 retrievals,
    m rewrites and 1 answer; each judgement makes at most 1 + `RETRIES` calls, and one of the
    second model: (1 + RETRIES + has_second_model) *
    (has_history + has_topic_check + k * (m + 1) + m + 1).

    Args:
        max_rewrites: The bound m, 0 or more.
        chunks_per_retrieval: k, the chunks that one retrieval returns at most.
        has_history: Whether earlier turns exist; a first turn makes no enhancement call.
        has_topic_check: Whether the graph has its guardrail.
        has_second_model: Whether a second model is asked where the first one fails.
        has_fallback: Whether a second source is asked: k chunks more to grade.
        max_drafts: Drafts of the revise loop, each with its critique, in place of the answer; 0
            without the loop. A turn that asks back is always shorter.
    """
    grades = chunks_per_retrieval * (max_rewrites + 1 + has_fallback)
    answering = 2 * max_drafts or 1
    judgements = has_history + has_topic_check + grades + max_rewrites + answering
    return (1 + RETRIES + has_second_model) * judgements


class SupportModel:
    """Does the jobs with one chat model, or with another one for some of the roles."""

    def __init__(
        self,
        model: BaseChatModel,
        *,
        by_role: Mapping[Role, BaseChatModel] | None = None,
        second: BaseChatModel | None = None,
        subjects: str = DEFAULT_SUBJECTS,
        structured_method: StructuredMethod = "auto",
    ) -> None:
        """Probe how each model is asked for verdicts.

        Args:
            model: Does every role that `by_role` does not name.
            by_role: Other models for some roles, for example a cheaper one for `grade`.
            second: Asked once where a role's model gave no usable reply.
            subjects: What the documents are about, in words, for the topic check.
            structured_method: How schemas reach the model.
        """
        self.subjects = subjects
        self._default = StructuredOutput(model, structured_method)
        self._by_role = {
            role: StructuredOutput(other, structured_method)
            for role, other in (by_role or {}).items()
        }
        self._second = StructuredOutput(second, structured_method) if second is not None else None
        self._rests_until: dict[int, float] = {}
        """Id of a model's output -> when it is asked again, on the monotonic clock."""

    def structured_method(self, role: Role) -> StructuredMethod:
        """Return how the role's verdicts are asked for now; `prompt` when only words work."""
        return self._output(role).method

    def enhance(
        self, history: Sequence[AnyMessage], question: str, *, asked_back: bool = False
    ) -> Steps[Judgement[str]]:
        """Make a follow-up question standalone; falls back to the question as it is.

        Args:
            history: Earlier questions and replies, oldest first.
            question: What was said now.
            asked_back: It replies to a clarifying question, so that it means nothing without the
                question before, which the fallback then puts in front of it.
        """
        said = [
            {"role": "user" if isinstance(m, HumanMessage) else "assistant", "text": str(m.text)}
            for m in history
        ]
        data: dict[str, Any] = {"history": said, "question": question}
        fallback = question
        if asked_back:
            data["asked_back"] = True
            fallback = " ".join([*[m["text"] for m in said if m["role"] == "user"][-1:], question])
        return (yield from self._judge("enhance", data, lambda v: v["question"], fallback))

    def check_topic(self, question: str) -> Steps[Judgement[TopicVerdict]]:
        """Judge whether the question is in scope; falls back to RELEVANT with LOW confidence."""
        let_through: TopicVerdict = {"classification": "RELEVANT", "confidence": "LOW"}
        return (yield from self._judge("guard", {"question": question}, _topic, let_through))

    def clarify(self, question: str) -> Steps[Judgement[str]]:
        """Word the question that asks what was meant; falls back to a fixed one."""
        asked = (
            "I am not sure that I understand. "
            f"I can help with {self.subjects}: what would you like to know?"
        )
        data = {"question": question}
        return (yield from self._judge("clarify", data, lambda v: v["question"], asked))

    def grade(self, question: str, chunk: Chunk) -> Steps[Judgement[Grade]]:
        """Judge whether a chunk helps to answer the question; falls back to `ungraded`."""
        data = {"question": question, "chunk": _shown(chunk)}
        kept: Grade = "ungraded"
        return (yield from self._judge("grade", data, _grade, kept))

    def rewrite(
        self, query: str, *, question: str | None = None, attempts: Sequence[Attempt] = ()
    ) -> Steps[Judgement[str]]:
        """Find other search words; falls back to the query unchanged.

        Args:
            query: The current search words.
            question: The standalone question; None leaves the model with the query alone.
            attempts: The retrievals so far, for a rewrite from the question.
        """
        data: dict[str, Any] = {"query": query}
        if question is not None:
            tried = [
                {"query": a["query"], "chunk_ids": [chunk["id"] for chunk in a["chunks"]]}
                for a in attempts
            ]
            data = {"question": question, "query": query, "attempts": tried}
        return (yield from self._judge("rewrite", data, lambda v: v["query"], query))

    def answer(self, question: str, chunks: Sequence[Chunk]) -> Steps[Judgement[str | None]]:
        """Answer from the chunks with citations `[chunk id]`; None when no text came of it."""
        data = {"question": question, "chunks": [_shown(chunk) for chunk in chunks]}
        return (yield from self._try("answer", data, read_answer, None))

    def critique(
        self, question: str, chunks: Sequence[Chunk], draft: str
    ) -> Steps[Judgement[Critique | None]]:
        """Judge whether a draft is supported by the chunks and answers; None without verdict."""
        data = {"question": question, "chunks": [_shown(c) for c in chunks], "draft": draft}
        return (yield from self._judge("critique", data, critique_of, None))

    def revise(
        self, question: str, chunks: Sequence[Chunk], *, draft: str, critique: str
    ) -> Steps[Judgement[str | None]]:
        """Write a better draft from the last one and its critique; None when no text came of it."""
        shown = [_shown(chunk) for chunk in chunks]
        data = {"question": question, "chunks": shown, "draft": draft, "critique": critique}
        return (yield from self._try("revise", data, read_answer, None))

    def _judge(
        self, role: Role, data: dict[str, Any], value: Callable[[dict[str, str]], T], fallback: T
    ) -> Steps[Judgement[T]]:
        """Ask for a verdict in the role's form and turn it into a value."""
        form = FORMS[role]

        def read(result: Any) -> T:
            return value(read_verdict(result, form))

        return (yield from self._try(role, data, read, fallback))

    def _try(
        self, role: Role, data: dict[str, Any], read: Callable[[Any], T], fallback: T
    ) -> Steps[Judgement[T]]:
        """Ask the role's model, then the second one; then fall back."""
        messages = request(role, data, subjects=self.subjects)
        failure: UnusableReplyError | None = None
        for output, tries in self._asked(role):
            try:
                value = yield from ask(output, role, messages, read, tries=tries)
            except UnusableReplyError as error:
                failure = error
            else:
                if failure is not None and output is self._second:
                    self._rests_until[id(self._output(role))] = time.monotonic() + REST_SECONDS
                return Judgement(value=value)
            if failure.reason == "refused":
                break
        assert failure is not None, "at least one model is asked"
        _LOG.warning("no usable %s reply, the role's fallback is used: %s", role, failure)
        return Judgement(value=fallback, failure=failure.reason)

    def _asked(self, role: Role) -> Iterator[tuple[StructuredOutput, int]]:
        """Yield each model to ask, and how many calls it may take."""
        first, second = self._output(role), self._second
        if second is None:
            yield first, 1 + RETRIES
        elif time.monotonic() < self._rests_until.get(id(first), 0.0):
            yield second, 1 + RETRIES
            yield first, 1
        else:
            yield first, 1 + RETRIES
            yield second, 1

    def _output(self, role: Role) -> StructuredOutput:
        return self._by_role.get(role, self._default)


def _topic(verdict: dict[str, str]) -> TopicVerdict:
    return {
        "classification": cast("Classification", verdict["classification"]),
        "confidence": cast("Confidence", verdict["confidence"]),
    }


def _grade(verdict: dict[str, str]) -> Grade:
    return "pass" if verdict["relevant"] == "yes" else "fail"


def _shown(chunk: Chunk) -> dict[str, str]:
    """Return what a model sees of a chunk: never its score."""
    return {"id": chunk["id"], "text": chunk["text"]}
