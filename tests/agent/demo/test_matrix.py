from __future__ import annotations

import pytest

from agent.demo.cases import Case
from agent.demo.guide import GuideAlert
from agent.demo.matrix import Firing, Matrix, rows_of


def alert(name: str, failure: str, cause: str | None = None) -> GuideAlert:
    return GuideAlert(name=name, failure=failure, tier="page", cause=cause)


ALERTS = [
    alert("Jump", "jump"),
    alert("JumpChange", "jump", "change"),
    alert("JumpIndex", "jump", "index"),
    alert("JumpGrader", "jump", "grader"),
    alert("Swap", "swap"),
    alert("Errors", "errors"),
]
CONSEQUENCES = {"jump": ("swap",), "swap": ("jump",)}
HEALTHY = Case(fault=None, failure=None)
SWAP = Case(fault="synonym-swap", failure="swap")
INDEX = Case(fault="index-regression", failure="jump", cause="index")


def matrix(
    case: Case, fired: dict[str, float], notified: set[str] | None = None, **changes: object
) -> Matrix:
    firings = [Firing(job=case.job, alert=name, seconds=s) for name, s in fired.items()]
    arrived = [(case.job, name) for name in (set(fired) if notified is None else notified)]
    return Matrix(
        rows=rows_of([case], firings, arrived), alerts=ALERTS, consequences=CONSEQUENCES, **changes
    )


@pytest.mark.parametrize(
    ("case", "fired", "expected"),
    [
        pytest.param(HEALTHY, {}, [], id="a-sound-service-is-silent"),
        pytest.param(SWAP, {"Swap": 9}, [], id="the-own-alert-is-right"),
        pytest.param(SWAP, {"Swap": 9, "Jump": 5, "JumpChange": 5}, [], id="with-a-consequence"),
        pytest.param(INDEX, {"JumpIndex": 9}, [], id="the-cause-alone-is-enough"),
        pytest.param(
            INDEX, {"JumpIndex": 9, "Jump": 3, "JumpChange": 2, "Swap": 8}, [],
            id="the-cause-with-all-that-belongs-to-it",
        ),
        pytest.param(
            HEALTHY, {"Swap": 9}, ["healthy: Swap fired, which the guide does not expect"],
            id="a-sound-service-told-of",
        ),
        pytest.param(SWAP, {}, ["synonym-swap: none of Swap fired"], id="a-fault-not-told"),
        pytest.param(
            SWAP, {"Swap": -3}, ["synonym-swap: Swap fired 3 s before the fault"],
            id="told-in-the-healthy-stretch",
        ),
        pytest.param(
            SWAP, {"Swap": 9, "Errors": 9},
            ["synonym-swap: Errors fired, which the guide does not expect"], id="a-foreign-alert",
        ),
        pytest.param(
            SWAP, {"Swap": 9, "JumpGrader": 9},
            ["synonym-swap: JumpGrader fired, which the guide does not expect"],
            id="a-consequence-must-not-name-a-cause",
        ),
        pytest.param(
            INDEX, {"Jump": 9}, ["index-regression: none of JumpIndex fired"],
            id="the-failure-without-its-cause",
        ),
        pytest.param(
            INDEX, {"JumpIndex": 9, "JumpGrader": 9},
            ["index-regression: JumpGrader fired, which the guide does not expect"],
            id="the-other-cause-too",
        ),
    ],
)  # fmt: skip
def test_problems(case: Case, fired: dict[str, float], expected: list[str]) -> None:
    assert matrix(case, fired).problems() == expected


def test_an_alert_that_nobody_was_told_of_is_wrong() -> None:
    found = matrix(SWAP, {"Swap": 9, "Jump": 5}, notified={"Jump"}).problems()

    assert found == ["synonym-swap: its alert fired and no notification of it arrived"]


def test_a_notification_of_a_louder_alert_of_the_failure_is_enough() -> None:
    assert (
        matrix(INDEX, {"JumpIndex": 9, "JumpChange": 2}, notified={"JumpChange"}).problems() == []
    )


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        pytest.param("", "no service: Errors fired, which belongs to no row", id="no-job"),
        pytest.param("other", "other: Errors fired, which belongs to no row", id="another-job"),
    ],
)
def test_what_fires_for_no_row_is_wrong(job: str, expected: str) -> None:
    stray = Firing(job=job, alert="Errors", seconds=1)

    assert matrix(SWAP, {"Swap": 9}, strays=[stray]).problems() == [expected]


def test_the_first_time_counts_and_rows_keep_their_order() -> None:
    firings = [
        Firing(job="synonym-swap", alert="Swap", seconds=20),
        Firing(job="synonym-swap", alert="Jump", seconds=10),
        Firing(job="synonym-swap", alert="Swap", seconds=5),
    ]
    rows = rows_of([HEALTHY, SWAP], firings, [("synonym-swap", "Swap"), ("other", "Swap")])

    assert [row.case.job for row in rows] == ["healthy", "synonym-swap"]
    assert list(rows[1].fired.items()) == [("Swap", 5), ("Jump", 10)]
    assert (rows[0].notified, rows[1].notified) == (frozenset(), {"Swap"})


def test_json_says_what_may_fire_and_what_did() -> None:
    row = matrix(INDEX, {"JumpIndex": 9.04}).as_json()["rows"][0]

    assert (row["fired"], row["notified"], row["own"], row["allowed"]) == (
        {"JumpIndex": 9.0},
        ["JumpIndex"],
        ["Jump", "JumpChange", "JumpIndex"],
        ["Jump", "JumpChange", "JumpIndex", "Swap"],
    )
