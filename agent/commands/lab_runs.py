"""Kept runs of the lab on the command line: which one is meant, the list, and the comparison."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agent.beside import FileBesideError, path_beside
from agent.commands.options import records_of
from agent.commands.output import print_json
from agent.errors import KeptRunError
from agent.lab import comparison_report
from agent.lab.comparison import LabComparison
from agent.lab.comparison_report import markdown, print_comparison, summary
from agent.lab.kept import KeptRun, read_run
from agent.lab.shelf import HOLDS, Shelf
from agent.settings import NO_RECORDS, Settings

LAST: Final = "last"
_ID: Final = re.compile(r"[0-9a-f]{4,8}")
_KNOWN: Final = 5
"""Ids named in a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptOptions:
    """What the user wants of kept runs."""

    keep: bool
    wants_list: bool
    against: str | None
    compare: tuple[str, str] | None
    allow_flips: int | None
    wants_markdown: bool

    @property
    def measures(self) -> bool:
        """Whether the lab is to run at all."""
        return not self.wants_list and self.compare is None

    def check(self, *, as_json: bool) -> None:
        """Refuse what contradicts itself.

        Raises:
            click.UsageError: An option would be given and then not used.
        """
        compares = self.against is not None or self.compare is not None
        if not self.measures and (self.keep or self.against or (self.wants_list and self.compare)):
            raise click.UsageError(
                "--list and --compare show what is kept, and run nothing; give one of them alone"
            )
        if not compares and (self.allow_flips is not None or self.wants_markdown):
            raise click.UsageError(
                "--allow-flips and --markdown are about a comparison; add --against RUN"
            )
        if self.wants_markdown and as_json:
            raise click.UsageError("--json and --markdown are two forms; leave one out")


def kept_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options about kept runs to a command and hand it their values as one `kept`."""

    @functools.wraps(command)
    def with_kept(**given: Any) -> Any:
        names = KeptOptions.__dataclass_fields__
        return command(kept=KeptOptions(**{name: given.pop(name) for name in names}), **given)

    for option in reversed(_OPTIONS):
        with_kept = option(with_kept)
    return with_kept


_OPTIONS: Final = (
    click.option("--keep", is_flag=True, help="Keep this run in a file beside the turn records."),
    click.option("--list", "wants_list", is_flag=True, help="List the kept runs, newest first."),
    click.option(
        "--against",
        metavar="RUN",
        help="Compare with an earlier run: `last`, its id, or a file that --json wrote.",
    ),
    click.option(
        "--compare", nargs=2, metavar="BEFORE AFTER", default=None, help="Compare two kept runs."
    ),
    click.option(
        "--allow-flips",
        type=click.IntRange(0),
        metavar="N",
        help="Known questions that may become wrong; default: 0 with the models `golden` and "
        "`local`, with others as many as chance explains.",
    ),
    click.option(
        "--markdown", "wants_markdown", is_flag=True, help="Print the comparison as Markdown."
    ),
)


def shelf_of(settings: Settings) -> Shelf:
    """Return where runs are kept.

    Raises:
        SettingsError: Turn records are off, so there is no place beside them.
    """
    return Shelf(path_beside(records_of(settings), HOLDS))


def find_run(name: str, settings: Settings) -> KeptRun:
    """Return the run that a user means.

    Args:
        name: `last`, the beginning of an id, or the path of a file.
        settings: Where runs are kept.

    Raises:
        KeptRunError: There is none such, or the kept runs cannot be read.
    """
    try:
        text = Path(name).read_bytes() if Path(name).exists() else None
    except OSError as error:
        raise KeptRunError(
            name, error.strerror or type(error).__name__, "Check the path."
        ) from None
    if text is not None:
        return read_run(text, name)
    try:
        runs = [] if settings.records == NO_RECORDS else shelf_of(settings).all()
    except FileBesideError as error:  # its own exit code would say that a run was worse
        raise KeptRunError(name, "a file of runs that cannot be read", str(error)) from error
    if name == LAST and runs:
        return runs[0]
    found = [run for run in runs if _ID.fullmatch(name) and run.id.startswith(name)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(run.id for run in runs[:_KNOWN]) or "none"
    got = "an id of several" if found else "no such id or file"
    raise KeptRunError(
        name, got, f"Kept: {known}; `loopscope lab --list` shows all, `lab --keep` keeps one."
    )


def keep_run(run: KeptRun, shelf: Shelf, kept: KeptOptions) -> None:
    """Keep a run.

    Raises:
        FileBesideError: It cannot be kept.
        KeptRunError: The same where the exit code is that of a comparison: 1 would mean worse.
    """
    try:
        shelf.put(run)
    except FileBesideError as error:
        if kept.against is None:
            raise
        raise KeptRunError(run.id, "a file of runs that cannot be written", str(error)) from error
    click.echo(f"kept as run {run.id} in {shelf.path}", err=True)


def show_kept(kept: KeptOptions, settings: Settings, *, as_json: bool) -> int:
    """List the kept runs or compare two of them, and return the exit code."""
    if kept.compare is not None:
        before, after = (find_run(name, settings) for name in kept.compare)
        found = LabComparison(before=before, after=after, allow_flips=kept.allow_flips)
        show_comparison(found, kept, as_json=as_json)
        return found.exit_code
    runs = shelf_of(settings).all()
    if as_json:
        print_json([summary(run) for run in runs], indent=2)
    elif runs:
        _print_list(runs, Console())
    else:
        click.echo("no run was kept yet; `loopscope lab --keep` keeps one")
    return 0


def show_comparison(found: LabComparison, kept: KeptOptions, *, as_json: bool) -> None:
    """Print a comparison in the form that is wanted."""
    if as_json:
        print_json(comparison_report.as_json(found), indent=2)
    elif kept.wants_markdown:
        click.echo(markdown(found), nl=False)
    else:
        print_comparison(found, Console())


def _print_list(runs: list[KeptRun], console: Console) -> None:
    columns = ("id", "time (UTC)", "version", "model", "golden set", "bound", "right", "calls")
    table = Table(*columns, header_style="bold", box=None, pad_edge=False)
    for run in runs:
        cells = (
            run.id,
            f"{run.at.astimezone(UTC):%Y-%m-%d %H:%M}",
            run.build.version,
            run.build.model,
            run.golden_name,
            str(run.bound),
            f"{run.right} of {len(run.questions)}",
            str(run.llm_calls),
        )
        table.add_row(*map(Text, cells))
    console.print(table)
