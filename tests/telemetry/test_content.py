"""The gate for text: shut by default, opened by the standard variable alone, and cut."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from telemetry.attributes import MARKER, TEXT_BYTES
from telemetry.content import VARIABLE, ContentGate, digest, error_type, reason_code

OPEN = ContentGate(spans=True)


@pytest.mark.parametrize(
    ("value", "spans", "events", "warns"),
    [
        pytest.param(None, False, False, False, id="unset"),
        pytest.param("", False, False, False, id="empty"),
        pytest.param("NO_CONTENT", False, False, False, id="no content"),
        pytest.param("SPAN_ONLY", True, False, False, id="spans"),
        pytest.param("event_only", False, True, False, id="events, in small letters"),
        pytest.param("SPAN_AND_EVENT", True, True, False, id="both"),
        pytest.param("true", False, False, True, id="true is no value of the convention"),
    ],
)
def test_the_standard_variable(
    value: str | None, spans: bool, events: bool, warns: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        gate = ContentGate.from_environment(environment={} if value is None else {VARIABLE: value})

    assert (gate.spans, gate.events, gate.is_open) == (spans, events, spans or events)
    assert bool(caplog.records) == warns


@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        pytest.param(ContentGate(), None, id="shut"),
        pytest.param(ContentGate(events=True), None, id="open for events alone"),
        pytest.param(OPEN, "my card", id="open"),
        pytest.param(ContentGate(spans=True, redact=lambda t: t.upper()), "MY CARD", id="redacted"),
        pytest.param(ContentGate(spans=True, redact=lambda t: 1 / 0), None, id="a hook that fails"),  # type: ignore[arg-type, return-value]
        pytest.param(ContentGate(spans=True, redact=lambda t: None), None, id="a hook of no text"),  # type: ignore[arg-type, return-value]
    ],
)
def test_what_a_span_may_hold(gate: ContentGate, expected: str | None) -> None:
    assert gate.on_span("my card") == expected


def test_messages_stay_valid_json_when_cut_and_the_newest_is_kept() -> None:
    messages = [("user", f"{n} " + "x" * 3000) for n in range(10)]
    text = OPEN.messages_json(messages)
    shown = json.loads(text)

    assert len(text) < TEXT_BYTES + 500
    assert shown[-1]["parts"][0]["content"].startswith("9 ")
    assert any(MARKER in m["parts"][0]["content"] for m in shown)


def test_documents_stay_valid_json_when_cut() -> None:
    documents = [(f"d{n}", 0.5, "y" * 200_000) for n in range(50)]
    text = OPEN.documents_json(documents)

    assert len(text) < TEXT_BYTES + 500
    assert json.loads(text)[0]["id"] == "d0"


@pytest.mark.parametrize(
    ("thread_id", "shown"),
    [
        pytest.param("0190d1a7-8c2f-7c3e-9b7a-0123456789ab", True, id="a UUID"),
        pytest.param("0190D1A7-8C2F-7C3E-9B7A-0123456789AB", True, id="a UUID in capitals"),
        pytest.param("0190d1a78c2f7c3e9b7a0123456789ab", True, id="a UUID without hyphens"),
        pytest.param("a3" * 32, True, id="a hash of 256 bits"),
        pytest.param("01ARZ3NDEKTSV4RRFFQ69G5FAV", True, id="a ULID"),
        pytest.param("john1985", False, id="a name and a year"),
        pytest.param("thread-1", False, id="a word and a number"),
        pytest.param("42", False, id="a number of a person's"),
        pytest.param("4111111111111111" * 2, False, id="digits alone"),
        pytest.param("e4111111111111111", False, id="a letter and a card"),
        pytest.param("deadbeef" * 4, False, id="letters alone"),
        pytest.param("0" * 26, False, id="a ULID's length in digits"),
        pytest.param("JANSMARTHAVANDERBERGAMSTER", False, id="a ULID's length in letters"),
        pytest.param("ann-0190d1a7-8c2f-7c3e-9b7a-0123456789ab", False, id="a name and a UUID"),
        pytest.param("ann@example.com", False, id="an address"),
        pytest.param("Ann Smith", False, id="a name"),
        pytest.param("4111111111111111", False, id="a card"),
        pytest.param("+14155551234", False, id="a telephone"),
    ],
)
def test_a_thread_id_that_may_be_a_person_is_hashed(thread_id: str, shown: bool) -> None:
    assert ContentGate().conversation(thread_id) == (thread_id if shown else digest(thread_id))
    assert OPEN.conversation(thread_id) == thread_id


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        pytest.param("nothing_passed", "nothing_passed", id="a code"),
        pytest.param("because Ann said so", None, id="prose"),
        pytest.param(None, None, id="none"),
        pytest.param(7, None, id="a number"),
    ],
)
def test_a_reason_is_a_code_or_nothing(reason: Any, expected: str | None) -> None:
    assert reason_code(reason) == expected


class Coded(Exception):
    code = "no_credit"


class Wordy(Exception):
    code = "Ann has no credit"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(ValueError("x"), "ValueError", id="a class"),
        pytest.param(Coded(), "no_credit", id="a code"),
        pytest.param(Wordy(), "Wordy", id="a code that is prose"),
    ],
)
def test_the_type_of_an_error(error: Exception, expected: str) -> None:
    assert error_type(error) == expected


def test_an_exception_shows_its_text_only_through_the_gate() -> None:
    error = ValueError("Ann's card")

    assert ContentGate().exception(error) == {"exception.type": "ValueError"}
    shown = ContentGate(spans=True, redact=lambda t: t.replace("Ann", "#")).exception(error)
    assert shown["exception.message"] == "#'s card"
    assert "Ann" not in shown["exception.stacktrace"]
