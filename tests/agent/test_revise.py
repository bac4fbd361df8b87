from __future__ import annotations

import pytest

from agent.revise import Critique, Draft, ReviseState, build_revise_graph, route_after_critique


@pytest.mark.parametrize(
    ("attempts", "score", "expected"),
    [
        pytest.param(0, 0.5, "revise", id="below-the-pass-score-revises"),
        pytest.param(3, 0.9, "give_up", id="no-score-overrides-the-cap"),
        pytest.param(1, 0.9, "finish", id="a-passing-draft-finishes"),
        pytest.param(3, 0.5, "give_up", id="a-failing-draft-at-the-cap-gives-up"),
        pytest.param(2, 0.8, "finish", id="the-pass-score-itself-passes"),
        pytest.param(4, 1.0, "give_up", id="past-the-cap-still-gives-up"),
    ],
)
def test_route_after_critique(attempts: int, score: float, expected: str) -> None:
    assert route_after_critique({"attempts": attempts, "score": score}) == expected


def run(scores: list[float]) -> tuple[ReviseState, list[ReviseState]]:
    seen: list[ReviseState] = []

    def write(state: ReviseState) -> Draft:
        seen.append(state)
        return {"text": f"draft {len(seen)}", "tokens": 7}

    def judge(_: ReviseState) -> Critique:
        return {"score": scores[len(seen) - 1], "note": f"note {len(seen)}", "tokens": 3}

    end = build_revise_graph(write, judge).invoke({"request": "r"})
    return end, seen


def test_second_draft_reads_the_first_and_its_critique_alone() -> None:
    _, seen = run([0.1, 0.2, 0.9])

    assert [(s.get("draft"), s.get("critique")) for s in seen] == [
        (None, None),
        ("draft 1", "note 1"),
        ("draft 2", "note 2"),
    ]


def test_giving_up_writes_status_reason_and_the_best_draft() -> None:
    end, _ = run([0.2, 0.6, 0.4])

    assert (end["status"], end["reason"], end["draft"], end["attempts"], end["tokens"]) == (
        "gave_up", "attempts_used", "draft 2", 3, 30,
    )  # fmt: skip


def test_a_passing_draft_is_published_before_the_cap() -> None:
    end, _ = run([0.3, 0.85])

    assert (end["status"], end["draft"], end["attempts"]) == ("published", "draft 2", 2)
