"""What one turn of the graph knows: JSON-like built-ins and LangChain messages, nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypedDict, get_args

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

Classification = Literal["RELEVANT", "IRRELEVANT"]
Confidence = Literal["HIGH", "MEDIUM", "LOW"]
Grade = Literal["pass", "fail", "ungraded"]
"""`ungraded`: the grader failed, so the chunk was kept without a verdict."""
Role = Literal[
    "enhance", "guard", "clarify", "grade", "rewrite", "answer", "critique", "revise",
]  # fmt: skip
"""The jobs a model does in the graph; the same words as telemetry's roles."""
FailureReason = Literal[
    "none", "unparsed", "ambiguous", "refused", "truncated", "timeout", "rate_limit", "error"
]
"""Why a model's reply could not be used."""
Outcome = Literal[
    "answered", "no_results", "off_topic", "clarify", "gave_up", "recursion_limit", "error",
    "cancelled",
]  # fmt: skip
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

HISTORY_MESSAGES = 20
"""Messages kept from earlier turns (10 questions and replies); chosen by us to bound the prompt."""


class Chunk(TypedDict):
    """A retrieved piece of a document. `score` is finite; None when the retriever gives none."""

    id: str
    text: str
    score: float | None


class GradedChunk(TypedDict):
    """What is kept of a chunk once it was graded: never its text."""

    id: str
    score: float | None
    grade: Grade


class Critique(TypedDict):
    """What a critic says of a draft: a score from 0 to 1, and a note on what to change."""

    score: float
    note: str


class Attempt(TypedDict):
    """One retrieval: the query asked, and the chunks found in rank order."""

    query: str
    chunks: list[GradedChunk]


class TopicVerdict(TypedDict):
    """The guardrail's judgement of the standalone question."""

    classification: Classification
    confidence: Confidence


class JudgementFailure(TypedDict):
    """A model reply that was not a verdict; the role's declared fallback was used instead."""

    role: Role
    reason: FailureReason


def exchange(question: str, reply: str, outcome: Outcome) -> list[AnyMessage]:
    """Return what a turn adds to the history; the reply is marked with how the turn ended."""
    return [HumanMessage(question), AIMessage(reply, additional_kwargs={"outcome": outcome})]


def was_asked_back(history: Sequence[AnyMessage]) -> bool:
    """Whether the history ends with a clarifying question, to which what comes next replies."""
    return bool(history) and history[-1].additional_kwargs.get("outcome") == "clarify"


def keep_recent(left: list[AnyMessage], right: list[AnyMessage]) -> list[AnyMessage]:
    """Append messages to the history and keep the last `HISTORY_MESSAGES` of them."""
    return [*left, *right][-HISTORY_MESSAGES:]


class SupportState(TypedDict, total=False):
    """The graph's state. Everything but `messages` is reset by `enhance_query` in every turn."""

    messages: Annotated[list[AnyMessage], keep_recent]
    question: str
    standalone: str
    asked_back: bool
    """Whether the turn before asked a clarifying question, so that this one must not."""
    query: str
    topic: TopicVerdict | None
    chunks: list[Chunk]
    is_fallback: bool
    """Whether the chunks are those of the second source."""
    fallback_failed: bool
    attempts: list[Attempt]
    rewrites: int
    max_rewrites: int
    llm_calls: int
    retrievals: int
    judgement_failures: list[JudgementFailure]
    outcome: Outcome | None
    reason: str | None
    reply: str
    citations: list[str]
