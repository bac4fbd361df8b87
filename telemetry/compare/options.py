"""Where the turns are, as an option of every command that compares; and a source that is away."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click
from click.core import ParameterSource

from telemetry.durations import Duration
from telemetry.errors import (
    CompareInputError,
    NoChangeError,
    NothingComparedError,
    TelemetryError,
)
from telemetry.fetch import TIMEOUT_SECONDS, FetchError
from telemetry.prometheus_api import Prometheus

_Found = TypeVar("_Found")
_SOURCES: Final = ("records_url", "prometheus_url")


def source_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--records`, `--prometheus`, `--timeout`, `--graph` and `--job`.

    The command gets `records_url`, and the server of `--prometheus` as `prometheus`. A source that
    is named on the command line takes the place of one that a variable names.
    """

    @functools.wraps(command)
    def with_source(**given: Any) -> Any:
        context = click.get_current_context()
        typed = [
            name
            for name in _SOURCES
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        ]
        for name in _SOURCES:
            if typed and name not in typed:
                given[name] = None
        url, seconds = given.pop("prometheus_url"), given.pop("timeout_seconds")
        server = None if url is None else Prometheus(url=url, timeout_seconds=seconds)
        return command(prometheus=server, **given)

    for option in reversed(
        (
            click.option(
                "--records",
                "records_url",
                envvar="LOOPSCOPE_RECORDS",
                show_envvar=True,
                metavar="PATH|URL",
                help="Read turn records: they know single turns.",
            ),
            click.option(
                "--prometheus",
                "prometheus_url",
                envvar="LOOPSCOPE_PROMETHEUS_URL",
                show_envvar=True,
                metavar="URL",
                help="Read counters.",
            ),
            click.option(
                "--timeout",
                "timeout_seconds",
                type=Duration(0, 3_600, min_open=True),
                default=f"{TIMEOUT_SECONDS:g}s",
                show_default=True,
                help="Longest wait for one reply of Prometheus.",
            ),
            click.option("--graph", help="Which graph; needed when there are several."),
            click.option("--job", help="Which job of Prometheus; needed when there are several."),
        )
    ):
        with_source = option(with_source)
    return with_source


def records_beside_prometheus() -> tuple[str, bool] | None:
    """Return the records that hold the marks for `--prometheus`, and whether they must be there.

    Those that a variable names need not. None when there are no records, or when `--prometheus`
    was not typed: then the records are what is read, or two variables contradict each other.
    """
    context = click.get_current_context()
    url = context.params["records_url"]
    is_typed = {
        name: context.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in _SOURCES
    }
    if url is None or not is_typed["prometheus_url"]:
        return None
    return url, is_typed["records_url"]


def refuse_two_sources(records_url: str | None, prometheus: Prometheus | None) -> None:
    """Make sure that there is one source.

    Raises:
        CompareInputError: There is none, or there are two.
    """
    if (records_url is None) == (prometheus is None):
        got = "neither" if records_url is None else "both"
        raise CompareInputError(
            "source",
            got,
            "--records or --prometheus",
            "Name one: the records are where `loopscope serve` keeps turns "
            "(`loopscope config` shows it).",
        )


def readable(find: Callable[[], _Found]) -> _Found:
    """Return what is found.

    Raises:
        NothingComparedError: The source cannot be read; its exit code is 4, for 1 means worse.
        CompareInputError: What is asked for is not there.
        NoChangeError: There is nothing around which to compare.
    """
    try:
        return find()
    except FetchError as error:
        raise NothingComparedError(f"{error}. {error.fix}") from error
    except (CompareInputError, NoChangeError, NothingComparedError):
        raise
    except TelemetryError as error:
        raise NothingComparedError(str(error)) from error
