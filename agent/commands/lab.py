"""`loopscope lab`: the published tables, and the same for any golden set and any model."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click
from click.core import ParameterSource
from rich.console import Console

from agent.commands.lab_runs import (
    KeptOptions,
    find_run,
    keep_run,
    kept_options,
    shelf_of,
    show_comparison,
    show_kept,
)
from agent.commands.options import agent_options
from agent.commands.output import print_json
from agent.commands.progress import progress_bar
from agent.compose import Composition
from agent.documents import subjects_of
from agent.lab import comparison_report
from agent.lab.budget import Budget, tokens_per_call
from agent.lab.comparison import LabComparison
from agent.lab.kept import KeptRun, keep
from agent.lab.render import print_report
from agent.lab.report import PUBLISHED_BOUND, Lab, LabReport
from agent.service import SupportAgent
from agent.settings import RouterOrder, Settings
from telemetry.finite import FiniteRange

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
    type=FiniteRange(0),
    default=None,
    metavar="MONEY",
    help="Of a million tokens; with --budget.",
)
@kept_options
@agent_options
def lab(
    *,
    as_json: bool,
    max_bound: int,
    limits: tuple[int, ...],
    max_false_rejections: int | None,
    budget: int | None,
    price: float | None,
    kept: KeptOptions,
    settings: Settings,
) -> None:
    """Ask a golden set at every bound and print what it costs and where to set the bound.

    Without --model it uses the published lab's stand-ins (`golden`). The bound, the topic check and
    the router's order are what the lab varies: it runs with each and takes none of their options.
    With --clarify it also shows what asking back does to silent rejections. With --against and
    --compare it ends with 0 fine, 1 worse, 3 not enough data, 4 no such run.
    """
    _refuse_varied(click.get_current_context())
    if "model" not in settings.model_fields_set:
        settings = settings.model_copy(update={"model": "golden"})
    if price is not None and budget is None:
        raise click.UsageError("--price says what --budget costs; give both")
    kept.check(as_json=as_json)
    if not kept.measures:
        sys.exit(show_kept(kept, settings, as_json=as_json))
    # Read before the measuring, which may take long and cost money.
    before = find_run(kept.against, settings) if kept.against is not None else None
    shelf = shelf_of(settings) if kept.keep else None
    if shelf is not None:
        shelf.check()
    composition = Composition(settings)
    allowed = _budget(composition, settings, budget, price) if budget is not None else None
    experiment = _experiment(composition, max_bound=max_bound, limits=limits, budget=allowed)
    with progress_bar() as progress:
        task = progress.add_task("asking", total=experiment.questions_to_ask)
        report = experiment.run(lambda: progress.advance(task))
    run = keep(report, settings, composition.build(composition.parts(settings)))
    if shelf is not None:
        keep_run(run, shelf, kept)
    found = None
    if before is not None:
        found = LabComparison(before=before, after=run, allow_flips=kept.allow_flips)
    _show(report, run, found, kept, as_json=as_json)
    problems = list(_problems(report, max_false_rejections))
    for problem in problems:
        click.echo(f"error: {problem}", err=True)
    sys.exit(1 if problems else found.exit_code if found is not None else 0)


def _experiment(
    composition: Composition, *, max_bound: int, limits: tuple[int, ...], budget: Budget | None
) -> Lab:
    settings = composition.settings

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

    return Lab(
        make_agent=make_agent,
        golden=composition.golden,
        k=settings.k,
        max_bound=max_bound,
        recursion_limits=(None, *limits),
        clarify=settings.clarify,
        budget=budget,
    )


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
    if isinstance(_option, click.Option) and _option.name in VARIED:
        _option.hidden = True  # refused: the help does not offer it


def _show(
    report: LabReport,
    run: KeptRun,
    found: LabComparison | None,
    kept: KeptOptions,
    *,
    as_json: bool,
) -> None:
    """Print the tables, and the comparison after them; as Markdown, the comparison alone."""
    if as_json:
        figures = report.as_json()
        figures["more"]["run"] = run.as_json()
        if found is not None:
            figures["more"]["against"] = comparison_report.as_json(found)
        print_json(figures, indent=2)
        return
    if not kept.wants_markdown:
        print_report(report, Console())
    if found is not None:
        show_comparison(found, kept, as_json=False)


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
