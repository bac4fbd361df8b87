from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelInvalidRequestError,
    ModelRateLimitError,
    ModelRefusalError,
    ModelTimeoutError,
    OutputParserException,
)

from agent.errors import AgentError, ModelRequestError
from agent.models.failures import from_exception
from agent.state import FailureReason


def sdk_error(name: str = "APIError", message: str = "no", **attributes: Any) -> Exception:
    """An exception of a provider's SDK that LangChain does not know."""
    error = type(name, (Exception,), {})(message)
    for key, value in attributes.items():
        setattr(error, key, value)
    return error


def response(status: int, **headers: str) -> SimpleNamespace:
    return SimpleNamespace(status_code=status, headers=headers)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(ModelRefusalError(), "refused", id="langchain-refusal"),
        pytest.param(sdk_error("ContentFilterFinishReasonError"), "refused", id="openai-filter"),
        pytest.param(
            sdk_error(status_code=400, code="content_filter"), "refused", id="filter-by-code"
        ),
        pytest.param(
            sdk_error(
                status_code=400, body={"innererror": {"code": "ResponsibleAIPolicyViolation"}}
            ),
            "refused",
            id="azure-filter-by-body",
        ),
        pytest.param(
            sdk_error(message="Output blocked by content filtering policy", status_code=400),
            "refused",
            id="anthropic-filter-by-message",
        ),
        pytest.param(
            sdk_error(message="the word content_filter", status_code=500),
            "error",
            id="a-server-error-is-no-refusal",
        ),
        pytest.param(sdk_error("LengthFinishReasonError"), "truncated", id="openai-length"),
        pytest.param(ModelRateLimitError(), "rate_limit", id="langchain-rate-limit"),
        pytest.param(sdk_error("RateLimitError"), "rate_limit", id="rate-limit-by-name"),
        pytest.param(sdk_error(status_code=429), "rate_limit", id="429"),
        pytest.param(sdk_error(response=response(429)), "rate_limit", id="429-of-the-response"),
        pytest.param(sdk_error(code=429), "rate_limit", id="google-429"),
        pytest.param(
            sdk_error(response={"ResponseMetadata": {"HTTPStatusCode": 429}}),
            "rate_limit",
            id="botocore-429",
        ),
        pytest.param(ModelTimeoutError(), "timeout", id="langchain-timeout"),
        pytest.param(TimeoutError(), "timeout", id="builtin-timeout"),
        pytest.param(sdk_error("ReadTimeout"), "timeout", id="timeout-by-name"),
        pytest.param(sdk_error(status_code=408), "timeout", id="408"),
        pytest.param(sdk_error(status_code=504), "timeout", id="504"),
        pytest.param(OutputParserException("x"), "unparsed", id="output-parser"),
        pytest.param(ModelConnectionError(), "error", id="connection"),
        pytest.param(KeyError("choices"), "error", id="anything-else"),
    ],
)
def test_reason(error: Exception, expected: FailureReason) -> None:
    assert from_exception(error).reason == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(ModelRefusalError(), True, id="refusal"),
        pytest.param(ModelAuthenticationError(), True, id="wrong-key"),
        pytest.param(ModelInvalidRequestError(), True, id="invalid-request"),
        pytest.param(ContextOverflowError(), True, id="too-long"),
        pytest.param(sdk_error(status_code=403), True, id="forbidden-by-status"),
        pytest.param(sdk_error(status_code=429), False, id="rate-limit"),
        pytest.param(sdk_error(status_code=408), False, id="request-timeout"),
        pytest.param(ModelAPIError(), False, id="server-error"),
        pytest.param(sdk_error(status_code=500), False, id="server-error-by-status"),
        pytest.param(ConnectionResetError(), False, id="connection-reset"),
    ],
)
def test_what_cannot_succeed_is_final(error: Exception, expected: bool) -> None:
    assert from_exception(error).is_final == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(sdk_error(status_code=400), True, id="bad-request"),
        pytest.param(sdk_error(status_code=422), True, id="unprocessable"),
        pytest.param(NotImplementedError(), True, id="not-implemented"),
        pytest.param(sdk_error(status_code=400, code="content_filter"), False, id="filter"),
        pytest.param(sdk_error(status_code=401), False, id="wrong-key"),
        pytest.param(sdk_error(status_code=500), False, id="server-error"),
        pytest.param(
            type("TooLong", (ContextOverflowError,), {"status_code": 400})(), False, id="too-long"
        ),
    ],
)
def test_a_rejected_schema_is_told_from_other_errors(error: Exception, expected: bool) -> None:
    assert from_exception(error).is_schema_rejected == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(sdk_error(response=response(429, **{"retry-after": "2"})), 2.0, id="seconds"),
        pytest.param(sdk_error(response=response(429, **{"retry-after": "-1"})), 0.0, id="past"),
        pytest.param(sdk_error(response=response(429, **{"retry-after": "soon"})), 0.0, id="words"),
        pytest.param(sdk_error(response=response(429)), 0.0, id="no-header"),
        pytest.param(sdk_error(response=response(503, **{"retry-after": "2"})), 0.0, id="not-429"),
        pytest.param(ModelRateLimitError(), 0.0, id="no-response"),
    ],
)
def test_the_wait_is_what_a_rate_limit_asks_for(error: Exception, expected: float) -> None:
    assert from_exception(error).wait_seconds == expected


def test_our_own_errors_are_no_failures_of_a_model() -> None:
    error = ModelRequestError("local", "got no human message")

    with pytest.raises(AgentError) as raised:
        from_exception(error)

    assert raised.value is error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(
            sdk_error(status_code=400, code="unsupported_value", param="temperature"),
            "APIError, status 400, code unsupported_value, param temperature",
            id="type-status-and-codes",
        ),
        pytest.param(
            sdk_error(message="cannot judge 'my name is Ann'", code="my name is Ann"),
            "APIError",
            id="never-a-message",
        ),
    ],
)
def test_the_detail_for_the_log_holds_no_text(error: Exception, expected: str) -> None:
    assert from_exception(error).detail == expected
