"""The default readers: what they find in the shapes that people's graphs use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from pydantic import BaseModel

from telemetry.documents import document_id
from telemetry.facts import Chunks, Grades, Statement, Verdict
from telemetry.readers import (
    DEFAULT_READERS,
    read_chunks,
    read_grades,
    read_query,
    read_question,
    read_statement,
    read_verdict,
)

DOC = Document("alpha", id="d1", metadata={"score": 0.5})
NO_ID = document_id(Document("alpha"))


@dataclass
class ObjectState:
    question: str
    documents: list[Document]


@pytest.mark.parametrize(
    ("update", "state", "expected"),
    [
        pytest.param(
            {"chunks": [{"id": "sla", "text": "t", "score": 0.47}]},
            {"query": "outage"},
            Chunks(("sla",), (0.47,), "outage"),
            id="this project's chunks",
        ),
        pytest.param(
            {"documents": [DOC]}, {"question": "q"}, Chunks(("d1",), (0.5,), "q"), id="documents"
        ),
        pytest.param({"docs": []}, {}, Chunks(), id="an empty list is an empty retrieval"),
        pytest.param(
            {"hits": [(DOC, 0.9)]}, {}, Chunks(("d1",), (0.9,)), id="documents with their scores"
        ),
        pytest.param(
            {"documents": [Document("alpha")]}, {}, Chunks((NO_ID,), (None,)), id="without an id"
        ),
        pytest.param(
            {"documents": [Document("x", id="a", metadata={"relevance_score": np.float32(0.5)})]},
            {},
            Chunks(("a",), (0.5,)),
            id="a NumPy score is a float",
        ),
        pytest.param(
            {"documents": [Document("x", id="a", metadata={"score": float("nan")})]},
            {},
            Chunks(("a",), (None,)),
            id="a score that is no number is none",
        ),
        pytest.param({}, {"documents": [DOC]}, Chunks(("d1",), (0.5,)), id="changed in place"),
        pytest.param(
            {},
            ObjectState("q", [DOC]),
            Chunks(("d1",), (0.5,), "q"),
            id="a state that is an object",
        ),
        pytest.param(
            {"messages": [ToolMessage("alpha", tool_call_id="1", artifact=[DOC])]},
            {
                "messages": [
                    AIMessage("", tool_calls=[{"name": "r", "args": {"query": "z"}, "id": "1"}])
                ]
            },
            Chunks(("d1",), (0.5,), "z"),
            id="a tool's message with its documents",
        ),
        pytest.param(
            {"messages": [ToolMessage("alpha", tool_call_id="1")]},
            {},
            Chunks((NO_ID,), (None,)),
            id="a tool's message is one chunk",
        ),
        pytest.param(
            {
                "messages": [
                    ToolMessage("an older one", tool_call_id="0"),
                    AIMessage(""),
                    ToolMessage("alpha", tool_call_id="1", artifact=[DOC]),
                    ToolMessage("alpha", tool_call_id="2"),
                    ToolMessage("", tool_call_id="3"),
                ]
            },
            {},
            Chunks(("d1", NO_ID), (0.5, None)),
            id="several tools that were called at once are one retrieval",
        ),
        pytest.param(
            {"messages": [ToolMessage(" ", tool_call_id="1")]},
            {},
            Chunks(),
            id="an empty one is none",
        ),
        pytest.param({"answer": "x"}, {}, None, id="nothing that looks like documents"),
    ],
)
def test_chunks(update: dict[str, Any], state: Any, expected: Chunks | None) -> None:
    assert read_chunks(update, state) == expected


def test_an_id_never_comes_from_metadata() -> None:
    secret = Document("alpha", metadata={"source": "ann@example.com", "id": "ann@example.com"})

    assert document_id(secret) == NO_ID


class Word(Enum):
    NO = "no"


class Binary(BaseModel):
    binary_score: str


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        pytest.param(
            {
                "attempts": [
                    {"chunks": []},
                    {"chunks": [{"id": "a", "grade": "pass"}, {"id": "b", "grade": "ungraded"}]},
                ]
            },
            {"a": True, "b": None},
            id="this project's last attempt",
        ),
        pytest.param({"grade": "yes"}, {"a": True, "b": True}, id="one word for all"),
        pytest.param(
            {"relevance": Binary(binary_score="no")},
            {"a": False, "b": False},
            id="a structured word",
        ),
        pytest.param({"grade": Word.NO}, {"a": False, "b": False}, id="a member of an enum"),
        pytest.param({"grade": ["yes", "no"]}, {"a": True, "b": False}, id="one word each"),
        pytest.param({"relevant": False}, {"a": False, "b": False}, id="one flag for all"),
        pytest.param(
            {"relevant": [Document("x", id="b"), Document("y", id="c")], "documents": []},
            {"a": False, "b": False},
            id="documents are no verdicts, whatever their key",
        ),
        pytest.param({"grade": [True, None]}, {"a": True, "b": None}, id="one flag each"),
        pytest.param(
            {"documents": [Document("x", id="b")]},
            {"a": False, "b": True},
            id="the documents that were kept",
        ),
        pytest.param({"documents": []}, {"a": False, "b": False}, id="none was kept"),
        pytest.param({"grade": "maybe", "x": 1}, None, id="a word that says nothing"),
        pytest.param({}, None, id="nothing"),
    ],
)
def test_grades(update: dict[str, Any], expected: dict[str, Any] | None) -> None:
    grades = read_grades(update, {}, ("a", "b"))

    assert (None if grades is None else dict(grades.passed)) == expected


class Topic(str, Enum):  # noqa: UP042 - structured replies have it; its `str()` is `Topic.OFF`
    OFF = "IRRELEVANT"


class Confidence(Enum):
    LOW = "low"


class Routed(BaseModel):
    classification: str
    confidence: str = "MEDIUM"


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        pytest.param(
            {"topic": {"classification": "IRRELEVANT", "confidence": "LOW"}},
            Verdict("irrelevant", "low"),
            id="this project's verdict",
        ),
        pytest.param(
            {"topic": Routed(classification="Relevant ")},
            Verdict("relevant", "medium"),
            id="an object",
        ),
        pytest.param(
            {"topic": {"classification": Topic.OFF, "confidence": Confidence.LOW}},
            Verdict("irrelevant", "low"),
            id="members of an enum",
        ),
        pytest.param({"on_topic": True}, Verdict("relevant", "high"), id="a flag"),
        pytest.param({"on_topic": "no"}, Verdict("irrelevant", "high"), id="a word"),
        pytest.param(
            {"topic": {"classification": "RELEVANT", "confidence": "certain"}},
            Verdict("relevant", "high"),
            id="a confidence outside the set",
        ),
        pytest.param({"topic": "weather"}, None, id="a subject is no verdict"),
        pytest.param({"topic": None}, None, id="none yet"),
    ],
)
def test_verdict(update: dict[str, Any], expected: Verdict | None) -> None:
    assert read_verdict(update, {}) == expected


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        pytest.param({"standalone": "a", "question": "b"}, "a", id="standalone first"),
        pytest.param({"messages": [HumanMessage("a")]}, "a", id="the newest message"),
        pytest.param({"messages": [("user", "a")]}, "a", id="a message as a pair"),
        pytest.param(
            {"messages": {"role": "user", "content": "a"}}, "a", id="a message as a mapping"
        ),
        pytest.param({"question": 7}, None, id="no text"),
        pytest.param({}, None, id="nothing"),
    ],
)
def test_question_and_query(update: dict[str, Any], expected: str | None) -> None:
    assert read_question(update, {}) == expected
    if "standalone" not in update:
        assert read_query(update, {}) == expected


class Outcome(Enum):
    REFUSED = "off_topic"


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        pytest.param(
            {"outcome": "answered", "reason": "passing_chunk", "reply": "r", "citations": ["sla"]},
            Statement("answered", "passing_chunk", "r", ("sla",)),
            id="this project's end",
        ),
        pytest.param({"outcome": Outcome.REFUSED}, Statement("off_topic"), id="an enum's end"),
        pytest.param({"outcome": "splendid"}, Statement(), id="a word outside the set"),
        pytest.param(
            {"generation": AIMessage("hi")}, Statement(reply="hi"), id="a message as reply"
        ),
        pytest.param({"max_rewrites": 2}, Statement(max_rewrites=2), id="the bound"),
        pytest.param({"documents": []}, None, id="nothing about the turn"),
    ],
)
def test_statement(update: dict[str, Any], expected: Statement | None) -> None:
    statement = read_statement(update, {})

    assert statement == expected
    assert statement is None or type(statement.outcome) in (str, type(None))


def test_a_reader_can_be_replaced() -> None:
    readers = replace(DEFAULT_READERS, grades=lambda update, state, ids: Grades({"a": True}))

    assert readers.grades({}, {}, ()) == Grades({"a": True})
    assert readers.chunks is read_chunks
