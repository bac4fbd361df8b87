from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from agent.http.replies import JsonReply, encoded


def refuse(constant: str) -> None:
    raise AssertionError(constant)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"a": [1, 0.5, True, None, "é\n"]}, {"a": [1, 0.5, True, None, "é\n"]},
                     id="plain-values-stay"),
        pytest.param({"score": np.float32(0.5)}, {"score": 0.5}, id="a-numpy-float"),
        pytest.param({"row": np.int64(7)}, {"row": 7}, id="a-numpy-integer"),
        pytest.param({"row": np.array([1.0, 2.0])}, {"row": [1.0, 2.0]}, id="a-numpy-row"),
        pytest.param({"score": float("nan")}, {"score": None}, id="no-number"),
        pytest.param({"score": np.float64("inf")}, {"score": None}, id="an-infinity"),
        pytest.param({"q": "a\ud83d"}, {"q": "a\ufffd"}, id="half-a-surrogate-pair"),
        pytest.param({"\ud83d": "a"}, {"\ufffd": "a"}, id="half-a-pair-as-a-name"),
        pytest.param(("a", {1}), ["a", [1]], id="a-tuple-and-a-set"),
        pytest.param({"e": ValueError("x")}, {"e": "x"}, id="anything-else-is-its-text"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("ascii_only", [False, True], ids=["utf-8", "ascii"])
def test_every_value_becomes_json_that_strict_readers_take(
    value: Any, expected: Any, ascii_only: bool
) -> None:
    text = encoded(value, ascii_only=ascii_only).decode()

    assert json.loads(text, parse_constant=refuse) == expected


def test_ascii_alone_holds_no_line_end_of_any_reader() -> None:
    text = encoded("a\n\r\u2028\u0085b", ascii_only=True)

    assert text == b'"a\\n\\r\\u2028\\u0085b"'


def test_a_reply_says_that_it_is_json_and_how_long() -> None:
    reply = JsonReply({"a": "é"}, 503, {"Retry-After": "1"})

    assert (reply.status_code, reply.body) == (503, '{"a":"é"}'.encode())
    assert reply.headers["content-type"] == "application/json"
    assert (reply.headers["content-length"], reply.headers["retry-after"]) == ("10", "1")
