"""`loopscope gaps`: what people asked and the documents did not answer."""

from __future__ import annotations

import click

from agent.commands.options import agent_options, records_of
from agent.commands.output import counted, print_json, visible
from agent.documents import open_index
from agent.gaps.export import as_csv, as_json, trend
from agent.gaps.report import Gap, Gaps, find_gaps
from agent.settings import Settings
from telemetry.content import VARIABLE
from telemetry.records import open_reader


@click.command()
@click.option("--json", "is_json", is_flag=True, help="Print one JSON object.")
@click.option("--csv", "is_csv", is_flag=True, help="Print a table for a spreadsheet.")
@click.option(
    "--limit", type=click.IntRange(1), default=20, show_default=True, help="Groups to print."
)
@agent_options
def gaps(is_json: bool, is_csv: bool, limit: int, settings: Settings) -> None:
    """Group the questions that found nothing, with the nearest chunks and the missing words.

    Reads the turn records of `serve` (--records).
    """
    if is_json and is_csv:
        raise click.UsageError("--json and --csv print the same; give one of them")
    with open_reader(records_of(settings)) as reader:
        found = find_gaps(reader, open_index(settings))
    if is_json:
        print_json(as_json(found), indent=2)
    elif is_csv:
        click.echo(as_csv(found), nl=False)
    else:
        _print(found, limit)


def _print(found: Gaps, limit: int) -> None:
    groups = counted(len(found.gaps), "group")
    click.echo(f"{counted(found.turns, 'turn')} without results, {groups}")
    if found.captured < found.turns:
        click.echo(
            f"{counted(found.turns - found.captured, 'turn')} without text: set "
            f"{VARIABLE}=SPAN_ONLY for `serve` to see what is asked and which words are missing",
            err=True,
        )
    for gap in found.gaps[:limit]:
        click.echo(f"\n{gap.turns:>6}  {_title(gap)}")
        for question in gap.questions[1:]:
            click.echo(f"        {visible(question)}")
        click.echo(f"        trend: {trend(gap)}")
        if gap.nearest:
            near = ", ".join(f"{visible(id_)} {score:.3f}" for id_, score in gap.nearest)
            click.echo(f"        nearest: {near}")
        if gap.missing_words:
            click.echo(f"        words missing: {visible(', '.join(gap.missing_words))}")


def _title(gap: Gap) -> str:
    return visible(gap.questions[0]) if gap.questions else f"(no text) turn {gap.turn_ids[0]}"
