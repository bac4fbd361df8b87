from __future__ import annotations

from typing import get_args

import pytest

from agent.console import words
from agent.console.picture import mermaid
from agent.graph import build_graph
from agent.settings import Branches
from agent.state import Outcome


def test_every_outcome_has_words() -> None:
    assert set(get_args(Outcome)) <= set(words.OUTCOMES)


def test_every_node_has_words() -> None:
    graph = build_graph(branches=Branches(clarify=True, fallback=True))
    names = set(graph.get_graph().nodes) - {"__start__", "__end__"}

    assert all(words.node(name) != name for name in names)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(0.0000312, "31 µs", id="microseconds"),
        pytest.param(0.00123, "1.2 ms", id="small"),
        pytest.param(0.0561, "56 ms", id="milliseconds"),
        pytest.param(1.5, "1.50 s", id="seconds"),
        pytest.param(90, "1.5 min", id="minutes"),
    ],
)
def test_durations_have_a_unit(seconds: float, expected: str) -> None:
    assert words.seconds(seconds) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        pytest.param(0.0, "0", id="none"),
        pytest.param(2.0, "2", id="whole"),
        pytest.param(1_036.2, "about 1,036", id="extrapolated"),
        pytest.param(0.3, "about 1", id="a-fraction-of-an-event-is-an-event"),
    ],
)
def test_counts_of_prometheus(number: float, expected: str) -> None:
    assert words.estimated(number) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(45.4, "45 s", id="seconds"),
        pytest.param(900, "15 min", id="minutes"),
        pytest.param(21_600, "6 h", id="hours"),
        pytest.param(604_800, "7 d", id="days"),
    ],
)
def test_stretches_of_time(seconds: float, expected: str) -> None:
    assert words.span(seconds) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [pytest.param(None, "–", id="of-nothing"), pytest.param(0.1234, "12.3 %", id="a-share")],
)
def test_shares(value: float | None, expected: str) -> None:
    assert words.share(value) == expected


def test_the_picture_marks_the_path_and_nothing_else() -> None:
    drawn = mermaid(["fetch_content", "not_a_node"])

    assert drawn.splitlines()[-1].strip() == "class fetch_content onpath"
    assert "handle_off_topic" in drawn
