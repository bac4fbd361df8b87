"""The largest bounds that a budget affords, and what the worst request then costs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from agent.cli import main
from agent.lab.budget import CHARS_PER_TOKEN, REPLY_TOKENS, Budget, tokens_per_call
from agent.lab.cost import never_answered
from agent.models.requests import request
from agent.retrieval.tfidf import CorpusChunk

PER_CALL: Any = {"guard": 100, "grade": 200, "rewrite": 150, "answer": 500}


def budget(tokens: int, **changes: Any) -> Budget:
    good: dict[str, Any] = {"price": None, "k": 2, "tokens_per_draft": 2000, "per_call": PER_CALL}
    return Budget(tokens=tokens, **{**good, **changes})


def by_loop(found: Budget) -> dict[tuple[str, int | None], tuple[Any, ...]]:
    return {
        (row["loop"], row["largest_drafts"]): (
            row["largest_rewrites"], row["worst_case_calls"], row["worst_case_tokens"],
        )
        for row in found.rows()
    }  # fmt: skip


def test_three_attempts_of_two_thousand_tokens_are_six_thousand() -> None:
    (revise,) = [row for row in budget(6000).rows() if row["loop"] == "revise"]

    assert (revise["largest_drafts"], revise["worst_case_tokens"]) == (3, 6000)
    assert revise["worst_case_calls"] == 6


@pytest.mark.parametrize(
    ("tokens", "rewrites"),
    [
        pytest.param(999, None, id="not-even-one-search-fits"),
        pytest.param(1000, 0, id="check-2-grades-and-the-answer-fit-exactly"),
        pytest.param(1549, 0, id="one-token-short-of-a-rewrite"),
        pytest.param(1550, 1, id="a-rewrite-and-2-grades-more"),
        pytest.param(10**9, 20, id="never-above-what-the-setting-allows"),
    ],
)
def test_the_largest_bound_is_the_last_that_fits(tokens: int, rewrites: int | None) -> None:
    (found,) = [row for row in budget(tokens).rows() if row["loop"] == "rewrite"]

    assert found["largest_rewrites"] == rewrites
    assert (found["worst_case_tokens"] is None) == (rewrites is None)


@pytest.mark.parametrize("bound", [0, 1, 2, 3])
def test_the_calls_are_those_of_the_published_formula_and_the_answer(bound: int) -> None:
    exactly = 1000 + bound * 550
    (found,) = [row for row in budget(exactly).rows() if row["loop"] == "rewrite"]

    assert found["worst_case_calls"] == never_answered(2, bound) + 1
    assert found["worst_case_tokens"] == exactly


def test_both_loops_share_the_budget() -> None:
    found = by_loop(budget(7000))

    assert found["both", 2] == (4, 1 + 2 * 5 + 4 + 4, 4000 + 100 + 2000 + 600)
    assert found["both", 3] == (0, 1 + 2 + 6, 6000 + 500)


def test_a_revise_loop_of_one_draft_is_none() -> None:
    (revise,) = [row for row in budget(3999).rows() if row["loop"] == "revise"]

    assert (revise["largest_drafts"], revise["worst_case_tokens"]) == (None, None)


def test_money_is_tokens_at_the_price_of_a_million() -> None:
    rows = budget(6000, price=2.5).rows()

    assert [row["worst_case_money"] for row in rows if row["loop"] == "revise"] == [0.015]
    assert "worst_case_money" not in budget(6000).rows()[0]


def test_calls_are_measured_on_the_longest_question_and_chunks() -> None:
    chunks = [
        CorpusChunk(id=name, text=text, title="t", source="s")
        for name, text in (("a", "x" * 40), ("b", "y" * 400), ("c", "z" * 4000))
    ]
    found = tokens_per_call(["q?", "a longer question?"], chunks, k=2, subjects="tea")
    asked = request(
        "grade",
        {"question": "a longer question?", "chunk": {"id": "c", "text": "z" * 4000}},
        subjects="tea",
    )
    chars = sum(len(message.text) for message in asked)

    assert found["grade"] == REPLY_TOKENS["grade"] + -(-chars // CHARS_PER_TOKEN)
    assert found["answer"] > found["grade"] + 400 / CHARS_PER_TOKEN


def test_the_command_prints_the_budget_and_refuses_a_price_alone() -> None:
    runner = CliRunner()
    shown = runner.invoke(main, ["lab", "--json", "--budget", "6000", "--price", "2"])
    alone = runner.invoke(main, ["lab", "--price", "2"])
    rows = json.loads(shown.stdout)["more"]["budget"]

    assert [(row["loop"], row["largest_drafts"]) for row in rows][:2] == [
        ("rewrite", 0), ("revise", 3),
    ]  # fmt: skip
    assert rows[1]["worst_case_money"] == 0.012
    assert alone.exit_code == 2
    assert "give both" in alone.stderr
