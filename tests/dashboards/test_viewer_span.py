from __future__ import annotations

import pytest

from dashboards.errors import DurationError, RangeError
from dashboards.render.span import Span, iso, make_span, moment

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("now", NOW, id="now"),
        pytest.param("now-6h", NOW - 21600, id="hours-ago"),
        pytest.param("now-1h30m", NOW - 5400, id="a-duration-of-two-units"),
        pytest.param("1799999000", 1799999000.0, id="unix-seconds"),
        pytest.param("2027-01-15T08:00:00+00:00", NOW, id="iso-with-zone"),
        pytest.param("2027-01-15T09:00:00+01:00", NOW, id="iso-with-another-zone"),
        pytest.param("2027-01-15 08:00", NOW, id="iso-without-zone-is-utc"),
    ],
)
def test_moment(text: str, expected: float) -> None:
    assert moment(text, NOW) == expected


def test_a_text_that_is_no_moment_is_refused() -> None:
    with pytest.raises(RangeError) as caught:
        moment("yesterday", NOW)

    assert str(caught.value) == (
        "no time range: got 'yesterday', expected ISO 8601, Unix seconds, now, or now-6h. "
        "Correct it."
    )
    with pytest.raises(DurationError):
        moment("now-soon", NOW)


def test_a_range_must_have_a_length() -> None:
    with pytest.raises(RangeError, match="expected a start before the end"):
        make_span(start="now", end="now-1h", now=NOW)


@pytest.mark.parametrize(
    ("seconds", "at_least", "expected"),
    [
        pytest.param(21600, 0, 90.0, id="six-hours-in-240-steps"),
        pytest.param(21600, 300, 300.0, id="a-panel-may-ask-for-more"),
        pytest.param(60, 0, 0.25, id="a-minute-is-not-rounded"),
    ],
)
def test_step(seconds: float, at_least: float, expected: float) -> None:
    assert Span(start=NOW - seconds, end=NOW).step(at_least) == expected


def test_ends_are_told_in_utc() -> None:
    assert Span(start=NOW - 60, end=NOW).told() == "2027-01-15 07:59:00 to 08:00:00 UTC"
    assert Span(start=NOW - 86400, end=NOW).told() == (
        "2027-01-14 08:00:00 to 2027-01-15 08:00:00 UTC"
    )
    assert iso(NOW + 0.25) == "2027-01-15T08:00:00.250"
