"""The command line takes what docker-compose.yml gives it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from agent.cli import main

COMPOSE = yaml.safe_load((Path(__file__).parents[2] / "docker-compose.yml").read_text())


@pytest.mark.parametrize(
    ("service", "command"),
    [
        pytest.param(
            service,
            command,
            id=command,
            marks=pytest.mark.skipif(command not in main.commands, reason="no such command yet"),
        )
        for service, command in (("agent", "serve"), ("traffic", "traffic"))
    ],
)
def test_command_takes_its_arguments(service: str, command: str) -> None:
    name, *arguments = COMPOSE["services"][service]["command"]
    context = main.commands[command].make_context(command, list(arguments))

    assert name == command
    assert context.args == []
