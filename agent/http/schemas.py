"""What callers send and get, as OpenAPI tells it; data only."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from agent.http.turns import Verdict
from agent.memory.thread import MAX_ID_CHARS
from agent.service import MAX_QUESTION_CHARS
from agent.state import Classification, Confidence, Outcome

MAX_COMMENT_CHARS: Final = 1_000
"""Of a comment on an answer; chosen by us: a paragraph."""

ANSWER: Final[dict[str, Any]] = {
    "question": "Which payment methods do you take?",
    "outcome": "answered",
    "reason": "passing_chunk",
    "reply": "We take credit cards, SEPA direct debit and PayPal. [payments]",
    "citations": ["payments"],
    "topic": {"classification": "RELEVANT", "confidence": "HIGH"},
    "rewrites": 0,
    "retrievals": 1,
    "llm_calls": 4,
    "attempts": [
        {
            "query": "Which payment methods do you take?",
            "chunks": [
                {"id": "payments", "score": 0.41, "passed": True},
                {"id": "invoices", "score": 0.12, "passed": False},
            ],
            "similarity": None,
            "synonym_swap": False,
        }
    ],
    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
    "duration_seconds": 0.021,
    "turn_id": "5f0c1a6f2b9e4d3c8a7b6c5d4e3f2a1b",
    "thread_id": "0af7651916cd43dd8448eb211c80319c",
}
STREAM: Final = """event: node
data: {"node":"enhance_query","attempt":0}

event: token
data: {"text":"We take credit cards"}

event: final
data: {"question":"Which payment methods do you take?","outcome":"answered", ...}

"""


def event_stream(example: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the content of a reply of server-sent events, as OpenAPI 3.2 describes each."""
    name = {"type": "string", "enum": list(names)}
    data = {"type": "string", "description": "One JSON object."}
    item = {"type": "object", "required": ["data"], "properties": {"event": name, "data": data}}
    return {"text/event-stream": {"itemSchema": item, "example": example}}


ID_PATTERN: Final = "^[A-Za-z0-9._~:-]+$"
"""Of a thread id, as `agent.memory.thread` checks it."""
ThreadId = Annotated[
    str,
    Field(json_schema_extra={"minLength": 1, "maxLength": MAX_ID_CHARS, "pattern": ID_PATTERN}),
]


class Question(BaseModel):
    """A question."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"question": "Which payment methods do you take?"}]},
    )

    question: str = Field(description=f"1 to {MAX_QUESTION_CHARS:,} characters of text.")
    thread_id: ThreadId | None = Field(
        default=None,
        description="The conversation it belongs to; without one a new conversation begins, whose "
        "id is in the reply.",
    )


class Chunk(BaseModel):
    """A retrieved chunk."""

    id: str
    score: float | None
    passed: bool | None = Field(description="Null for a chunk that was kept ungraded.")


class Attempt(BaseModel):
    """One retrieval."""

    query: str
    chunks: list[Chunk]
    similarity: float | None = Field(description="Of the rewrite to the question.")
    synonym_swap: bool


class Topic(BaseModel):
    """The verdict of the topic check."""

    classification: Classification
    confidence: Confidence


class AskReply(BaseModel):
    """An answer; a turn that failed is one too, and its `outcome` says so."""

    model_config = ConfigDict(json_schema_extra={"examples": [ANSWER]})

    question: str
    outcome: Outcome
    reason: str | None
    reply: str = Field(description="What the user reads; citations stand in it as [chunk id].")
    citations: list[str] = Field(description="Ids of cited chunks that were retrieved.")
    topic: Topic | None
    rewrites: int
    retrievals: int
    llm_calls: int
    attempts: list[Attempt]
    trace_id: str | None = Field(description="32 hex digits; null for a turn without trace.")
    duration_seconds: float
    turn_id: str = Field(description="For feedback; 32 hex digits.")
    thread_id: str = Field(description="For the next question of the conversation.")


class Refusal(BaseModel):
    """Why a request was not served."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "code": "invalid_question",
                    "message": "the question cannot be asked: it is empty; expected 1 to 8,000 "
                    "characters of text. Shorten or retype it and ask again.",
                }
            ]
        }
    )

    code: str = Field(description="The kind of error, for programs.")
    message: str = Field(description="What was got, what was expected, and what to do.")


class Said(BaseModel):
    """What was said once in a conversation."""

    role: Literal["user", "assistant"]
    text: str
    outcome: Outcome | None = Field(description="How the turn ended; null for the user's.")


class Conversation(BaseModel):
    """A conversation: its newest messages, oldest first."""

    thread_id: str
    messages: list[Said]


class Conversations(BaseModel):
    """The caller's conversations, the one that went on last first."""

    conversations: list[str]


class GivenFeedback(BaseModel):
    """What a person says of an answer; name its turn by one of the two ids."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"turn_id": ANSWER["turn_id"], "verdict": "up", "comment": "Thanks!"}]
        },
    )

    verdict: Verdict
    turn_id: str | None = None
    trace_id: str | None = None
    comment: str | None = Field(
        default=None,
        max_length=MAX_COMMENT_CHARS,
        description="Goes to the trace where content capture is on, else nowhere.",
    )


class TakenFeedback(BaseModel):
    """Feedback that was taken; saying the same again changes nothing."""

    turn_id: str
    trace_id: str | None
    verdict: Verdict


class Health(BaseModel):
    """That the process answers."""

    status: Literal["ok"]


class Readiness(BaseModel):
    """That questions can be asked: everything they need is `ok`."""

    status: Literal["ready"]
    checks: dict[str, str]


class Unready(Refusal):
    """That questions cannot be asked, and what is wrong with what they need."""

    checks: dict[str, str]


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the replies of a path that are refusals, for FastAPI."""
    return {status: {"model": Refusal, "description": _MEANING[status]} for status in statuses}


_MEANING: Final = {
    400: "The request cannot be read.",
    401: "A key is needed.",
    403: "A probe without the probe key.",
    404: "No such thing of the caller's.",
    408: "The body did not arrive in time.",
    409: "The question is being answered; `Retry-After` says when to ask for the reply.",
    413: "The body is too large.",
    415: "The body is no JSON.",
    422: "The request is readable, but not one of these.",
    429: "The caller asks too often; `Retry-After` says when to ask again.",
    503: "The service is busy or stopping, or its memory does not answer.",
}
BODY: Final = (400, 401, 403, 408, 413, 415, 422)
"""Refusals of every path that takes a body."""
ASKED: Final = (*BODY, 429, 503)
"""Refusals of every path that takes a question."""
