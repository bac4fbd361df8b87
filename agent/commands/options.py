"""The options that every command of the agent shares: each sets one field of `Settings`."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, get_args

import click
from pydantic import ValidationError

from agent.errors import SettingsError
from agent.masking import MASKED, SECRETS, shown
from agent.settings import NO_RECORDS, RewriteFrom, RouterOrder, Settings

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


NEARLY: Final = 0.8
"""How alike two names are, 0 to 1, of which one is taken for the other mistyped; chosen by us."""


def _option(*names: str, **attributes: Any) -> Callable[..., Any]:
    """Return an option whose help is the field's description; None when it is not given."""
    field = names[-1].split("/")[0].removeprefix("--").replace("-", "_")
    described = Settings.model_fields[field].description
    return click.option(*names, default=None, help=described, **attributes)


AGENT_OPTIONS = (
    _option("--model", metavar="golden|local|PROVIDER:MODEL"),
    _option("--base-url", metavar="URL"),
    _option("--docs", metavar="DIR"),
    _option("--index", metavar="FILE"),
    _option("--golden", metavar="FILE"),
    _option("--max-rewrites", type=int, metavar="N"),
    _option("--k", type=int, metavar="N"),
    _option("--min-score", type=float, metavar="X"),
    _option("--topic-check/--no-topic-check"),
    _option("--clarify/--no-clarify"),
    _option("--revise/--no-revise"),
    _option("--fallback", metavar="MODULE:ATTRIBUTE"),
    _option("--router-order", type=click.Choice(get_args(RouterOrder))),
    _option("--records", metavar="PATH|URL|off"),
    _option("--local-only", is_flag=True),
    _option("--rewrite-from", type=click.Choice(get_args(RewriteFrom))),
)
_FIELDS = (
    "model", "base_url", "docs", "index", "golden", "max_rewrites", "k", "min_score",
    "topic_check", "clarify", "revise", "fallback", "router_order", "rewrite_from", "records",
    "local_only",
)  # fmt: skip
"""Fields that an option sets; the others are set by their variable alone."""


def agent_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the agent's options to a command and hand it their values as one `settings`."""

    @functools.wraps(command)
    def with_settings(**given: Any) -> Any:
        chosen = {field: given.pop(field) for field in _FIELDS}
        return command(settings=load_settings(**chosen), **given)

    for option in reversed(AGENT_OPTIONS):
        with_settings = option(with_settings)
    return with_settings


def load_settings(**given: Any) -> Settings:
    """Return the settings: given values first, then `LOOPSCOPE_*` variables, then defaults.

    A given `docs` also takes the place of an `index` variable, and the other way round.

    Raises:
        SettingsError: A value is out of range, or a variable's name is nearly that of a setting;
            each is named with what was expected.
    """
    chosen = {name: value for name, value in given.items() if value is not None}
    if mistyped := list(_mistyped(os.environ)):
        raise SettingsError(mistyped)
    for name, other in (("docs", "index"), ("index", "docs")):
        if name in chosen:
            chosen.setdefault(other, None)
    try:
        return Settings(**chosen)
    except ValidationError as error:
        raise SettingsError(map(_told, error.errors())) from None


def records_of(settings: Settings) -> str:
    """Return where turn records are kept.

    Raises:
        SettingsError: Nowhere.
    """
    if settings.records == NO_RECORDS:
        raise SettingsError(["records got 'off', expected: where turn records are kept"])
    return settings.records


def _mistyped(variables: Iterable[str]) -> Iterator[str]:
    """Say which variables are nearly a setting's; others of the prefix may be another program's.

    Kubernetes sets some for a service of our name, such as `LOOPSCOPE_PORT`.
    """
    prefix = Settings.model_config["env_prefix"]
    names = [field.upper() for field in Settings.model_fields]
    for variable in sorted(variables):
        name = variable.upper().removeprefix(prefix)
        if variable.upper().startswith(prefix) and name not in names:
            for meant in get_close_matches(name, names, 1, NEARLY):
                yield f"{variable} is the name of no setting, expected: {prefix}{meant}"


def _told(problem: ErrorDetails) -> str:
    """Say what was got and expected of a setting; a finding about several says so itself."""
    expected = problem["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    if not problem["loc"]:
        return expected
    name = ".".join(map(str, problem["loc"]))
    got = MASKED if name in SECRETS else shown(problem["input"])
    return f"{name} got {got!r}, expected: {expected}"
