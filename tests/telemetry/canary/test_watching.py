from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from rollouts import made_rollout

from telemetry.canary.decision import Decision, decide
from telemetry.canary.watching import Pace, watch
from telemetry.errors import CompareInputError, RecordsMissingError, TelemetryError
from telemetry.fetch import FetchError

WAITING = decide(made_rollout(1, 20, {}), 0.05)
PROMOTE = decide(made_rollout(1, 2_000, {}), 0.05)
ROLL_BACK = decide(made_rollout(1, 300, {"failed": 0.3}), 0.05)
AWAY = FetchError("nobody listens", "Start it.")


class Clock:
    """Time that passes while somebody waits, and one second a look."""

    def __init__(self) -> None:
        self.at = 1_000.0
        self.waited: list[float] = []

    def wait(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.at += seconds

    def pace(self, every: float = 60.0, at_most: float = 300.0) -> Pace:
        return Pace(
            every_seconds=every, at_most_seconds=at_most, now=lambda: self.at, wait=self.wait
        )


def looks(*found: Decision | Exception) -> Callable[[float], Decision]:
    """Return a look that finds one after the other, the last one for ever."""
    coming: Iterator[Decision | Exception] = iter(found)

    def look(now: float) -> Decision:
        told = next(coming, found[-1])
        if isinstance(told, Exception):
            raise told
        return told

    return look


@pytest.mark.parametrize(
    ("found", "expected", "number"),
    [
        pytest.param([WAITING, WAITING, PROMOTE], 0, 3, id="promotes-as-soon-as-it-can"),
        pytest.param([WAITING, ROLL_BACK], 1, 2, id="rolls-back-as-soon-as-it-must"),
        pytest.param([WAITING], 3, 6, id="undecided-when-time-is-up"),
        pytest.param([WAITING, AWAY, AWAY, PROMOTE], 0, 4, id="waits-for-a-source-that-is-away"),
        pytest.param([AWAY, WAITING], 3, 6, id="a-source-that-came-late-is-enough"),
        pytest.param([WAITING, AWAY], 4, 6, id="away-in-the-end-is-told-by-the-code"),
        pytest.param([RecordsMissingError("t.db"), PROMOTE], 0, 2, id="a-store-yet-to-be-written"),
    ],
)
def test_watch(found: list[Decision | Exception], expected: int, number: int) -> None:
    told: list[Decision | str] = []

    code = watch(looks(*found), lambda _, one: told.append(one), Clock().pace())

    assert (code, len(told)) == (expected, number)
    assert [one for one in told if isinstance(one, str) and "nobody listens. Start it." in one] == [
        one for one in told if isinstance(one, str) and "turn records" not in one
    ]


def test_the_last_look_is_when_time_is_up() -> None:
    clock, seen = Clock(), []

    watch(looks(WAITING), lambda at, _: seen.append(at - 1_000), clock.pace(every=120, at_most=300))

    assert seen == [0, 120, 240, 300]
    assert clock.waited == [120, 120, 60]


def test_once_is_one_look() -> None:
    clock = Clock()

    assert watch(looks(WAITING), lambda *_: None, clock.pace(at_most=0)) == 3
    assert clock.waited == []


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(CompareInputError("--graph", "x", "g", "Name it."), id="wrong-usage"),
        pytest.param(ZeroDivisionError(), id="a-fault-of-ours"),
    ],
)
def test_what_no_look_will_change_ends_at_once(error: Exception) -> None:
    with pytest.raises((TelemetryError, ZeroDivisionError)) as raised:
        watch(looks(error), lambda *_: None, Clock().pace())

    assert raised.value is error
