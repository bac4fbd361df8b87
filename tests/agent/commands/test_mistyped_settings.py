"""A variable that is nearly a setting's is refused: what was meant would be left out in silence."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from agent.cli import main
from agent.commands.options import load_settings
from agent.errors import SettingsError


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        pytest.param("LOOPSCOPE_API_KEY", "LOOPSCOPE_API_KEYS", id="a-letter-less"),
        pytest.param("loopscope_max_rewrite", "LOOPSCOPE_MAX_REWRITES", id="in-lower-case"),
        pytest.param("LOOPSCOPE_PROMETHEUS", "LOOPSCOPE_PROMETHEUS_URL", id="a-word-less"),
        pytest.param("LOOPSCOPE_MODLE", "LOOPSCOPE_MODEL", id="letters-changed-places"),
    ],
)
def test_a_mistyped_variable_is_refused(
    monkeypatch: pytest.MonkeyPatch, variable: str, meant: str
) -> None:
    monkeypatch.setenv(variable, "x")
    with pytest.raises(SettingsError, match=f"{variable} .* expected: {meant}[.]"):
        load_settings()


@pytest.mark.parametrize(
    "variable",
    [
        "LOOPSCOPE_PORT",
        "LOOPSCOPE_PORT_8000_TCP",
        "LOOPSCOPE_PORT_8000_TCP_ADDR",
        "LOOPSCOPE_SERVICE_HOST",
        "LOOPSCOPE_SERVICE_PORT",
        "LOOPSCOPE_IMAGE",
        "LOOPSCOPE",
        "MY_LOOPSCOPE_API_KEY",
    ],
)
def test_other_variables_are_left_alone(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "x")
    assert load_settings().model == "local"


def test_no_option_reads_a_variable_that_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    context = click.Context(main)
    commands = [main.get_command(context, name) for name in main.list_commands(context)]
    names = {option.envvar for command in commands if command for option in command.params}
    for name in names - {None}:
        monkeypatch.setenv(str(name), "http://127.0.0.1")

    assert "LOOPSCOPE_METRICS_URL" in names
    load_settings()


def test_a_command_ends_with_2_and_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPSCOPE_API_KEY", "secret")
    result = CliRunner().invoke(main, ["config"])

    assert result.exit_code == 2
    assert "LOOPSCOPE_API_KEYS" in result.output
    assert "secret" not in result.output
