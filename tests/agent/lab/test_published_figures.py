from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from agent.cli import main
from agent.lab.cost import never_answered

PUBLISHED = json.loads(
    (Path(__file__).parents[2] / "data" / "published-figures.json").read_text(encoding="utf-8")
)
FIGURES = [name for name in PUBLISHED if name != "about"]


def lab(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(main, ["lab", "--json", *arguments])
    assert result.exit_code == 0, result.output
    figures: dict[str, Any] = json.loads(result.stdout)
    return figures


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    return lab("--max-bound", "3")


@pytest.fixture(scope="module")
def beyond() -> dict[str, Any]:
    return lab("--max-bound", "5", "--recursion-limit", "7", "--recursion-limit", "40")


@pytest.mark.parametrize("name", FIGURES)
def test_published_figures_come_out_of_running_the_graph(
    figures: dict[str, Any], name: str
) -> None:
    assert figures[name] == PUBLISHED[name]


def test_larger_bounds_cost_three_more_calls_each_for_the_question_nothing_answers(
    beyond: dict[str, Any],
) -> None:
    rows = beyond["table3_golden_set_by_bound"]

    assert [(r["max_rewrites"], r["answered"], r["retrievals"], r["llm_calls"]) for r in rows] == [
        (0, 1, 4, 14), (1, 2, 7, 24), (2, 3, 9, 31), (3, 3, 10, 34), (4, 3, 11, 37), (5, 3, 12, 40),
    ]  # fmt: skip
    assert beyond["chosen_bound"] == 2


def test_other_recursion_limits_follow_the_round_of_three_steps(beyond: dict[str, Any]) -> None:
    _, seven, forty = beyond["table2_unbounded_graph"]

    assert (seven["retrievals"], seven["llm_calls"]) == (2, 7)
    assert (forty["retrievals"], forty["llm_calls"]) == (13, 40)


def test_every_formula_agrees_with_the_counted_calls(beyond: dict[str, Any]) -> None:
    rows = beyond["more"]["formulas_against_counts"]

    assert len(rows) > 20
    assert [row for row in rows if row["expected"] != row["counted"]] == []


@pytest.mark.parametrize(
    ("bound", "loop", "pays"),
    [
        pytest.param(0, 2, False, id="costs-more-than-it-saves-at-zero"),
        pytest.param(1, 5, False, id="breaks-even-at-one"),
        pytest.param(2, 8, True, id="pays-at-two"),
    ],
)
def test_where_the_topic_check_pays(
    beyond: dict[str, Any], bound: int, loop: int, pays: bool
) -> None:
    row = beyond["more"]["topic_check_pays"][bound]

    assert (row["full_loop_calls"], row["pays"], row["off_topic_share"]) == (loop, pays, 0.2)
    assert loop == never_answered(2, bound, topic_check=False)
