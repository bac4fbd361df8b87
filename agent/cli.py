"""The command line: the only place besides the composition that reaches every package."""

from __future__ import annotations

from typing import IO, Any

import click

from agent.commands.ask import ask
from agent.commands.demo import demo
from agent.commands.doctor import doctor
from agent.commands.faults import faults
from agent.commands.graph import graph
from agent.commands.index import index
from agent.commands.lab import lab
from agent.commands.serve import serve
from agent.commands.traffic import traffic
from agent.errors import AgentError
from dashboards.cli import dashboards
from telemetry.errors import TelemetryError


class _Failure(click.ClickException):
    """An error of ours as the command line prints it: one line on standard error."""

    def __init__(self, error: AgentError | TelemetryError) -> None:
        super().__init__(str(error))
        self.exit_code = getattr(error, "exit_code", 1)  # type: ignore[misc]  # click reads the instance's

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the error."""
        click.echo(f"error: {self.message}", file=file, err=True)


class Commands(click.Group):
    """A group whose commands may raise our errors: exit 2 for wrong usage, 1 for a failure."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command and turn an error of ours into a line and an exit code."""
        try:
            return super().invoke(ctx)
        except (AgentError, TelemetryError) as error:
            raise _Failure(error) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="loopscope")
def main() -> None:
    """Loopscope: a support agent with a bounded rewrite loop, and telemetry for any such loop."""


for command in (ask, lab, index, graph, serve, traffic, faults, demo, dashboards, doctor):
    main.add_command(command)
