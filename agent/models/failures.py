"""Why a model's reply cannot be used: exceptions and finish reasons of all providers, in our words.

Providers differ in how they say it; the official classes of LangChain come first, then the HTTP
status and the class name of the provider's SDK, so that a provider needs no code of its own here.
"""

from __future__ import annotations

import re
from typing import Any, Final

from langchain_core.exceptions import (
    ContextOverflowError,
    ModelError,
    ModelRateLimitError,
    ModelRefusalError,
    ModelTimeoutError,
    OutputParserException,
)
from langchain_core.messages import AIMessage

from agent.errors import AgentError
from agent.state import FailureReason

TRUNCATED: Final = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"}
)
"""Finish reasons that mean the reply was cut: OpenAI, Ollama, Anthropic, Gemini, Mistral."""
REFUSED: Final = frozenset(
    {
        "content_filter", "content_filtered", "refusal", "safety", "guardrail_intervened",
        "prohibited_content", "blocklist", "spii", "recitation",
    }
)  # fmt: skip
"""Finish reasons that mean the model or a filter declined: OpenAI, Anthropic, Bedrock, Gemini."""
SCHEMA_REJECTED: Final = frozenset({400, 404, 405, 415, 422, 501})
"""HTTP statuses with which servers answer a request that uses a schema they do not support."""
_FILTER_WORDS = re.compile(r"content.?filter|content.?policy|content.?management|responsible.?ai")


class UnusableReplyError(Exception):
    """A model call that gave no verdict. Never leaves `agent.models`: callers get its reason."""

    def __init__(
        self,
        reason: FailureReason,
        detail: str,
        *,
        is_final: bool = False,
        is_schema_rejected: bool = False,
        wait_seconds: float = 0.0,
    ) -> None:
        self.reason: FailureReason = reason
        self.detail = detail
        """For the log: types, codes and statuses; never text of a question or a reply."""
        self.is_final = is_final
        """The same request cannot succeed: it is not made again."""
        self.is_schema_rejected = is_schema_rejected
        """The request was refused as malformed: it may succeed without a schema."""
        self.wait_seconds = wait_seconds
        """How long the server asks us to wait before the next request; 0 when it does not say."""
        super().__init__(f"{reason}: {detail}")


def from_exception(error: Exception) -> UnusableReplyError:
    """Return what a failed call means for a judgement.

    Raises:
        AgentError: `error` is one of our own: a configuration error is no model failure.
    """
    if isinstance(error, AgentError):
        raise error
    status = _status(error)
    reason = _reason(error, status)
    is_client_error = status is not None and 400 <= status < 500
    is_permanent = is_client_error or (isinstance(error, ModelError) and not error.is_retryable)
    is_schema_rejected = status in SCHEMA_REJECTED or isinstance(error, NotImplementedError)
    return UnusableReplyError(
        reason,
        _detail(error, status),
        is_final=reason == "refused" or (reason == "error" and is_permanent),
        is_schema_rejected=reason == "error"
        and is_schema_rejected
        and not isinstance(error, ContextOverflowError),
        wait_seconds=_retry_after(error) if reason == "rate_limit" else 0.0,
    )


def check_finish(message: AIMessage) -> None:
    """Look at how the reply ended, before anyone looks at its content.

    Raises:
        UnusableReplyError: It was cut (`truncated`) or declined (`refused`).
    """
    ended = _finish_reasons(message.response_metadata)
    if cut := ended & TRUNCATED:
        raise UnusableReplyError("truncated", f"finish reason {min(cut)}")
    declined = ended & REFUSED
    if message.additional_kwargs.get("refusal") or _has_refusal_block(message):
        declined = declined | {"refusal"}
    if declined:
        raise UnusableReplyError("refused", f"finish reason {min(declined)}", is_final=True)


def _finish_reasons(metadata: dict[str, Any]) -> frozenset[str]:
    """Return every finish reason in a reply's metadata, in lower case and without enum class."""
    details = metadata.get("incomplete_details")
    found = [
        *(metadata.get(k) for k in ("finish_reason", "stop_reason", "stopReason", "done_reason")),
        details.get("reason") if isinstance(details, dict) else None,
    ]
    return frozenset(str(value).rsplit(".", 1)[-1].casefold() for value in found if value)


def _has_refusal_block(message: AIMessage) -> bool:
    return isinstance(message.content, list) and any(
        isinstance(block, dict) and block.get("type") == "refusal" for block in message.content
    )


def _reason(error: Exception, status: int | None) -> FailureReason:
    names = {cls.__name__ for cls in type(error).__mro__}
    if isinstance(error, ModelRefusalError) or "ContentFilterFinishReasonError" in names:
        return "refused"
    if status in {400, 403} and _names_a_filter(error):
        return "refused"
    if "LengthFinishReasonError" in names:
        return "truncated"
    if isinstance(error, ModelRateLimitError) or status == 429 or _any(names, "RateLimit"):
        return "rate_limit"
    if isinstance(error, (ModelTimeoutError, TimeoutError)) or status in {408, 504}:
        return "timeout"
    if _any(names, "Timeout"):
        return "timeout"
    return "unparsed" if isinstance(error, OutputParserException) else "error"


def _names_a_filter(error: Exception) -> bool:
    said = (error, getattr(error, "code", ""), getattr(error, "body", ""))
    return _FILTER_WORDS.search(" ".join(map(str, said)).casefold()) is not None


def _any(names: set[str], part: str) -> bool:
    return any(part in name for name in names)


def _status(error: Exception) -> int | None:
    """Return the HTTP status an SDK's exception carries, wherever it keeps it."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):  # botocore
        response = response.get("ResponseMetadata", {})
        candidates = [response.get("HTTPStatusCode")]
    else:
        candidates = [
            getattr(error, "status_code", None),
            getattr(response, "status_code", None),
            getattr(error, "code", None),
        ]
    return next((value for value in candidates if isinstance(value, int)), None)


def _retry_after(error: Exception) -> float:
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        return max(0.0, float(headers.get("retry-after", 0)))
    except ValueError:  # a date
        return 0.0


def _detail(error: Exception, status: int | None) -> str:
    parts = [type(error).__name__]
    if status is not None:
        parts.append(f"status {status}")
    parts += [
        f"{name} {value}"
        for name in ("code", "param")
        if isinstance(value := getattr(error, name, None), str) and value.isidentifier()
    ]
    return ", ".join(parts)
