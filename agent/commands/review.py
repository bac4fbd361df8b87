"""`loopscope review`: judge refused questions, and see how many refusals are wrong."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Final

import click

from agent.beside import path_beside
from agent.commands.options import load_settings, records_of
from agent.commands.output import counted, print_json, visible
from agent.review.estimate import Estimate, estimate
from agent.review.export import as_csv, as_golden, as_labelled
from agent.review.sample import SHARE, Refusal, sample
from agent.review.verdicts import HOLDS, Judgement, Verdict, Verdicts, verdict_on
from telemetry.content import VARIABLE
from telemetry.finite import FiniteRange
from telemetry.records import open_reader

EXPORTS: Final[dict[str, Callable[[Sequence[Verdict]], str]]] = {
    "csv": as_csv,
    "labelled": as_labelled,
    "golden": as_golden,
}
KEYS: Final[dict[str, Judgement]] = {"r": "right", "w": "wrong"}


@click.command()
@click.option("--records", metavar="PATH|URL", help="The turn records; default: those of `serve`.")
@click.option(
    "--share",
    type=FiniteRange(0, 1),
    default=SHARE,
    show_default=True,
    help="Share of the refusals with more than LOW confidence that is shown.",
)
@click.option(
    "--export", type=click.Choice(sorted(EXPORTS)), help="Print the verdicts, and judge none."
)
@click.option("--json", "as_json", is_flag=True, help="Print the estimate, and judge none.")
def review(records: str | None, share: float, export: str | None, as_json: bool) -> None:
    """Judge refused questions, one key each: r right, w wrong (it was on topic), s skip, q quit.

    Every refusal of LOW confidence is shown and a random share of the others; the verdicts are
    kept in a file beside the records, and shared with the console.
    """
    url = records_of(load_settings(records=records))
    verdicts = Verdicts(path_beside(url, HOLDS))
    if export is not None:
        click.echo(EXPORTS[export](verdicts.all()), nl=False)
        return
    with open_reader(url) as reader:
        shown = sample(reader, share=share)
        if not as_json:
            judged = {verdict.turn_id for verdict in verdicts.all()}
            left = [r for r in shown.refusals if r.record.id not in judged]
            _tell_of(left)
            if sys.stdin.isatty():
                _judge_all(left, verdicts)
    found = estimate(verdicts.all(), turns=shown.turns, unsure=shown.unsure, sure=shown.sure)
    if as_json:
        print_json(asdict(found))
    else:
        click.echo(told(found))


def told(found: Estimate) -> str:
    """Return the estimate in words."""
    said = f"{found.judged} refusals judged, {found.wrong} of them wrong"
    if found.share_of_turns is None or found.turns_low is None or found.turns_high is None:
        return f"{said}; too few of each kind to estimate the silent-rejection rate"
    return (
        f"{said}; silent rejections: {found.share_of_turns:.1%} of all turns "
        f"(95 % interval {found.turns_low:.1%} to {found.turns_high:.1%})"
    )


def _tell_of(left: Sequence[Refusal]) -> None:
    """Say on standard error what stands in the way of judging."""
    unread = sum(refusal.record.question is None for refusal in left)
    if unread:
        click.echo(
            f"{counted(unread, 'refusal')} without text: set {VARIABLE}=SPAN_ONLY for `serve` to "
            "see what is refused from then on",
            err=True,
        )
    if left and not sys.stdin.isatty():
        click.echo(
            f"{counted(len(left), 'refusal')} to judge: run `loopscope review` in a terminal, or "
            "judge on the console's page Review",
            err=True,
        )


def _judge_all(left: Sequence[Refusal], verdicts: Verdicts) -> None:
    for number, refusal in enumerate(left, 1):
        record = refusal.record
        question = "(text was not captured)" if record.question is None else record.question
        click.echo(f"[{number}/{len(left)}] {record.confidence or 'unknown'} confidence")
        click.echo(f"  {visible(question)}")
        key = ""
        while key not in (*KEYS, "s", "q"):
            click.echo("  r right, w wrong, s skip, q quit: ", nl=False)
            key = click.getchar().lower()
            click.echo(key)
        if key == "q":
            return
        if key in KEYS:
            verdicts.put(
                verdict_on(
                    record.id,
                    KEYS[key],
                    is_sure=refusal.is_sure,
                    question=record.question,
                    by=getpass.getuser(),
                )
            )
