from __future__ import annotations

from typing import Any

import pytest

from agent.faults.chance import Chance
from agent.faults.routers import budget_first, never_gives_up

ALL = Chance()
NOBODY = Chance(share=1e-18)


def sound(state: dict[str, Any]) -> str:
    if state["found"]:
        return "answer"
    return "rewrite" if state["left"] else "give_up"


@pytest.mark.parametrize(
    ("state", "chance", "expected"),
    [
        pytest.param({"found": True, "left": 0}, ALL, "answer", id="evidence-still-answers"),
        pytest.param({"found": False, "left": 1}, ALL, "rewrite", id="rewrites-as-before"),
        pytest.param({"found": False, "left": 0}, ALL, "rewrite", id="never-gives-up"),
        pytest.param({"found": False, "left": 0}, NOBODY, "give_up", id="a-sound-question-ends"),
    ],
)
def test_never_gives_up(state: dict[str, Any], chance: Chance, expected: str) -> None:
    route = never_gives_up(
        sound, gives_up="give_up", instead="rewrite", question=str, chance=chance
    )

    assert route(state) == expected


@pytest.mark.parametrize(
    ("state", "chance", "expected"),
    [
        pytest.param({"found": True, "left": 1}, ALL, "answer", id="answers-while-budget-is-left"),
        pytest.param({"found": True, "left": 0}, ALL, "give_up", id="throws-the-last-hit-away"),
        pytest.param({"found": False, "left": 1}, ALL, "rewrite", id="rewrites-as-before"),
        pytest.param(
            {"found": True, "left": 0}, NOBODY, "answer", id="a-sound-question-is-answered"
        ),
    ],
)
def test_budget_first(state: dict[str, Any], chance: Chance, expected: str) -> None:
    route = budget_first(
        sound,
        gives_up="give_up",
        is_spent=lambda s: s["left"] == 0,
        question=str,
        chance=chance,
    )

    assert route(state) == expected
