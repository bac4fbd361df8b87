"""The command line: the only place besides the composition that reaches every package."""

from __future__ import annotations

from importlib import import_module
from typing import IO, Any, Final

import click

COMMANDS: Final = {
    "ask": "agent.commands.ask:ask",
    "dashboards": "dashboards.cli:dashboards",
    "demo": "agent.commands.demo:demo",
    "doctor": "agent.commands.doctor:doctor",
    "faults": "agent.commands.faults:faults",
    "graph": "agent.commands.graph:graph",
    "index": "agent.commands.index:index",
    "lab": "agent.commands.lab:lab",
    "serve": "agent.commands.serve:serve",
    "traffic": "agent.commands.traffic:traffic",
}
"""Sub-command -> where it is. Imported when called: a command needs few of the parts."""


class _Failure(click.ClickException):
    """An error of ours as the command line prints it: one line on standard error."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.exit_code = getattr(error, "exit_code", 1)  # type: ignore[misc]  # click reads it

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the error."""
        click.echo(f"error: {self.message}", file=file, err=True)


class Commands(click.Group):
    """A group of lazily imported commands, which may raise our errors.

    A command exits with 2 for wrong usage and with 1 for what failed all the same.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all sub-commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a sub-command."""
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, _, name = place.partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command and turn an error of ours into a line and an exit code."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            # Every error of our packages has a `code`; anything else is a fault, shown as one.
            if hasattr(error, "code") and type(error).__module__.split(".")[0] in _OURS:
                raise _Failure(error) from error
            raise


_OURS: Final = ("agent", "telemetry", "dashboards")


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="loopscope")
def main() -> None:
    """Loopscope: a support agent with a bounded rewrite loop, and telemetry for any such loop."""
