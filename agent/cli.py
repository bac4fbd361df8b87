"""The command line: the only place besides the composition that reaches every package."""

from __future__ import annotations

import errno
import io
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Final

import click

from agent.commands.output import visible

COMMANDS: Final = {
    "ask": ("agent.commands.ask:ask", "Answer a question, or a file of them."),
    "canary": ("telemetry.canary.command:canary", "Promote or roll back a canary, or wait."),
    "compare": (
        "telemetry.compare.command:compare",
        "Say whether a change made it worse, and what is to blame.",
    ),
    "config": ("agent.commands.config:config", "Print the settings in effect."),
    "dashboards": ("dashboards.cli:dashboards", "Generate dashboards, alerts and runbooks."),
    "demo": ("agent.commands.demo:demo", "Show every failure and its alert on this machine."),
    "doctor": ("agent.commands.doctor:doctor", "Say which hop of the telemetry works."),
    "faults": ("agent.commands.faults:faults", "List the faults of a game day."),
    "gaps": ("agent.commands.gaps:gaps", "Group the questions that found nothing."),
    "graph": ("agent.commands.graph:graph", "Print the graph as Mermaid text."),
    "index": ("agent.commands.index:index", "Index your own documents."),
    "lab": ("agent.commands.lab:lab", "Measure what every bound costs, and choose one."),
    "mark": ("agent.commands.mark:mark", "Mark what changed, for compare and the boards."),
    "probe": ("agent.commands.probe:probe", "Ask a service known questions on a schedule."),
    "review": ("agent.commands.review:review", "Judge refusals; estimate how many are wrong."),
    "serve": ("agent.commands.serve:serve", "Serve the HTTP API, the console and /metrics."),
    "traffic": ("agent.commands.traffic:traffic", "Ask a service a mix of questions."),
}
"""Sub-command -> where it is, and its line in the overview.

It is imported when called: a command needs few of the parts, and the overview none.
"""
HIDDEN: Final = {"worker": "agent.commands.worker:worker"}
"""What other commands start, and no person."""


class _Failure(click.ClickException):
    """An error as the command line prints it: one line on standard error."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code  # type: ignore[misc]  # click reads it

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the error."""
        click.echo(f"error: {visible(self.message)}", file=file, err=True)


class Commands(click.Group):
    """A group of lazily imported commands, which may raise our errors.

    A command exits with 2 for wrong usage and with 1 for what failed all the same.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all sub-commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a sub-command."""
        where = COMMANDS[cmd_name][0] if cmd_name in COMMANDS else HIDDEN.get(cmd_name)
        if where is None:
            return None
        module, _, name = where.partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the overview of the sub-commands without importing one."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line with streams that take every text."""
        _mend_streams()
        return super().main(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command and turn an error of ours, or of the system, into a line and a code."""
        try:
            return super().invoke(ctx)
        except OSError as error:
            if error.errno == errno.EPIPE:  # whoever reads has seen enough: click ends quietly
                raise
            raise _Failure(_system_problem(error)) from error
        except Exception as error:
            # Every error of our packages has a `code`; anything else is a fault, shown as one.
            if hasattr(error, "code") and type(error).__module__.split(".")[0] in _OURS:
                raise _Failure(str(error), getattr(error, "exit_code", 1)) from error
            raise


_OURS: Final = ("agent", "telemetry", "dashboards")


def _mend_streams() -> None:
    """Open what the shell closed, and let text pass that the terminal cannot show."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - kept open
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _system_problem(error: OSError) -> str:
    """Say what the operating system refused."""
    where = f" for {str(error.filename)!r}" if error.filename else ""
    found = error.strerror or type(error).__name__
    return f"cannot read or write: got {found!r}{where}; check the path, its rights and the disk."


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="A DURATION is 30s, 5m or 1h30m (ms, s, m, h, d, w); a number alone is seconds.",
)
@click.version_option(package_name="loopscope")
def main() -> None:
    """Loopscope: a support agent with a bounded rewrite loop, and telemetry for any such loop."""
