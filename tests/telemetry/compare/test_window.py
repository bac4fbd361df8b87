from __future__ import annotations

import math
import random

import pytest

from telemetry.compare.change import RETURNS, STRETCH, Change, last_change
from telemetry.compare.window import (
    Window,
    around,
    moment,
    read_window,
    refuse_overlap,
)
from telemetry.errors import CompareInputError

NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param(["version=1.4"], Window(labels={"version": "1.4"}), id="a-label"),
        pytest.param(
            ["model=openai:gpt=4"], Window(labels={"model": "openai:gpt=4"}), id="a-value-with-="
        ),
        pytest.param(["2h..1h"], Window(since=NOW - 7_200, until=NOW - 3_600), id="ago"),
        pytest.param(["1h30m.."], Window(since=NOW - 5_400), id="an-open-end-and-two-units"),
        pytest.param(
            ["2023-11-14T22:00..2023-11-14T22:13:20Z"],
            Window(since=NOW - 800, until=NOW),
            id="moments-are-UTC",
        ),
        pytest.param(
            ["index=a", "since=90s"],
            Window(labels={"index": "a"}, since=NOW - 90),
            id="terms-narrow",
        ),
    ],
)
def test_read_window(terms: list[str], expected: Window) -> None:
    assert read_window("before", terms, NOW) == expected


@pytest.mark.parametrize(
    "term",
    [
        pytest.param("1h..2h", id="ends-before-it-begins"),
        pytest.param("colour=red", id="no-such-label"),
        pytest.param("1.4", id="no-label-at-all"),
        pytest.param("yesterday..1h", id="no-moment"),
        pytest.param("since=", id="empty"),
    ],
)
def test_a_term_that_makes_no_sense_is_refused_with_an_example(term: str) -> None:
    with pytest.raises(CompareInputError, match=r"--after: got .* expected .* Write for example"):
        read_window("after", [term], NOW)


@pytest.mark.parametrize(
    ("before", "after", "overlaps"),
    [
        pytest.param(Window(until=5), Window(since=5), False, id="one-ends-as-the-other-begins"),
        pytest.param(Window(until=6), Window(since=5), True, id="a-shared-second"),
        pytest.param(
            Window(labels={"version": "1"}),
            Window(labels={"version": "2"}),
            False,
            id="two-versions-at-a-time",
        ),
        pytest.param(
            Window(labels={"version": "1"}), Window(labels={"index": "a"}), True, id="may-be-both"
        ),
        pytest.param(Window(), Window(), True, id="everything-twice"),
    ],
)
def test_sides_that_share_turns_are_refused(before: Window, after: Window, overlaps: bool) -> None:
    if overlaps:
        with pytest.raises(CompareInputError, match="share no turn"):
            refuse_overlap(before, after)
    else:
        refuse_overlap(before, after)


def test_moments() -> None:
    assert moment(NOW) == "2023-11-14 22:13:20 UTC"
    assert (moment(-math.inf), moment(math.inf)) == ("the beginning", "now")


A, B, C = ("1",), ("2",), ("3",)


@pytest.mark.parametrize(
    ("builds", "expected"),
    [
        pytest.param([A] * 50, None, id="one-build-is-no-change"),
        pytest.param([], None, id="no-turns-are-no-change"),
        pytest.param([A] * 30 + [B] * 30, (30, A, B), id="a-deploy"),
        pytest.param([A] * 30 + [B], (30, A, B), id="a-deploy-just-now"),
        pytest.param([A] * 30 + [B, A] * 5 + [B] * 30, (30, A, B), id="a-rolling-deploy"),
        pytest.param([A] * 30 + [B] * 30 + [C] * 9, (60, B, C), id="the-last-of-two"),
        pytest.param(
            [A] * 30 + [B] * (STRETCH + 5) + [A] * RETURNS, (30 + STRETCH + 5, B, A), id="rollback"
        ),
        pytest.param(
            [A] * 30 + [B] * (STRETCH + 5) + [A] + [B] * 5, (30, A, B), id="a-straggler-is-none"
        ),
    ],
)
def test_last_change(
    builds: list[tuple[str, ...]], expected: tuple[int, tuple[str], tuple[str]] | None
) -> None:
    found = last_change([(float(at), build) for at, build in enumerate(builds)])

    assert (found and (found.at, found.before, found.after)) == expected


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1, 0.2, 0.5])
@pytest.mark.parametrize(
    ("new", "other"),
    [
        pytest.param(B, A, id="a-canary-has-come-once"),
        pytest.param(A, B, id="what-is-left-of-the-old-build-has-not-come-back"),
    ],
)
def test_a_build_with_a_small_share_of_the_turns_does_not_come_and_go(
    new: tuple[str], other: tuple[str], share: float
) -> None:
    chance = random.Random(5)
    for _ in range(50):
        mixed = chance.choices([new, other], [share, 1 - share], k=600)
        builds = [A] * 300 + [B] + mixed
        found = last_change([(float(at), build) for at, build in enumerate(builds)])

        assert found is not None
        assert (found.at, found.after) == (300, B)


@pytest.mark.parametrize(
    ("now", "until", "told"),
    [
        pytest.param(NOW + 9_000, NOW + 3_660, "2023-11-14 23:14:20 UTC", id="a-whole-side"),
        pytest.param(NOW + 600, math.inf, "now", id="a-side-that-goes-on"),
    ],
)
def test_around_a_change(now: float, until: float, told: str) -> None:
    builds = [(version, "i", "p", "g", "m") for version in "12"]
    before, after = around(
        Change(at=NOW, before=builds[0], after=builds[1]), guard=60, length=3_600, now=now
    )

    assert (before.since, before.until) == (NOW - 3_660, NOW - 60)
    assert (after.since, after.until) == (NOW + 60, until)
    assert (before.labels["version"], after.labels["version"]) == ("1", "2")
    assert after.told().endswith(f"to {told}")
