"""`loopscope ask`: one question, or a file of them, answered on the terminal or as JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TextIO

import click
from rich.console import Console
from rich.text import Text

from agent.answer import Answer, AnswerChunk
from agent.commands.options import agent_options
from agent.commands.output import counted, print_json, visible
from agent.compose import Composition
from agent.errors import AgentError
from agent.service import valid_question
from agent.settings import NO_RECORDS, Settings

FAILED = ("error", "recursion_limit")
"""Outcomes for which the command exits with 1."""


@click.command()
@click.argument("question", required=False)
@click.option(
    "--file",
    "questions",
    type=click.File(encoding="utf-8-sig", errors="surrogateescape"),
    help="Ask each line of a file; - reads standard input.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a question.")
@agent_options
def ask(question: str | None, questions: TextIO | None, as_json: bool, settings: Settings) -> None:
    """Answer QUESTION from the documents, or refuse it, or say that nothing was found."""
    if (question is None) == (questions is None):
        raise click.UsageError("give one QUESTION, or --file FILE with one question a line")
    if question is not None:
        valid_question(question)
    composition = observed(settings)
    if question is not None:
        answers = iter([composition.default_agent.answer(question)])
    else:
        answers = _answers(composition, questions or ())
    console = Console(soft_wrap=True)
    failed = False
    for answer in answers:
        failed |= answer.outcome in FAILED
        if as_json:
            print_json(answer.as_json())
        else:
            if questions is not None:
                console.print(Text(visible(f"> {answer.question}"), style="bold"))
            print_answer(answer, console)
    if failed:
        sys.exit(1)


def observed(settings: Settings) -> Composition:
    """Return a composition for a command: it exports and keeps records only where told to."""
    composition = Composition(settings)
    export = composition.set_up_export()
    if export.traces is not None:
        click.echo(export.summary, err=True)
    if "records" in settings.model_fields_set and settings.records != NO_RECORDS:
        composition.keep_records(settings.records)
    return composition


def _answers(composition: Composition, questions: Iterable[str]) -> Iterator[Answer]:
    """Answer each line; an unaskable one, also an empty one, is a failed answer: none is lost."""
    for number, line in enumerate(questions, start=1):
        question = line.rstrip("\r\n")
        try:
            yield composition.default_agent.answer(question)
        except AgentError as error:
            click.echo(f"error: line {number}: {visible(str(error))}", err=True)
            shown = question.encode("utf-8", "replace").decode("utf-8")
            yield Answer(question=shown, outcome="error", reason=error.code, reply=str(error))


def print_answer(answer: Answer, console: Console) -> None:
    """Print the reply, how it came about, and each search with its graded chunks."""
    console.print(Text(visible(answer.reply)))
    console.print(Text(_summary(answer), style="dim"))
    for number, attempt in enumerate(answer.attempts):
        name = "search" if number == 0 else f"rewrite {number}"
        swap = "  (synonym swap)" if attempt.synonym_swap else ""
        console.print(Text(visible(f"  {name}: {attempt.query}{swap}"), style="dim"))
        for chunk in attempt.chunks:
            console.print(Text(visible(f"    {_chunk_line(chunk)}"), style="dim"))


def _summary(answer: Answer) -> str:
    parts = [f"{answer.outcome} ({answer.reason})"]
    if answer.topic is not None:
        parts.append(f"topic {answer.topic['classification']} {answer.topic['confidence']}")
    parts += [
        counted(answer.llm_calls, "model call"),
        counted(answer.retrievals, "retrieval"),
        counted(answer.rewrites, "rewrite"),
        f"{answer.duration_seconds * 1000:.0f} ms",
    ]
    return ", ".join(parts)


def _chunk_line(chunk: AnswerChunk) -> str:
    verdict = {True: "pass", False: "fail", None: "ungraded"}[chunk.passed]
    score = "  none" if chunk.score is None else f"{chunk.score:.3f}"
    return f"{score}  {verdict}  {chunk.id}"
