"""No option takes `nan` or an infinity for a number."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from agent.cli import main
from telemetry.finite import FiniteRange

KIND = FiniteRange(1, 50, min_open=True)


@pytest.mark.parametrize("value", ["nan", "-nan", "inf", "-inf", "1e999", "1", "51", "x", ""])
def test_what_is_no_number_of_the_range_is_wrong_usage(value: str) -> None:
    with pytest.raises(click.BadParameter):
        KIND.convert(value, None, None)


@pytest.mark.parametrize(("value", "number"), [("1.5", 1.5), ("50", 50.0), (2, 2.0)])
def test_numbers_of_the_range_are_taken(value: object, number: float) -> None:
    assert KIND.convert(value, None, None) == number


@pytest.mark.parametrize(
    "line",
    [
        "canary --stable 1 --canary 2 --records r --once --worse-by nan",
        "canary --stable 1 --canary 2 --records r --once --slow nan",
        "probe --url http://127.0.0.1:1 --rounds 1 --api-key k --every nan",
        "probe --url http://127.0.0.1:1 --rounds 1 --api-key k --timeout nan",
        "traffic --url http://127.0.0.1:1 --rate nan",
        "lab --budget 1000 --price nan",
    ],
)
def test_every_command_refuses_nan(line: str) -> None:
    ran = CliRunner().invoke(main, line.split())
    assert (ran.exit_code, "finite" in ran.stderr) == (2, True), ran.output


def test_every_range_of_floats_is_finite() -> None:
    ranges: dict[str, click.FloatRange] = {}

    def look(command: click.Command, path: str) -> None:
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                below = command.get_command(context, name)
                assert below is not None
                look(below, f"{path} {name}")
        for option in command.params:
            if isinstance(option.type, click.FloatRange):
                ranges[f"{path} {option.name}"] = option.type

    look(main, "loopscope")
    assert {"loopscope canary worse_by", "loopscope probe every"} <= set(ranges)
    assert [at for at, kind in ranges.items() if not isinstance(kind, FiniteRange)] == []
