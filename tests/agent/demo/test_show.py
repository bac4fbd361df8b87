from __future__ import annotations

import io

from rich.console import Console

from agent.demo.cases import Case
from agent.demo.guide import ALERTS, CONSEQUENCES
from agent.demo.matrix import Firing, Matrix, rows_of
from agent.demo.run import Result
from agent.demo.show import print_result

CASES = [
    Case(fault=None, failure=None),
    Case(fault="silent-rejection", failure="silent_rejection"),
    Case(fault="index-regression", failure="no_results_jump", cause="index"),
]


def shown(*firings: tuple[str, str, float]) -> str:
    fired = [Firing(job=job, alert=name, seconds=s) for job, name, s in firings]
    rows = rows_of(CASES, fired, ((job, name) for job, name, _ in firings))
    matrix = Matrix(rows=rows, alerts=ALERTS, consequences=CONSEQUENCES)
    result = Result(matrix=matrix, problems=matrix.problems(), tallies={}, seconds=12.0)
    out = io.StringIO()
    print_result(result, Console(file=out, width=79, soft_wrap=True))
    return out.getvalue()


def test_a_right_matrix_is_drawn_with_the_first_alert_of_each_failure() -> None:
    text = shown(
        ("silent-rejection", "RagSilentRejectionPage", 8.0),
        ("silent-rejection", "RagSilentRejectionTicket", 11.0),
        ("index-regression", "RagNoResultsJumpIndexTicket", 15.0),
    )

    assert text.splitlines()[1:] == [
        "Seconds from each fault to the first alert of each failure",
        "                   1   2",
        "healthy            ·   ·",
        "silent-rejection   8   ·",
        "index-regression   ·  15",
        "   1  silent_rejection",
        "   2  no_results_jump, cause index",
        "  green its own, plain a consequence that the guide names, red wrong",
        "right: 2 faults, each told by its own alert and by no wrong one",
        "0 questions in 12 s",
    ]


def test_what_is_wrong_is_named() -> None:
    text = shown(("silent-rejection", "RagSilentRejectionPage", 8.0))

    assert "wrong: index-regression: none of RagNoResultsJumpIndexTicket fired" in text
    assert "right:" not in text
