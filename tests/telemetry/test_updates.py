"""Whatever a node returns is read as one update."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from langgraph.types import Command

from telemetry.updates import updates_of


@dataclass
class Whole:
    answer: str


@dataclass(slots=True)
class Slotted:
    answer: str


@dataclass(slots=True)
class MoreSlots(Slotted):
    goto: str = "x"


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        pytest.param({"a": 1}, {"a": 1}, id="a mapping"),
        pytest.param(None, {}, id="nothing"),
        pytest.param("text", {}, id="a bare text"),
        pytest.param(Command(update={"a": 1}, goto="x"), {"a": 1}, id="a command"),
        pytest.param(Command(update=[("a", 1)], goto="x"), {"a": 1}, id="a command with pairs"),
        pytest.param(Command(goto="x"), {}, id="a command that only jumps"),
        pytest.param([Command(update={"a": 1}), {"b": 2}], {"a": 1, "b": 2}, id="a list"),
        pytest.param(Whole("x"), {"answer": "x"}, id="an object"),
        pytest.param(MoreSlots("x"), {"answer": "x", "goto": "x"}, id="an object with slots"),
        pytest.param(7, {}, id="a number"),
        pytest.param(
            [{"messages": [1]}, Command(update={"messages": [2], "a": 1})],
            {"messages": [1, 2], "a": 1},
            id="lists of one key",
        ),
    ],
)
def test_updates(returned: Any, expected: dict[str, Any]) -> None:
    assert dict(updates_of(returned)) == expected
