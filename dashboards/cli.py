"""`loopscope dashboards`: write what the guide generates, or check that it is up to date."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dashboards.errors import DashboardsError
from dashboards.generators import generated
from dashboards.output import Tree
from dashboards.render.command import render
from dashboards.settings import Settings, load_settings


class _Commands(click.Group):
    """A group whose commands may raise `DashboardsError`."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command and turn an error of ours into a line and an exit code."""
        try:
            return super().invoke(ctx)
        except DashboardsError as error:
            click.echo(f"error: {error}", err=True)
            ctx.exit(error.exit_code)


def settings_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add one option for each setting and hand the command their values as one `settings`."""

    @functools.wraps(command)
    def with_settings(**given: Any) -> Any:
        chosen = {field: given.pop(field) for field in Settings.model_fields}
        return command(settings=load_settings(**chosen), **given)

    for field, about in reversed(Settings.model_fields.items()):
        option = click.option(
            f"--{field.replace('_', '-')}",
            field,
            default=None,
            metavar="X",
            help=f"{about.description} [{_default(field)}]",
        )
        with_settings = option(with_settings)
    return with_settings


def _default(field: str) -> str:
    value = Settings().model_dump()[field]
    if isinstance(value, dict):
        return ",".join(f"{key}={item}" for key, item in value.items())
    return ",".join(value) if isinstance(value, tuple) else str(value)


_out_option = click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for all files; default: their places in this checkout.",
)


@click.group(cls=_Commands)
def dashboards() -> None:
    """Rules, dashboards and runbooks, generated from one diagnosis guide."""


@dashboards.command()
@_out_option
@settings_options
def generate(settings: Settings, out: Path | None) -> None:
    """Write every generated file."""
    files = generated(settings)
    done = Tree(out).write(files)
    click.echo(f"{len(files)} files are up to date: {done}", err=True)


@dashboards.command()
@_out_option
@settings_options
def check(settings: Settings, out: Path | None) -> None:
    """Compare the files with what would be generated; exit 1 and name each that differs."""
    files = generated(settings)
    Tree(out).check(files, repair=_as_typed(generate))
    click.echo(f"{len(files)} files are up to date", err=True)


def _as_typed(command: click.Command) -> str:
    """Return the line that runs a command with the options of the one that is running."""
    given = click.get_current_context().params
    options = [
        word
        for parameter in command.params
        if (value := given.get(str(parameter.name))) is not None
        for word in (parameter.opts[0], str(value))
    ]
    return shlex.join(["loopscope", "dashboards", str(command.name), *options])


dashboards.add_command(render)
