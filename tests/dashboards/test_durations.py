from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboards import durations
from dashboards.errors import DurationError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("15s", 15.0, id="seconds"),
        pytest.param("7500ms", 7.5, id="milliseconds"),
        pytest.param("1h30m", 5400.0, id="two-units-add-up"),
        pytest.param("7d", 604800.0, id="days"),
        pytest.param("1w", 604800.0, id="a-week-is-seven-days"),
        pytest.param("1.5h", 5400.0, id="decimals-are-understood"),
        pytest.param(90, 90.0, id="a-number-is-seconds"),
    ],
)
def test_seconds(text: str | float, expected: float) -> None:
    assert durations.seconds(text) == expected


@pytest.mark.parametrize("text", ["", "15", "s", "1 h", "-1s", "0s", "1y", "15s ago", float("inf")])
def test_what_is_no_duration_is_refused_with_an_example(text: str | float) -> None:
    with pytest.raises(DurationError) as caught:
        durations.seconds(text)

    assert str(caught.value) == (
        f"no duration: got {text!r}, expected numbers with units ms, s, m, h, d or w, "
        "such as 15s, 1h30m or 7d. Write one of these."
    )


@given(st.integers(1, 10**10))
def test_text_states_milliseconds_exactly(milliseconds: int) -> None:
    written = durations.text(milliseconds / 1000)

    assert round(durations.seconds(written) * 1000) == milliseconds


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(900, "15m", id="the-largest-unit-that-divides"),
        pytest.param(5400, "90m", id="no-mixed-units"),
        pytest.param(0.5, "500ms", id="below-a-second"),
        pytest.param(0, "0s", id="zero"),
    ],
)
def test_text(seconds: float, expected: str) -> None:
    assert durations.text(seconds) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(45, "45 s"), (90, "1.5 min"), (7200, "2 h"), (86400, "24 h"), (172800, "2 days")],
)
def test_spoken(seconds: float, expected: str) -> None:
    assert durations.spoken(seconds) == expected
