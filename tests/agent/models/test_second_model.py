"""A second model is asked where the first one gives no usable reply, and the calls stay bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from langchain_core.language_models.chat_models import BaseChatModel
from openai_server import OpenAIServer, Reply, content, error, hangs, no_choices, resets
from pydantic import SecretStr

from agent.models.build import ModelSettings, build_model
from agent.models.support import REST_SECONDS, SupportModel, maximum_model_calls
from agent.state import Chunk
from agent.steps import Steps

CHUNK: Chunk = {"id": "refunds", "text": "Refunds are paid within 14 days.", "score": 0.4}
YES, NO = content('{"relevant": "yes"}'), content('{"relevant": "no"}')
Run = Callable[[Steps[Any]], tuple[Any, int]]


@cache
def model(base_url: str) -> BaseChatModel:
    settings = ModelSettings(base_url=base_url, api_key=SecretStr("test"), timeout_seconds=0.3)
    return build_model("openai:gpt-x", in_process={}, settings=settings)


@pytest.fixture
def second_server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        server.plays(YES)
        yield server


@pytest.fixture
def both(openai_server: OpenAIServer, second_server: OpenAIServer) -> SupportModel:
    return SupportModel(
        model(openai_server.base_url),
        second=model(second_server.base_url),
        structured_method="prompt",
    )


@pytest.mark.parametrize(
    ("first", "calls_of_first"),
    [
        pytest.param(error(500), 2, id="server-error"),
        pytest.param(error(401), 1, id="a-key-that-is-not-valid-is-not-tried-twice"),
        pytest.param(error(429), 2, id="rate-limit"),
        pytest.param(hangs, 2, id="no-reply"),
        pytest.param(resets, 2, id="connection-reset"),
        pytest.param(no_choices, 2, id="no-choices"),
        pytest.param(content("perhaps"), 2, id="no-verdict"),
        pytest.param(content('{"relev', finish="length"), 2, id="cut"),
    ],
)
def test_the_second_model_judges_where_the_first_one_fails(
    openai_server: OpenAIServer,
    second_server: OpenAIServer,
    both: SupportModel,
    run: Run,
    first: Reply,
    calls_of_first: int,
) -> None:
    openai_server.plays(first)

    judged, calls = run(both.grade("How long do refunds take?", CHUNK))

    assert (judged.value, judged.failure) == ("pass", None)
    assert len(openai_server.requests) == calls_of_first
    assert (len(second_server.requests), calls) == (1, calls_of_first + 1)


def test_a_refusal_is_not_taken_to_another_model(
    openai_server: OpenAIServer, second_server: OpenAIServer, both: SupportModel, run: Run
) -> None:
    openai_server.plays(content(None, refusal="I can't."))

    judged, _ = run(both.grade("q", CHUNK))

    assert (judged.value, judged.failure) == ("ungraded", "refused")
    assert second_server.requests == []


def test_when_both_fail_the_fallback_says_why_the_last_one_did(
    openai_server: OpenAIServer, second_server: OpenAIServer, both: SupportModel, run: Run
) -> None:
    openai_server.plays(error(500))
    second_server.plays(error(429))

    judged, calls = run(both.grade("q", CHUNK))

    assert (judged.value, judged.failure, calls) == ("ungraded", "rate_limit", 3)


def test_a_model_that_was_given_up_rests_and_is_asked_again_later(
    openai_server: OpenAIServer,
    second_server: OpenAIServer,
    both: SupportModel,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr("agent.models.support.time.monotonic", lambda: now[0])
    openai_server.plays(error(500))

    seen = []
    for seconds in (0.0, REST_SECONDS / 2, REST_SECONDS):
        now[0] = 100.0 + seconds
        run(both.grade("q", CHUNK))
        seen.append((len(openai_server.requests), len(second_server.requests)))

    assert seen == [(2, 1), (2, 2), (4, 3)]


def test_a_resting_model_is_asked_when_the_second_one_fails(
    openai_server: OpenAIServer, second_server: OpenAIServer, both: SupportModel, run: Run
) -> None:
    openai_server.plays(error(500), error(500), NO)
    run(both.grade("q", CHUNK))
    second_server.plays(error(500))

    judged, calls = run(both.grade("q", CHUNK))

    assert (judged.value, calls) == ("fail", 3)


def test_no_judgement_makes_more_calls_than_the_stated_maximum(
    openai_server: OpenAIServer, second_server: OpenAIServer, both: SupportModel, run: Run
) -> None:
    openai_server.plays(error(500))
    second_server.plays(error(500))
    most = maximum_model_calls(
        0, 0, has_history=False, has_topic_check=False, has_second_model=True
    )

    calls = [run(both.answer("q", [CHUNK]))[1] for _ in range(3)]

    assert calls == [most] * 3
