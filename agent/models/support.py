"""The graph's five jobs, done by any chat model: each a generator body that ends in a judgement.

A judgement that fails is tried once more and then replaced by the role's declared fallback, which
is never a verdict made out of the failure:

    enhance   the question as it was asked
    guard     RELEVANT with LOW confidence: let through
    grade     ungraded: the chunk is kept
    rewrite   the query unchanged
    answer    None: the node replies with a fixed text

This is the only layer that retries; models are built without retries of their own.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, cast

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig

from agent.models.failures import UnusableReplyError
from agent.models.replies import FORMS, read_answer, read_verdict
from agent.models.requests import request
from agent.models.structured import StructuredMethod, StructuredOutput
from agent.state import (
    Attempt,
    Chunk,
    Classification,
    Confidence,
    FailureReason,
    Grade,
    Role,
    TopicVerdict,
)
from agent.steps import Call, Steps

T = TypeVar("T")

RETRIES: Final = 1
"""Further calls after a failed one, for one judgement. Chosen by us: a second failure rarely heals
within the time a customer waits."""
MAX_WAIT_SECONDS: Final = 5.0
"""Longest wait before a retry, whatever a rate limit's Retry-After asks for. Chosen by us."""
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
) -> int:
    """Return the most model calls that one turn can make, whatever fails.

    The longest turn judges 1 enhancement, 1 topic, k chunks in each of m + 1 retrievals,
    m rewrites and 1 answer; each judgement makes at most 1 + `RETRIES` calls:
    (1 + RETRIES) * (has_history + has_topic_check + k * (m + 1) + m + 1).

    Args:
        max_rewrites: The bound m, 0 or more.
        chunks_per_retrieval: k, the chunks that one retrieval returns at most.
        has_history: Whether earlier turns exist; a first turn makes no enhancement call.
        has_topic_check: Whether the graph has its guardrail.
    """
    grades = chunks_per_retrieval * (max_rewrites + 1)
    return (1 + RETRIES) * (has_history + has_topic_check + grades + max_rewrites + 1)


class SupportModel:
    """Does the five jobs with one chat model, or with another one for some of the roles."""

    def __init__(
        self,
        model: BaseChatModel,
        *,
        by_role: Mapping[Role, BaseChatModel] | None = None,
        subjects: str = DEFAULT_SUBJECTS,
        structured_method: StructuredMethod = "auto",
    ) -> None:
        """Probe how each model is asked for verdicts.

        Args:
            model: Does every role that `by_role` does not name.
            by_role: Other models for some roles, for example a cheaper one for `grade`.
            subjects: What the documents are about, in words, for the topic check.
            structured_method: How schemas reach the model.
        """
        self.subjects = subjects
        self._default = StructuredOutput(model, structured_method)
        self._by_role = {
            role: StructuredOutput(other, structured_method)
            for role, other in (by_role or {}).items()
        }

    def structured_method(self, role: Role) -> StructuredMethod:
        """Return how the role's verdicts are asked for now; `prompt` when only words work."""
        return self._output(role).method

    def enhance(self, history: Sequence[AnyMessage], question: str) -> Steps[Judgement[str]]:
        """Make a follow-up question standalone; falls back to the question as it is."""
        said = [
            {"role": "user" if isinstance(m, HumanMessage) else "assistant", "text": str(m.text)}
            for m in history
        ]
        data = {"history": said, "question": question}
        return (yield from self._judge("enhance", data, lambda v: v["question"], question))

    def check_topic(self, question: str) -> Steps[Judgement[TopicVerdict]]:
        """Judge whether the question is in scope; falls back to RELEVANT with LOW confidence."""
        let_through: TopicVerdict = {"classification": "RELEVANT", "confidence": "LOW"}
        return (yield from self._judge("guard", {"question": question}, _topic, let_through))

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
        """Make the call, and once more after a failure that may pass; then fall back."""
        output = self._output(role)
        messages = request(role, data, subjects=self.subjects)
        target, rejected = output.target(role), ""
        for _ in range(1 + RETRIES):
            (result,) = yield [Call(target=target, value=messages, is_model_call=True)]
            if rejected and not isinstance(result, Exception):
                output.give_up(rejected)
            try:
                return Judgement(value=read(result))
            except UnusableReplyError as error:
                failure = error
            _LOG.info("the model's %s reply is unusable: %s", role, failure)
            if failure.is_schema_rejected and target is not output.model:
                target, rejected = output.model, failure.detail
            elif failure.is_final:
                break
            elif failure.wait_seconds:
                target = AfterWait(target, min(failure.wait_seconds, MAX_WAIT_SECONDS))
        _LOG.warning("no usable %s reply, the role's fallback is used: %s", role, failure)
        return Judgement(value=fallback, failure=failure.reason)

    def _output(self, role: Role) -> StructuredOutput:
        return self._by_role.get(role, self._default)


class AfterWait(Runnable[Any, Any]):
    """Another runnable, called after a wait: what a rate limit asks for."""

    def __init__(self, target: Runnable[Any, Any], seconds: float) -> None:
        self.target = target
        self.seconds = seconds

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Wait in this thread, then call the target."""
        time.sleep(self.seconds)
        return self.target.invoke(input, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Wait without blocking the loop, then call the target."""
        await asyncio.sleep(self.seconds)
        return await self.target.ainvoke(input, config)


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
