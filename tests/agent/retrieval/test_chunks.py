"""Documents of any retriever as chunks of the state."""

from __future__ import annotations

import json
import logging
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document

from agent.retrieval.chunks import chunks_from_documents, read_documents, valid_text


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param({"score": 0.3}, 0.3, id="plain-score"),
        pytest.param({"score": np.float32(0.5)}, 0.5, id="numpy-float32-becomes-a-float"),
        pytest.param({"relevance_score": np.int64(1)}, 1.0, id="numpy-int-of-a-reranker"),
        pytest.param({"similarity": Decimal("0.25")}, 0.25, id="decimal-of-a-database"),
        pytest.param({"score": None, "similarity": 0.7}, 0.7, id="none-is-passed-over"),
        pytest.param({"score": True}, None, id="a-truth-value-is-no-score"),
        pytest.param({"score": "high"}, None, id="a-word-is-no-score"),
        pytest.param({"distance": 0.1}, None, id="a-distance-is-no-score"),
        pytest.param({}, None, id="no-score"),
    ],
)
def test_score_is_a_plain_float_or_none(metadata: dict[str, Any], expected: float | None) -> None:
    (chunk,) = chunks_from_documents([Document("text", metadata=metadata)])

    assert chunk["score"] == expected
    assert type(chunk["score"]) in (float, type(None))
    json.dumps(chunk, allow_nan=False)


@pytest.mark.parametrize(
    "score", [float("nan"), float("inf"), np.float32("-inf"), 10**400, np.array([1.0, 2.0])]
)
def test_document_without_a_finite_score_is_dropped_and_counted(
    score: Any, caplog: pytest.LogCaptureFixture
) -> None:
    documents = [Document("secret", id="a", metadata={"score": score}), Document("kept", id="b")]

    chunks, dropped = read_documents(documents)
    with caplog.at_level(logging.WARNING):
        assert chunks_from_documents(documents) == chunks

    assert [chunk["id"] for chunk in chunks] == ["b"]
    assert dropped == 1
    assert caplog.messages == [
        "dropped 1 of 2 retrieved documents: their score is not a finite number"
    ]


def test_no_warning_when_nothing_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    chunks_from_documents([Document("kept", metadata={"score": 0.0})])

    assert caplog.messages == []


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param(Document("t", id="own", metadata={"id": "meta"}), "own", id="own-id-first"),
        pytest.param(Document("t", metadata={"id": np.int64(0)}), "0", id="metadata-id-as-text"),
        pytest.param(Document("t", id="", metadata={}), "e3b98a4da31a", id="else-hash-of-the-text"),
        pytest.param(Document("t", id="x\ud83d"), "x\ufffd", id="id-is-valid-unicode"),
    ],
)
def test_chunk_id(document: Document, expected: str) -> None:
    (chunk,) = chunks_from_documents([document])

    assert chunk["id"] == expected


def test_same_document_twice_is_one_chunk() -> None:
    chunks = chunks_from_documents([Document("t", id="a"), Document("u", id="b")] * 2)

    assert [chunk["id"] for chunk in chunks] == ["a", "b"]


def test_two_texts_under_one_id_are_two_chunks() -> None:
    first, second = chunks_from_documents([Document("one", id="a"), Document("two", id="a")])

    assert first["id"] == "a"
    assert second["id"].startswith("a~")
    assert (first["text"], second["text"]) == ("one", "two")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("plain é 🙂", "plain é 🙂", id="valid-text-is-untouched"),
        pytest.param("a\ud83db", "a\ufffdb", id="lone-surrogate-is-replaced"),
        pytest.param("\ud83d\ude42", "🙂", id="pair-of-surrogates-is-joined"),
        pytest.param("", "", id="empty"),
    ],
)
def test_text_is_valid_unicode(text: str, expected: str) -> None:
    assert valid_text(text) == expected
