from __future__ import annotations

from typing import Any

import pytest
from langchain_core.exceptions import ModelRefusalError
from langchain_core.messages import AIMessage
from langchain_core.messages.tool import invalid_tool_call
from pydantic import BaseModel

from agent.models.failures import UnusableReplyError
from agent.models.replies import (
    FORMS,
    MAX_ANSWER_CHARS,
    complete_objects,
    read_answer,
    read_verdict,
    without_thinking,
)
from agent.state import FailureReason

GRADE = FORMS["grade"]
GUARD = FORMS["guard"]
REWRITE = FORMS["rewrite"]
YES, NO = '{"relevant": "yes"}', '{"relevant": "no"}'


class Graded(BaseModel):
    relevant: str


def by_schema(message: AIMessage | None, **changes: Any) -> dict[str, Any]:
    """What `with_structured_output(..., include_raw=True)` returns."""
    return {"raw": message, "parsed": None, "parsing_error": None, **changes}


def called(*arguments: dict[str, Any]) -> AIMessage:
    calls = [{"name": "chunk_grade", "args": args, "id": "1"} for args in arguments]
    return AIMessage("", tool_calls=calls)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("Yes", "yes", id="capital"),
        pytest.param(" yes.", "yes", id="blank-and-full-stop"),
        pytest.param("YES", "yes", id="capitals"),
        pytest.param(True, "yes", id="true"),
        pytest.param("yes - it covers resets", "yes", id="explanation-after-a-dash"),
        pytest.param("**Yes**, it does", "yes", id="markdown"),
        pytest.param("Yes\nIt covers resets", "yes", id="explanation-on-the-next-line"),
        pytest.param("true", "yes", id="true-as-text"),
        pytest.param("no", "no", id="no"),
        pytest.param("No.", "no", id="no-with-full-stop"),
        pytest.param(False, "no", id="false"),
        pytest.param("no, but nearly", "no", id="explanation-after-a-comma"),
    ],
)
def test_yes_and_no_are_read_however_they_are_put(value: object, expected: str) -> None:
    assert read_verdict(by_schema(called({"relevant": value})), GRADE) == {"relevant": expected}


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("maybe", id="maybe"),
        pytest.param("", id="empty"),
        pytest.param("yes and no", id="both"),
        pytest.param("yes/no", id="the-form's-own-text"),
        pytest.param("not sure", id="a-word-that-begins-with-no"),
        pytest.param("no-one knows", id="no-as-part-of-a-word"),
        pytest.param("No problem! Here is my verdict", id="a-polite-preface"),
        pytest.param(None, id="null"),
        pytest.param(1, id="number"),
        pytest.param(["yes"], id="list"),
    ],
)
def test_what_is_not_clear_is_no_verdict(value: object) -> None:
    with pytest.raises(UnusableReplyError) as failed:
        read_verdict(by_schema(called({"relevant": value})), GRADE)

    assert failed.value.reason == "unparsed"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"<think>Hm.</think>{NO}", "no", id="think-block-before"),
        pytest.param(f"<think>{YES}</think>\n{NO}", "no", id="draft-in-the-think-block"),
        pytest.param(f"{YES} was my draft.</think>{NO}", "no", id="think-block-without-opening"),
        pytest.param(f"Sure! {YES}", "yes", id="polite-preface"),
        pytest.param(f"```json\n{YES}\n```", "yes", id="fence"),
        pytest.param(f"{NO} That is {NO}", "no", id="said-twice-alike"),
        pytest.param(f'{{"chunk": {{"id": "a"}}}} {NO}', "no", id="other-object-before"),
        pytest.param(f"About {{x}} and {{{{config}}}}: {NO}", "no", id="stray-braces"),
        pytest.param(f'[{{"relevant": "yes", "why": "a {{b}} c"}}, {YES}]', "yes", id="list"),
        pytest.param("Yes, it does.", "yes", id="no-json-at-all"),
    ],
)
def test_the_verdict_is_found_in_the_text(text: str, expected: str) -> None:
    assert read_verdict(AIMessage(text), GRADE) == {"relevant": expected}


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        pytest.param(None, "none", id="no-result"),
        pytest.param(by_schema(None), "none", id="no-message"),
        pytest.param(by_schema(AIMessage("It fits the question.")), "none", id="prose"),
        pytest.param(
            by_schema(
                AIMessage(
                    "",
                    invalid_tool_calls=[
                        invalid_tool_call(name="g", args='{"rel', id="1", error="cut")
                    ],
                )
            ),
            "none",
            id="only-an-invalid-tool-call",
        ),
        pytest.param(AIMessage(""), "none", id="empty"),
        pytest.param(AIMessage("{ " * 10_000 + YES), "unparsed", id="longer-than-any-verdict"),
        pytest.param(AIMessage(f"<think>{YES}</think>"), "none", id="nothing-but-thought"),
        pytest.param(AIMessage(f"<think>{YES}"), "none", id="thought-that-never-ends"),
        pytest.param(AIMessage('{"relevant":"yes"'), "unparsed", id="cut-object"),
        pytest.param(AIMessage('{"relevant":"ye'), "unparsed", id="cut-string"),
        pytest.param(AIMessage(f'{{"result": {YES}'), "unparsed", id="whole-object-in-a-cut-one"),
        pytest.param(AIMessage("{}"), "unparsed", id="empty-object"),
        pytest.param(AIMessage('{"a":' * 5_000), "unparsed", id="nested-without-end"),
        pytest.param(AIMessage("I think it is fine."), "unparsed", id="prose-asked-in-words"),
        pytest.param(by_schema(called({})), "unparsed", id="call-without-fields"),
        pytest.param(AIMessage(f"{NO} {YES}"), "ambiguous", id="no-then-yes"),
        pytest.param(
            by_schema(called({"relevant": "yes"}, {"relevant": "no"})),
            "ambiguous",
            id="two-calls-that-disagree",
        ),
        pytest.param(
            by_schema(None, parsing_error=ModelRefusalError()), "refused", id="refused-in-parsing"
        ),
        pytest.param(TimeoutError(), "timeout", id="exception"),
    ],
)
def test_a_reply_without_a_verdict_says_why(result: object, expected: FailureReason) -> None:
    with pytest.raises(UnusableReplyError) as failed:
        read_verdict(result, GRADE)

    assert failed.value.reason == expected


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({"finish_reason": "length"}, id="openai"),
        pytest.param({"stop_reason": "max_tokens"}, id="anthropic"),
        pytest.param({"stopReason": "max_tokens"}, id="bedrock"),
        pytest.param({"finish_reason": "FinishReason.MAX_TOKENS"}, id="gemini"),
        pytest.param({"done_reason": "length"}, id="ollama"),
        pytest.param(
            {"incomplete_details": {"reason": "max_output_tokens"}}, id="openai-responses"
        ),
    ],
)
def test_a_truncated_reply_is_no_verdict_even_if_it_parses(metadata: dict[str, Any]) -> None:
    message = AIMessage(YES, response_metadata=metadata)

    with pytest.raises(UnusableReplyError) as failed:
        read_verdict(message, GRADE)

    assert failed.value.reason == "truncated"


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(AIMessage(YES, additional_kwargs={"refusal": "I can't"}), id="refusal-field"),
        pytest.param(AIMessage([{"type": "refusal", "refusal": "No"}]), id="refusal-block"),
        pytest.param(AIMessage(YES, response_metadata={"stop_reason": "refusal"}), id="anthropic"),
        pytest.param(AIMessage("", response_metadata={"finish_reason": "SAFETY"}), id="gemini"),
        pytest.param(
            AIMessage("", response_metadata={"stopReason": "guardrail_intervened"}), id="bedrock"
        ),
        pytest.param(
            AIMessage("", response_metadata={"finish_reason": "content_filter"}), id="openai"
        ),
    ],
)
def test_a_refusal_is_neither_verdict_nor_answer(message: AIMessage) -> None:
    for read in (lambda m: read_verdict(m, GRADE), read_answer):
        with pytest.raises(UnusableReplyError) as failed:
            read(message)

        assert (failed.value.reason, failed.value.is_final) == ("refused", True)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(
            {"classification": " relevant", "confidence": "High."},
            {"classification": "RELEVANT", "confidence": "HIGH"},
            id="spelled-another-way",
        ),
        pytest.param(
            {"classification": "IRRELEVANT: weather", "confidence": "LOW", "why": "x"},
            {"classification": "IRRELEVANT", "confidence": "LOW"},
            id="with-an-explanation-and-another-field",
        ),
        pytest.param({"classification": "RELEVANT"}, None, id="confidence-has-no-default"),
        pytest.param({"confidence": "HIGH"}, None, id="classification-has-no-default"),
        pytest.param(
            {"classification": "on topic", "confidence": "HIGH"}, None, id="a-word-of-its-own"
        ),
        pytest.param({"classification": False, "confidence": "HIGH"}, None, id="boolean"),
        pytest.param(["RELEVANT", "HIGH"], None, id="list"),
    ],
)
def test_the_topic_verdict_needs_both_fields(
    found: object, expected: dict[str, str] | None
) -> None:
    assert GUARD.read(found) == expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param({"query": " outage credit "}, {"query": "outage credit"}, id="blanks-go"),
        pytest.param({"query": "what is {x}?"}, {"query": "what is {x}?"}, id="braces-stay"),
        pytest.param({"query": "half \ud800 pair"}, {"query": "half ? pair"}, id="not-unicode"),
        pytest.param({"query": " "}, None, id="blank"),
        pytest.param({"query": True}, None, id="boolean"),
        pytest.param({"query": ["a", "b"]}, None, id="list"),
        pytest.param({"queries": "a"}, None, id="another-field"),
    ],
)
def test_a_query_is_any_text_but_blank(found: object, expected: dict[str, str] | None) -> None:
    assert REWRITE.read(found) == expected


@pytest.mark.parametrize(
    "result",
    [
        pytest.param({"relevant": "yes"}, id="dict"),
        pytest.param(Graded(relevant="yes"), id="pydantic-object"),
        pytest.param(by_schema(AIMessage(YES)), id="json-schema-content"),
        pytest.param(AIMessage([{"type": "text", "text": YES}]), id="content-blocks"),
    ],
)
def test_a_verdict_is_read_from_whatever_a_provider_hands_over(result: object) -> None:
    assert read_verdict(result, GRADE) == {"relevant": "yes"}


def test_the_schema_requires_every_field_and_no_other() -> None:
    assert GUARD.schema() == {
        "title": "topic_verdict",
        "description": "Whether the question is on topic, and how sure that is.",
        "type": "object",
        "properties": {
            "classification": {"type": "string", "enum": ["RELEVANT", "IRRELEVANT"]},
            "confidence": {"type": "string", "enum": ["HIGH", "MEDIUM", "LOW"]},
        },
        "required": ["classification", "confidence"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("plain", "plain", id="none"),
        pytest.param("a<think>b</think>c", "ac", id="in-the-middle"),
        pytest.param("<THINKING>b</Thinking> c", "c", id="any-case"),
        pytest.param("<think>a<think>b</think>c</think>d", "d", id="nested"),
        pytest.param("<think>a</think><reasoning>b</reasoning>c", "c", id="two-blocks"),
        pytest.param("a</think>b", "b", id="opening-tag-missing"),
        pytest.param("<think>a", "", id="closing-tag-missing"),
        pytest.param("Write <think> to begin", "Write <think> to begin", id="tag-as-a-word"),
    ],
)
def test_without_thinking(text: str, expected: str) -> None:
    assert without_thinking(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", [], id="empty"),
        pytest.param('{"a": {"b": 1}}', [{"a": {"b": 1}}], id="outermost-only"),
        pytest.param('{"a": 1}{"b": 2}', [{"a": 1}, {"b": 2}], id="two"),
        pytest.param('{x} {"a": 1}', [{"a": 1}], id="not-json-before"),
        pytest.param('{"a": "{"} }', [{"a": "{"}], id="brace-in-a-string"),
        pytest.param('{"a": 1} {"b": {"c": 2}', [{"a": 1}], id="the-cut-one-has-none"),
    ],
)
def test_complete_objects(text: str, expected: list[dict[str, Any]]) -> None:
    assert list(complete_objects(text)) == expected


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        pytest.param(AIMessage(" In 14 days [refunds]. "), "In 14 days [refunds].", id="text"),
        pytest.param(AIMessage("<think>x</think>Yes {y}."), "Yes {y}.", id="think-block-goes"),
        pytest.param(AIMessage("half \udc00"), "half ?", id="not-unicode"),
    ],
)
def test_an_answer_is_the_visible_text(result: AIMessage, expected: str) -> None:
    assert read_answer(result) == expected


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        pytest.param(None, "none", id="no-result"),
        pytest.param(AIMessage(""), "none", id="empty"),
        pytest.param(called({"relevant": "yes"}), "none", id="only-a-tool-call"),
        pytest.param({"answer": "x"}, "none", id="not-a-message"),
        pytest.param(
            AIMessage("In 14", response_metadata={"finish_reason": "length"}), "truncated", id="cut"
        ),
        pytest.param(AIMessage("a" * (MAX_ANSWER_CHARS + 1)), "unparsed", id="endless"),
        pytest.param(ValueError(), "error", id="exception"),
    ],
)
def test_what_is_not_an_answer_says_why(result: object, expected: FailureReason) -> None:
    with pytest.raises(UnusableReplyError) as failed:
        read_answer(result)

    assert failed.value.reason == expected
