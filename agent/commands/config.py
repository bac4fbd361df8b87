"""`loopscope config`: the settings that hold here, and where each comes from."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import click
from click.core import ParameterSource
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agent.commands.options import agent_options
from agent.commands.output import print_json, visible
from agent.http.configured import callers_of
from agent.masking import shown
from agent.settings import Settings

PREFIX = str(Settings.model_config["env_prefix"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Effective:
    """One setting as it holds."""

    name: str
    variable: str
    value: Any
    source: Literal["default", "environment", "option"]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@agent_options
def config(as_json: bool, settings: Settings) -> None:
    """Print the settings in effect and where each comes from; secrets are masked.

    With the options of another command it shows what that one would run with.
    """
    callers_of(settings)  # a wrong one is refused here too
    found = effective(settings)
    if as_json:
        print_json({each.name: asdict(each) for each in found}, indent=2)
        return
    table = Table("variable", "value", "source", box=None, pad_edge=False)
    for each in found:
        value = "" if each.value is None else str(each.value)
        table.add_row(each.variable, Text(visible(value)), each.source)
    Console(soft_wrap=True).print(table)


def effective(settings: Settings) -> list[Effective]:
    """Return every setting of a command that is running."""
    return [
        Effective(
            name=name,
            variable=f"{PREFIX}{name.upper()}",
            value=shown(getattr(settings, name)),
            source=_source(name, settings),
        )
        for name in Settings.model_fields
    ]


def _source(name: str, settings: Settings) -> Literal["default", "environment", "option"]:
    context = click.get_current_context()
    if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
        return "option"
    # An option for the documents takes the other source's variable back: then that one is None.
    is_set = name in settings.model_fields_set and getattr(settings, name) is not None
    return "environment" if is_set else "default"
