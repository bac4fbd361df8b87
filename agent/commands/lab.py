"""`loopscope lab`: the published tables, and the same for any golden set and any model."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click
from click.core import ParameterSource
from rich.console import Console

from agent.commands.options import agent_options
from agent.commands.output import print_json
from agent.commands.progress import progress_bar
from agent.compose import Composition
from agent.documents import subjects_of
from agent.lab.budget import Budget, tokens_per_call
from agent.lab.render import print_report
from agent.lab.report import PUBLISHED_BOUND, Lab, LabReport
from agent.service import SupportAgent
from agent.settings import RouterOrder, Settings

VARIED = ("max_rewrites", "topic_check", "router_order")
"""Settings that the lab sets for each run."""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object.")
@click.option(
    "--max-bound",
    type=click.IntRange(PUBLISHED_BOUND, 20),
    default=3,
    show_default=True,
    help="Measure the bounds 0 to N.",
)
@click.option(
    "--recursion-limit",
    "limits",
    type=click.IntRange(1, 100_000),
    multiple=True,
    default=(25,),
    show_default=True,
    help="Run the unbounded graph with it, besides LangGraph's default; may be repeated.",
)
@click.option(
    "--max-false-rejections",
    type=click.IntRange(0),
    default=None,
    help="Exit with 1 when the topic check refuses more on-topic questions than this.",
)
@click.option(
    "--budget",
    type=click.IntRange(1),
    default=None,
    metavar="TOKENS",
    help="Find the largest bounds of both loops with which one request stays within it.",
)
@click.option(
    "--price",
    type=click.FloatRange(0),
    default=None,
    metavar="MONEY",
    help="Of a million tokens; with --budget.",
)
@agent_options
def lab(
    *,
    as_json: bool,
    max_bound: int,
    limits: tuple[int, ...],
    max_false_rejections: int | None,
    budget: int | None,
    price: float | None,
    settings: Settings,
) -> None:
    """Ask a golden set at every bound and print what it costs and where to set the bound.

    Without --model it uses the published lab's stand-ins (`golden`). The bound, the topic check and
    the router's order are what the lab varies: it runs with each and takes none of their options.
    With --clarify it also shows what asking back does to silent rejections.
    """
    _refuse_varied(click.get_current_context())
    if "model" not in settings.model_fields_set:
        settings = settings.model_copy(update={"model": "golden"})
    if price is not None and budget is None:
        raise click.UsageError("--price says what --budget costs; give both")
    composition = Composition(settings)

    def make_agent(
        *, max_rewrites: int, topic_check: bool, router_order: RouterOrder, clarify: bool = False
    ) -> SupportAgent:
        varied = {
            "max_rewrites": max_rewrites,
            "topic_check": topic_check,
            "router_order": router_order,
            "clarify": clarify,
        }
        return composition.agent(settings.model_copy(update=varied))

    experiment = Lab(
        make_agent=make_agent,
        golden=composition.golden,
        k=settings.k,
        max_bound=max_bound,
        recursion_limits=(None, *limits),
        clarify=settings.clarify,
        budget=_budget(composition, settings, budget, price) if budget is not None else None,
    )
    with progress_bar() as progress:
        task = progress.add_task("asking", total=experiment.questions_to_ask)
        report = experiment.run(lambda: progress.advance(task))
    if as_json:
        print_json(report.as_json(), indent=2)
    else:
        print_report(report, Console())
    problems = list(_problems(report, max_false_rejections))
    for problem in problems:
        click.echo(f"error: {problem}", err=True)
    if problems:
        sys.exit(1)


def _budget(
    composition: Composition, settings: Settings, tokens: int, price: float | None
) -> Budget:
    """Return what one request may cost, with its parts measured on the documents at hand."""
    chunks = composition.index.chunks
    return Budget(
        tokens=tokens,
        price=price,
        k=settings.k,
        tokens_per_draft=settings.revise_tokens_per_draft,
        per_call=tokens_per_call(
            [question.question for question in composition.golden],
            chunks,
            k=settings.k,
            subjects=subjects_of(settings, chunks),
        ),
    )


for _option in lab.params:
    if isinstance(_option, click.Option) and _option.name in (*VARIED, "records"):
        _option.hidden = True  # refused, or without a use here: the help does not offer it


def _problems(report: LabReport, max_false_rejections: int | None) -> Iterator[str]:
    """Say why the figures are not good enough to exit with 0."""
    failed, rejected = len(report.failed()), len(report.false_rejections())
    if failed:
        yield f"{failed} turns failed, expected none; see `failed`, and check the model"
    if max_false_rejections is not None and rejected > max_false_rejections:
        yield (
            f"{rejected} on-topic questions were refused, expected at most "
            f"{max_false_rejections}; see `guardrail_false_rejections`"
        )


def _refuse_varied(ctx: click.Context) -> None:
    """Refuse an option that would be given and then not used."""
    for field in VARIED:
        if ctx.get_parameter_source(field) is ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"the lab varies {field.replace('_', ' ')} itself; leave its option out, "
                "and choose the largest bound with --max-bound N"
            )
