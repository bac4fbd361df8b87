"""`loopscope index DIR`: one's own documents, read and indexed once."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.progress import TaskID
from rich.text import Text

from agent.commands.output import counted, print_json, visible
from agent.commands.progress import progress_bar
from agent.retrieval.index_file import IndexReport, build_index

SHOWN_FILES = 20
"""Skipped files listed on a terminal; `--json` lists all."""


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("loopscope.index"),
    show_default=True,
    help="The index file to write.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
def index(directory: Path, out: Path, as_json: bool) -> None:
    """Index the markdown and text files below DIRECTORY, and say what was left out and why.

    Use the result with --index FILE or LOOPSCOPE_INDEX.
    """
    with progress_bar() as progress:
        tasks: dict[str, TaskID] = {}

        def on_progress(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = progress.add_task(stage, total=total)
            progress.update(tasks[stage], completed=done, total=total)

        report = build_index(directory, out, on_progress)
    if as_json:
        print_json({**asdict(report), "path": str(report.path)})
    else:
        _print(report)


def _print(report: IndexReport) -> None:
    console = Console(soft_wrap=True)
    console.print(
        Text(
            f"{counted(report.n_chunks, 'chunk')} with {counted(report.n_words, 'different word')} "
            f"from {counted(report.n_files, 'file')}, {report.n_bytes / 1e3:,.1f} kB in "
            f"{report.path} ({report.fingerprint})"
        )
    )
    for skipped in report.skipped[:SHOWN_FILES]:
        console.print(Text(visible(f"skipped {skipped.path}: {skipped.reason}"), style="yellow"))
    if len(report.skipped) > SHOWN_FILES:
        console.print(Text(f"and {len(report.skipped) - SHOWN_FILES} more; --json lists all"))
    for warning in report.warnings:
        console.print(Text(f"warning: {warning}", style="yellow"))
