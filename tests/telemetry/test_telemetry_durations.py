"""Every option that is a time takes a duration, and all of them the same ones."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from agent.cli import main
from dashboards import durations as durations_of_the_guide
from telemetry.durations import Duration, seconds

ARE_TIMES = {
    "canary --at-most", "canary --every", "canary --slow", "canary --timeout", "compare --guard",
    "compare --timeout", "compare --window",
    "doctor --patience", "doctor --timeout", "probe --every", "probe --timeout",
    "traffic --duration",
}  # fmt: skip


def options(command: click.Command, path: str = "") -> Iterator[tuple[str, click.Option]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from options(below, f"{path}{name} ")
    for option in command.params:
        if isinstance(option, click.Option):
            yield f"{path}{option.opts[0]}", option


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("15s", 15.0, id="seconds"),
        pytest.param("250ms", 0.25, id="milliseconds"),
        pytest.param("1h30m", 5_400.0, id="two-units-add-up"),
        pytest.param("1.5h", 5_400.0, id="decimals"),
        pytest.param("7d", 604_800.0, id="days"),
        pytest.param("2w", 1_209_600.0, id="weeks"),
    ],
)
def test_durations_are_those_of_the_guide_too(text: str, expected: float) -> None:
    assert seconds(text) == durations_of_the_guide.seconds(text) == expected
    assert Duration(0).convert(text, None, None) == expected


@pytest.mark.parametrize("text", ["", "15", "s", "1 h", "-1s", "1y", "15s ago", "nan"])
def test_what_has_no_unit_or_a_wrong_one_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match=r"got .*, expected a duration with units"):
        seconds(text)


@pytest.mark.parametrize(("value", "expected"), [("90", 90.0), ("0.5", 0.5), (60.0, 60.0)])
def test_of_an_option_a_number_alone_is_seconds(value: object, expected: float) -> None:
    assert Duration(0).convert(value, None, None) == expected


@pytest.mark.parametrize(
    ("value", "told"),
    [
        pytest.param(
            "soon",
            "got 'soon', expected a duration with units ms, s, m, h, d or w, such as 30s, 5m or "
            "1h30m, or a number of seconds.",
            id="a-word",
        ),
        pytest.param("0s", "0.0 is not in the range x>0.", id="out-of-the-range"),
        pytest.param("nan", "nan is not a finite number.", id="no-number"),
        pytest.param("9" * 400 + "d", "inf is not a finite number.", id="too-long-to-count"),
        pytest.param("101w1000000d", "got '101w1000000d', expected at most 36500d.", id="ages"),
    ],
)
def test_wrong_usage_says_what_is_expected(value: str, told: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        Duration(0, min_open=True).convert(value, None, None)

    assert caught.value.message == told


def test_every_option_that_is_a_time_is_a_duration() -> None:
    found = dict(options(main))
    told = {path: f"{option.metavar} {option.help}".lower() for path, option in found.items()}

    assert {path for path, option in found.items() if isinstance(option.type, Duration)} == (
        ARE_TIMES
    )
    assert [path for path, text in told.items() if "seconds" in text] == [
        "dashboards render --from"  # Unix seconds are a moment
    ]


@pytest.mark.parametrize("path", sorted(ARE_TIMES))
def test_every_such_option_refuses_a_word_and_says_what_a_duration_is(path: str) -> None:
    command, option = path.split()
    needed = {
        "canary": ["--stable", "1", "--canary", "2", "--records", "r"],
        "probe": ["--url", "http://127.0.0.1:1"],
    }
    ran = CliRunner().invoke(main, [command, *needed.get(command, []), option, "soon"])

    assert (ran.exit_code, ran.stdout) == (2, "")
    assert f"Invalid value for '{option}': got 'soon', expected a duration" in ran.stderr


def test_the_help_says_how_a_duration_is_written() -> None:
    assert "A DURATION is 30s, 5m or 1h30m" in CliRunner().invoke(main, "--help").stdout
