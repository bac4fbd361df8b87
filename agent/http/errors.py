"""Requests that are refused before a question is asked; part of the tree in `agent/errors.py`.

AgentError
└── RequestError               request              400
    ├── IdempotencyKeyError    idempotency_key      400  a header that holds no key
    ├── UnauthorizedError      unauthorized         401  no key, or one that nobody has
    ├── ProbeRefusedError      probe_refused        403  a probe without the probe key
    ├── NotFoundError          not_found            404  no such path, conversation or turn
    ├── SlowBodyError          slow_body            408  the body did not arrive in time
    ├── StillUnderWayError     still_under_way      409  the first question of a key is not answered
    ├── BodyTooLargeError      body_too_large       413
    ├── MediaTypeError         media_type           415  the body is no JSON
    ├── MessagesError          messages             422  a chat without a question at its end
    ├── FeedbackError          feedback             422  feedback on no turn, or on two
    ├── KeyReusedError         key_reused           422  a key that came with another question
    ├── RateLimitedError       rate_limited         429  the caller asks too often
    └── OverloadedError        overloaded           503  too many turns at once
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from agent.errors import AgentError


class RequestError(AgentError):
    """A request that is not served, and how HTTP says so."""

    code = "request"
    status: ClassVar[int] = 400

    @property
    def headers(self) -> Mapping[str, str]:
        """What the reply has to say in headers too."""
        return {}


class UnauthorizedError(RequestError):
    """No key where one is needed, or one that is not among the callers'; never shows it."""

    code = "unauthorized"
    status = 401

    def __init__(self, got: str) -> None:
        super().__init__(
            f"who asks is not known: got {got}, expected the header `Authorization: Bearer KEY` "
            "with a key of this service. Ask its operator for one."
        )

    @property
    def headers(self) -> Mapping[str, str]:
        """How to say who one is (RFC 6750)."""
        return {"WWW-Authenticate": "Bearer"}


class ProbeRefusedError(RequestError):
    """A probe that may not be kept apart; it is not answered as a user's question either."""

    code = "probe_refused"
    status = 403

    def __init__(self) -> None:
        super().__init__(
            "the probe was not served: got the header `Loopscope-Probe` without the probe key, "
            "expected `Authorization: Bearer KEY` with the LOOPSCOPE_PROBE_KEY of the service. "
            "Set it there and for `loopscope probe`."
        )


class NotFoundError(RequestError):
    """Nothing of that id belongs to the caller; whether another has it is not told."""

    code = "not_found"
    status = 404

    def __init__(self, what: str, expected: str) -> None:
        super().__init__(f"no such {what}: expected {expected}. Correct the id and try again.")


class SlowBodyError(RequestError):
    """A client that does not send what it announced."""

    code = "slow_body"
    status = 408

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"the body did not arrive: got a part of it in {seconds:g} s, expected all. "
            "Send the request again."
        )

    @property
    def headers(self) -> Mapping[str, str]:
        """The rest of the body is not waited for."""
        return {"Connection": "close"}


class BodyTooLargeError(RequestError):
    """A body above the limit; it is not read to its end."""

    code = "body_too_large"
    status = 413

    def __init__(self, got: str, limit: int) -> None:
        super().__init__(
            f"the body is too large: got {got}, expected at most {limit:,} bytes. Shorten the "
            "question or the history, or raise LOOPSCOPE_MAX_BODY_BYTES."
        )

    @property
    def headers(self) -> Mapping[str, str]:
        """The rest of the body is not waited for."""
        return {"Connection": "close"}


class MediaTypeError(RequestError):
    """A body that does not say it is JSON."""

    code = "media_type"
    status = 415

    def __init__(self, got: str) -> None:
        super().__init__(
            f"the body cannot be read: got {got}, expected JSON. Send the header "
            "`Content-Type: application/json`."
        )


class MessagesError(RequestError):
    """A chat in which nobody asks anything that can be read.

    Args:
        got: What stands where the question should be.
    """

    code = "messages"
    status = 422

    def __init__(self, got: str) -> None:
        super().__init__(
            f"the chat holds no question: got {got}, expected one of 'user', all text, at its "
            "end. Put the question there."
        )


class FeedbackError(RequestError):
    """Feedback that does not say what it is about."""

    code = "feedback"
    status = 422

    def __init__(self, ids: int) -> None:
        got = "both turn_id and trace_id" if ids else "neither turn_id nor trace_id"
        super().__init__(
            f"the feedback names no answer: got {got}, expected one of the two. Take it from the "
            "reply that the feedback is about."
        )


class IdempotencyKeyError(RequestError):
    """A header for a key without one in it; never shows it."""

    code = "idempotency_key"

    def __init__(self, max_chars: int) -> None:
        super().__init__(
            "the header Idempotency-Key cannot be read: got other characters or too many, "
            f"expected 1 to {max_chars} visible ASCII characters, in double quotes or bare. Send a "
            "new random UUID for each question, and the same one when the question is sent again."
        )


class KeyReusedError(RequestError):
    """A key that its caller gave another question before."""

    code = "key_reused"
    status = 422

    def __init__(self) -> None:
        super().__init__(
            "the Idempotency-Key was used before: got another body with it, expected the same. "
            "Send a new key with a new question."
        )


class _LaterError(RequestError):
    """A request that may be served when it is sent again."""

    def __init__(self, message: str, retry_seconds: float) -> None:
        self.retry_seconds = max(1, math.ceil(retry_seconds))
        super().__init__(f"{message} Ask again in {self.retry_seconds} s.")

    @property
    def headers(self) -> Mapping[str, str]:
        """When to ask again, in whole seconds."""
        return {"Retry-After": str(self.retry_seconds)}


class RateLimitedError(_LaterError):
    """A caller asks more often than one may."""

    code = "rate_limited"
    status = 429

    def __init__(self, per_minute: int, retry_seconds: float) -> None:
        super().__init__(
            f"asked too often: got more than {per_minute:,} questions a minute, expected at most "
            "that from one caller.",
            retry_seconds,
        )


class OverloadedError(_LaterError):
    """More turns at once than the service takes on."""

    code = "overloaded"
    status = 503

    def __init__(self, turns: int, problem: str, retry_seconds: float) -> None:
        super().__init__(
            f"the service is busy: got {turns:,} turns under way and {problem}, expected a free "
            "place.",
            retry_seconds,
        )


class StillUnderWayError(_LaterError):
    """A question whose first sending is not answered yet."""

    code = "still_under_way"
    status = 409

    def __init__(self) -> None:
        super().__init__(
            "the question is being answered: got its Idempotency-Key a second time meanwhile, "
            "expected it after the reply.",
            1,
        )
