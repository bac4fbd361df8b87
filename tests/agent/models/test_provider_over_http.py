"""`provider:model` over real HTTP: what a judgement is, and how many requests the server saw."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.retrievers import BaseRetriever
from openai_server import (
    Body,
    OpenAIServer,
    Reply,
    content,
    error,
    hangs,
    no_choices,
    obeys_schema,
    raw,
    rejects_schema,
    resets,
    tool_call,
)
from pydantic import SecretStr

from agent.context import AgentContext
from agent.graph import build_graph
from agent.models.asking import AfterWait
from agent.models.build import ModelSettings, build_model
from agent.models.structured import StructuredMethod
from agent.models.support import SupportModel, maximum_model_calls
from agent.service import SupportAgent
from agent.state import Chunk, FailureReason
from agent.steps import Steps

QUESTION = "How long do refunds take?"
CHUNK: Chunk = {"id": "refunds", "text": "Refunds are paid within 14 days.", "score": 0.4}
YES = content('{"relevant": "yes"}')
Run = Callable[[Steps[Any]], tuple[Any, int]]


@cache  # its TLS set-up is slow
def openai_model(base_url: str) -> BaseChatModel:
    settings = ModelSettings(base_url=base_url, api_key=SecretStr("test"), timeout_seconds=0.3)
    return build_model("openai:gpt-x", in_process={}, settings=settings)


def support(server: OpenAIServer, method: StructuredMethod = "auto") -> SupportModel:
    return SupportModel(openai_model(server.base_url), structured_method=method)


class TwoChunks(BaseRetriever):
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [Document(id=id_, page_content=f"About {id_}.") for id_ in ("refunds", "sla")]


def agent(server: OpenAIServer, method: StructuredMethod = "auto") -> SupportAgent:
    context = AgentContext(model=support(server, method), retriever=TwoChunks(), max_rewrites=2)
    return SupportAgent(graph=build_graph(), context=context)


def asked_for(body: Body) -> str:
    return str(json.loads(body["messages"][-1]["content"])["task"])


def by_task(replies: dict[str, Reply]) -> Reply:
    """The reply of the task that a request asks for."""
    return lambda handler, body: replies[asked_for(body)](handler, body)


@pytest.mark.parametrize(
    ("method", "field"),
    [
        pytest.param("auto", "response_format", id="the-provider's-own-choice-is-a-json-schema"),
        pytest.param("json_schema", "response_format", id="json-schema"),
        pytest.param("function_calling", "tools", id="function-calling"),
        pytest.param("prompt", None, id="words-alone-send-no-schema"),
    ],
)
def test_every_structured_method_gives_the_verdict(
    openai_server: OpenAIServer, run: Run, method: StructuredMethod, field: str | None
) -> None:
    openai_server.plays(obeys_schema({"classification": "IRRELEVANT", "confidence": "MEDIUM"}))

    judged, calls = run(support(openai_server, method).check_topic("Will it rain?"))

    assert judged.value == {"classification": "IRRELEVANT", "confidence": "MEDIUM"}
    assert judged.failure is None
    assert calls == len(openai_server.requests) == 1
    (body,) = openai_server.requests
    assert {"tools", "response_format"} & body.keys() == ({field} if field else set())
    assert body["temperature"] == 0


@pytest.mark.parametrize("method", ["json_schema", "function_calling", "prompt"])
@pytest.mark.parametrize(
    ("reply", "reason", "requests"),
    [
        pytest.param(content(None), "none", 2, id="no-content"),
        pytest.param(content('{"relevant": "yes"'), "unparsed", 2, id="cut-object"),
        pytest.param(content('{"relevant": "maybe"}'), "unparsed", 2, id="another-value"),
        pytest.param(content('{"relevant": "yes"}', finish="length"), "truncated", 2, id="length"),
        pytest.param(
            content('{"relevant": "no"} {"relevant": "yes"}'), "ambiguous", 2, id="disagreement"
        ),
        pytest.param(content(None, refusal="I can't."), "refused", 1, id="refusal-field"),
        pytest.param(content("", finish="content_filter"), "refused", 1, id="filtered-reply"),
        pytest.param(error(400, "content_filter"), "refused", 1, id="filtered-request"),
        pytest.param(error(429), "rate_limit", 2, id="rate-limit"),
        pytest.param(error(500), "error", 2, id="server-error"),
        pytest.param(error(503), "error", 2, id="overloaded"),
        pytest.param(error(504), "timeout", 2, id="gateway-timeout"),
        pytest.param(error(401), "error", 1, id="wrong-key-is-not-tried-twice"),
        pytest.param(hangs, "timeout", 2, id="no-reply"),
        pytest.param(resets, "error", 2, id="connection-reset"),
        pytest.param(raw(b"{not json"), "error", 2, id="invalid-body"),
        pytest.param(raw(b"null"), "error", 2, id="null-body"),
        pytest.param(no_choices, "error", 2, id="no-choices"),
    ],
)
def test_a_failed_grade_keeps_the_chunk(
    openai_server: OpenAIServer,
    run: Run,
    method: StructuredMethod,
    reply: Reply,
    reason: FailureReason,
    requests: int,
) -> None:
    openai_server.plays(reply)

    judged, calls = run(support(openai_server, method).grade(QUESTION, CHUNK))

    assert (judged.value, judged.failure) == ("ungraded", reason)
    assert calls == len(openai_server.requests) == requests


@pytest.mark.parametrize(
    ("method", "reply", "expected"),
    [
        pytest.param("json_schema", content("It does."), "none", id="prose-for-a-schema"),
        pytest.param("function_calling", content("It does."), "none", id="prose-for-a-tool"),
        pytest.param("prompt", content("It does."), "unparsed", id="prose-for-words"),
        pytest.param("function_calling", tool_call('{"relevant": "yes"'), "none", id="cut-call"),
        pytest.param("function_calling", tool_call("{}"), "unparsed", id="call-without-field"),
        pytest.param(
            "function_calling",
            tool_call('{"relevant": "yes"}', finish="length"),
            "truncated",
            id="a-whole-call-in-a-truncated-reply",
        ),
    ],
)
def test_a_reply_that_ignores_the_schema_is_no_verdict(
    openai_server: OpenAIServer,
    run: Run,
    method: StructuredMethod,
    reply: Reply,
    expected: FailureReason,
) -> None:
    openai_server.plays(reply)

    judged, _ = run(support(openai_server, method).grade(QUESTION, CHUNK))

    assert (judged.value, judged.failure) == ("ungraded", expected)


@pytest.mark.parametrize("method", ["json_schema", "function_calling", "prompt"])
@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"relevant": "no"}', id="json-instead-of-a-call"),
        pytest.param('<think>{"relevant": "yes"}</think>\n{"relevant": "no"}', id="think-block"),
        pytest.param('Sure! ```json\n{"relevant": "No."}\n```', id="preface-and-fence"),
        pytest.param('{"name": "chunk_grade", "arguments": {"relevant": "no"}}', id="call-as-text"),
        pytest.param("No - it is about another matter.", id="the-bare-word"),
    ],
)
def test_a_verdict_in_the_text_is_not_lost(
    openai_server: OpenAIServer, method: StructuredMethod, text: str, run: Run
) -> None:
    openai_server.plays(content(text))

    judged, calls = run(support(openai_server, method).grade(QUESTION, CHUNK))

    assert (judged.value, judged.failure, calls) == ("fail", None, 1)


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(error(500), id="server-error"),
        pytest.param(error(429), id="rate-limit"),
        pytest.param(content(None), id="no-content"),
        pytest.param(hangs, id="no-reply"),
    ],
)
def test_a_failure_that_passes_leaves_no_trace_in_the_judgement(
    openai_server: OpenAIServer, run: Run, first: Reply
) -> None:
    openai_server.plays(first, YES)

    judged, calls = run(support(openai_server).grade(QUESTION, CHUNK))

    assert (judged.value, judged.failure) == ("pass", None)
    assert calls == len(openai_server.requests) == 2


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param("0.25", 0.25, id="as-asked"),
        pytest.param("3600", 5.0, id="at-most-five-seconds"),
        pytest.param("Wed, 21 Oct 2026 07:28:00 GMT", None, id="a-date-is-not-waited-for"),
        pytest.param(None, None, id="not-asked"),
    ],
)
def test_the_retry_waits_as_the_rate_limit_asks(
    openai_server: OpenAIServer, asked: str | None, expected: float | None
) -> None:
    openai_server.plays(error(429, **({"Retry_After": asked} if asked else {})))
    steps = support(openai_server).grade(QUESTION, CHUNK)
    (first,) = next(steps)

    (second,) = steps.send([first.make(None)])

    waits = second.target.seconds if isinstance(second.target, AfterWait) else None
    assert waits == expected


def test_a_wait_ends_in_the_call(openai_server: OpenAIServer, run: Run) -> None:
    openai_server.plays(error(429, Retry_After="0.01"), YES)

    judged, calls = run(support(openai_server).grade(QUESTION, CHUNK))

    assert (judged.value, calls) == ("pass", 2)


def test_a_server_without_schemas_is_asked_in_words_from_then_on(
    openai_server: OpenAIServer, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    openai_server.plays(rejects_schema(otherwise=YES))
    model = support(openai_server)

    results = [run(model.grade(QUESTION, CHUNK)) for _ in range(3)]

    assert [(judged.value, calls) for judged, calls in results] == [("pass", c) for c in (2, 1, 1)]
    assert ["response_format" in body for body in openai_server.requests] == [True, *[False] * 3]
    assert model.structured_method("grade") == "prompt"
    assert [record.levelno for record in caplog.records].count(logging.WARNING) == 1
    assert "ChatOpenAI gives no structured output (OpenAIInvalidRequestError, status 400)" in (
        caplog.text
    )


def test_a_request_that_is_wrong_in_any_form_does_not_switch_the_method(
    openai_server: OpenAIServer, run: Run
) -> None:
    openai_server.plays(error(400, "unsupported_value"))
    by_schema, in_words = support(openai_server), support(openai_server, "prompt")

    (judged, calls), (again, calls_in_words) = (
        run(model.grade(QUESTION, CHUNK)) for model in (by_schema, in_words)
    )

    assert (judged.failure, calls, by_schema.structured_method("grade")) == ("error", 2, "auto")
    assert (again.failure, calls_in_words) == ("error", 1)


@pytest.mark.parametrize(
    ("reply", "text", "failure", "requests"),
    [
        pytest.param(content("In 14 days [refunds]."), "In 14 days [refunds].", None, 1, id="text"),
        pytest.param(
            content("<think>short</think>In 14 days."), "In 14 days.", None, 1, id="think-block"
        ),
        pytest.param(content("In 14", finish="length"), None, "truncated", 2, id="length"),
        pytest.param(content(None, refusal="I can't."), None, "refused", 1, id="refusal"),
        pytest.param(content("In", finish="content_filter"), None, "refused", 1, id="filter"),
        pytest.param(error(400, "content_filter"), None, "refused", 1, id="filtered-request"),
        pytest.param(content(" \n"), None, "none", 2, id="blank"),
        pytest.param(error(429), None, "rate_limit", 2, id="rate-limit"),
        pytest.param(hangs, None, "timeout", 2, id="no-reply"),
    ],
)
def test_an_answer_is_text_or_a_failure(
    openai_server: OpenAIServer,
    run: Run,
    reply: Reply,
    text: str | None,
    failure: FailureReason | None,
    requests: int,
) -> None:
    openai_server.plays(reply)

    judged, calls = run(support(openai_server).answer(QUESTION, [CHUNK]))

    assert (judged.value, judged.failure) == (text, failure)
    assert calls == len(openai_server.requests) == requests


def test_a_rate_limited_grader_never_sends_the_turn_into_the_loop(
    openai_server: OpenAIServer,
) -> None:
    relevant = obeys_schema({"classification": "RELEVANT", "confidence": "HIGH"})
    openai_server.plays(
        by_task({"guard": relevant, "grade": error(429), "answer": content("14 days [refunds].")})
    )

    answer = agent(openai_server).answer(QUESTION)

    assert (answer.outcome, answer.reason) == ("answered", "ungraded_chunk")
    assert answer.rewrites == 0
    assert answer.llm_calls == len(openai_server.requests) == 1 + 2 * 2 + 1
    assert [asked_for(body) for body in openai_server.requests].count("grade") == 2 * 2


def test_a_model_that_refuses_everything_ends_in_a_polite_error(
    openai_server: OpenAIServer,
) -> None:
    openai_server.plays(error(400, "content_filter"))

    answer = agent(openai_server).answer(QUESTION)

    assert (answer.outcome, answer.reason) == ("error", "refused")
    assert answer.topic == {"classification": "RELEVANT", "confidence": "LOW"}
    assert answer.llm_calls == len(openai_server.requests) == 1 + 2 + 1


@pytest.mark.parametrize("method", ["json_schema", "function_calling", "prompt"])
def test_the_costliest_turn_makes_exactly_the_stated_maximum(
    openai_server: OpenAIServer, method: StructuredMethod
) -> None:
    verdicts = {
        "enhance": {"question": QUESTION},
        "guard": {"classification": "RELEVANT", "confidence": "LOW"},
        "rewrite": {"query": "refund days"},
    }
    seen: list[str] = []

    def fails_then_is_unhelpful(handler: Any, body: Body) -> None:
        asked, task = body["messages"][-1]["content"], asked_for(body)
        seen.append(asked)
        is_last_retrieval = sum('"rewrite"' in other for other in seen) == 4
        graded = {"relevant": "yes" if is_last_retrieval else "no"}
        reply = obeys_schema(verdicts.get(task, graded))
        if task == "answer":
            reply = content("In 14 days [refunds].")
        is_retry = seen.count(asked) % 2 == 0
        (reply if is_retry else error(500))(handler, body)

    openai_server.plays(fails_then_is_unhelpful)
    history = [HumanMessage("Hello"), AIMessage("Hello, how can I help?")]

    answer = agent(openai_server, method).answer("And how long?", history=history)

    assert (answer.outcome, answer.rewrites) == ("answered", 2)
    assert answer.llm_calls == len(openai_server.requests) == maximum_model_calls(2, 2) == 22


async def test_only_the_answer_need_be_streamed_and_verdicts_survive_a_stream(
    openai_server: OpenAIServer,
) -> None:
    reply = "Refunds take 14 days [refunds]."
    openai_server.plays(
        by_task(
            {
                "guard": obeys_schema({"classification": "RELEVANT", "confidence": "HIGH"}),
                "grade": obeys_schema({"relevant": "yes"}),
                "answer": content(reply),
            }
        )
    )
    asked = agent(openai_server, "function_calling")

    streamed = [
        (metadata["langgraph_node"], message.text)
        async for message, metadata in asked.graph.astream(
            {"question": QUESTION}, context=asked.context, stream_mode="messages"
        )
    ]

    pieces = [text for node, text in streamed if node == "generate_response" and text]
    assert "".join(pieces).startswith(reply)
    assert len(pieces) > 3
    assert len(openai_server.requests) == 4
