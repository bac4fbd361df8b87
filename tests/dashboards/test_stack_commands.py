"""The command line takes what docker-compose.yml gives it."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
import yaml

from agent.cli import main

COMPOSE = yaml.safe_load((Path(__file__).parents[2] / "docker-compose.yml").read_text())


@pytest.mark.parametrize(
    ("service", "command"),
    [
        pytest.param("agent", "serve", id="the-agent-serves"),
        pytest.param("traffic", "traffic", id="the-generator-asks"),
        pytest.param("probe", "probe", id="the-prober-asks"),
    ],
)
def test_command_takes_its_arguments(service: str, command: str) -> None:
    name, *arguments = COMPOSE["services"][service]["command"]
    found = main.get_command(click.Context(main), command)
    assert found is not None
    context = found.make_context(command, list(arguments))

    assert name == command
    assert context.args == []
