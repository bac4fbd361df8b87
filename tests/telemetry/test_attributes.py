"""One function decides what a span may hold: no SDK warning, nothing huge, only real numbers."""

from __future__ import annotations

import logging
from enum import Enum
from typing import Any

import numpy as np
import pytest
from graphs import Shelf
from loop_graphs import line_graph

from telemetry.attributes import (
    LIST_ITEMS,
    MARKER,
    SPAN_BYTES,
    TEXT_BYTES,
    byte_size,
    clean,
    clean_all,
    cut,
    cut_list,
)
from telemetry.testing import Kit


class Colour(Enum):
    RED = "red"


class Odd:
    def __str__(self) -> str:
        raise AssertionError("nobody may look at it")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(np.float32(0.5), 0.5, id="NumPy float"),
        pytest.param(np.int64(3), 3, id="NumPy int"),
        pytest.param(np.bool_(True), True, id="NumPy bool"),
        pytest.param(np.array([1.0, 2.0]), (1.0, 2.0), id="NumPy array"),
        pytest.param(None, None, id="none"),
        pytest.param(float("nan"), None, id="NaN"),
        pytest.param(float("-inf"), None, id="infinity"),
        pytest.param(2**70, "1180591620717411303424", id="an int beyond 64 bits"),
        pytest.param(2**63 - 1, 2**63 - 1, id="the largest int"),
        pytest.param([1, 2.5, None], (1.0, 2.5), id="numbers of two kinds"),
        pytest.param([1, 2], (1, 2), id="ints"),
        pytest.param([True, False], (True, False), id="flags"),
        pytest.param(["a", None], ("a",), id="texts"),
        pytest.param([], None, id="an empty list"),
        pytest.param([float("nan")], None, id="a list of NaN"),
        pytest.param([1, "a"], '[1, "a"]', id="a mixed list"),
        pytest.param([[1], [2]], "[[1], [2]]", id="a nested list"),
        pytest.param({"a": [1]}, '{"a": [1]}', id="a mapping"),
        pytest.param(Colour.RED, "red", id="an enum"),
        pytest.param("\ud800x", "?x", id="a lone surrogate"),
        pytest.param(Odd(), "Odd", id="anything else gives its class"),
        pytest.param("x" * 5000, "x" * TEXT_BYTES + MARKER, id="a long text"),
    ],
)
def test_clean(value: Any, expected: Any) -> None:
    cleaned = clean(value)

    assert cleaned == expected
    assert type(cleaned) is type(expected)


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        pytest.param("abcd", 4, "abcd", id="fits"),
        pytest.param("abcde", 4, f"abcd{MARKER}", id="one too many"),
        pytest.param("ééé", 4, f"éé{MARKER}", id="bytes, not characters"),
        pytest.param("a😀", 4, f"a{MARKER}", id="no half character"),
    ],
)
def test_cut(text: str, limit: int, expected: str) -> None:
    assert cut(text, limit) == expected


def test_a_list_is_cut_to_its_first_items() -> None:
    assert clean(list(range(500))) == tuple(range(LIST_ITEMS))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param(["a", "b"], ("a", "b"), id="a short list stays"),
        pytest.param(["x" * 64] * 64, ("x" * 64,) * 64, id="4096 bytes still fit"),
        pytest.param(["x" * 128] * 33, (*["x" * 128] * 32, MARKER), id="more end with the marker"),
        pytest.param(["é" * 60] * 64, (*["é" * 60] * 34, MARKER), id="bytes count, not characters"),
    ],
)
def test_a_list_of_texts_is_cut_to_the_size_of_one_attribute(
    texts: list[str], expected: tuple[str, ...]
) -> None:
    assert clean(texts) == expected
    assert cut_list(texts) == expected


def test_chunk_ids_of_any_length_fit_into_one_attribute_on_every_span() -> None:
    kit = Kit()
    shelf = Shelf(finds=[[(f"{n:02}" + "漢字" * 200, 0.5) for n in range(64)]])

    def search(_: dict[str, Any]) -> dict[str, Any]:
        return {"documents": shelf.invoke("words")}

    kit.watch(line_graph(search), {"search": "retrieve"}).invoke({})
    for name in ("node search", "retrieval Shelf"):
        ids = kit.span(name).attributes["rag.chunk.ids"]
        assert ids[-1] == MARKER
        assert 3_800 < byte_size(ids[:-1]) <= TEXT_BYTES
        assert len(kit.span(name).attributes["rag.chunk.scores"]) == 64
    assert len(kit.turn.retrievals[0].chunk_ids) == 64


def test_a_span_holds_no_more_than_its_cap_and_says_what_is_missing() -> None:
    attributes = clean_all({f"text.{n}": "x" * 4000 for n in range(50)} | {"score": float("inf")})

    assert sum(len(key) + byte_size(value) for key, value in attributes.items()) <= SPAN_BYTES + 64
    assert attributes["rag.truncated"] is True
    assert attributes["rag.non_finite"] is True
    assert "score" not in attributes


def test_the_sdk_has_nothing_to_complain_about(caplog: pytest.LogCaptureFixture) -> None:
    kit = Kit()
    values = {
        "a": np.float32(0.5), "b": np.int64(3), "c": np.bool_(True), "d": None, "e": float("nan"),
        "f": 2**70, "g": [1, 2.5, None],
    }  # fmt: skip
    with caplog.at_level(logging.WARNING):
        span = kit.provider.get_tracer("test").start_span("s")
        span.set_attributes(clean_all(values))
        span.end()

    assert caplog.records == []
    assert dict(kit.span("s").attributes or {}) == {
        "a": 0.5, "b": 3, "c": True, "rag.non_finite": True, "f": "1180591620717411303424",
        "g": (1.0, 2.5),
    }  # fmt: skip
