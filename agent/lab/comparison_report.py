"""A comparison of two kept runs in the terminal, as Markdown and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from agent.lab.comparison import LabComparison, Pair
from agent.lab.kept import KeptQuestion, KeptRun, Setting
from telemetry.compare.rates import Interval
from telemetry.compare.report import STYLES, in_markdown
from telemetry.facts import finite

MOST_LISTED: Final = 20
"""Questions listed of a kind; of more, the number is told."""
COLUMNS: Final = ("question", "expected", "before", "after")


def print_comparison(found: LabComparison, console: Console) -> None:
    """Print the comparison."""
    for line in _sides(found):
        console.print(Text(line))
    for title, pairs in _lists(found):
        table = Table(*COLUMNS, title=title, title_justify="left", title_style="bold")
        for row in map(_row, pairs[:MOST_LISTED]):
            table.add_row(*map(Text, row))
        console.print(table)
        if len(pairs) > MOST_LISTED:
            console.print(Text(f"and {len(pairs) - MOST_LISTED} more"))
    for line in _notes(found):
        console.print(Text(line))
    console.print(Text(headline(found), style=STYLES.get(found.verdict, "")))


def markdown(found: LabComparison) -> str:
    """Return the comparison for a pull request."""
    lines = [
        f"**{in_markdown(headline(found))}**",
        "",
        *(f"- {in_markdown(line)}" for line in _sides(found)),
    ]
    for title, pairs in _lists(found):
        lines += ["", f"{title}:", "", _line(COLUMNS), _line(["---"] * len(COLUMNS))]
        lines += [_line(_row(pair)) for pair in pairs[:MOST_LISTED]]
        if len(pairs) > MOST_LISTED:
            lines += ["", f"and {len(pairs) - MOST_LISTED} more"]
    notes = [f"- {in_markdown(line)}" for line in _notes(found)]
    return "\n".join([*lines, *([""] if notes else []), *notes]) + "\n"


def as_json(found: LabComparison) -> dict[str, Any]:
    """Return the comparison as plain values; what is unknown or unbounded is null."""
    counts = found.counts
    return {
        "verdict": found.verdict,
        "exit_code": found.exit_code,
        "before": summary(found.before),
        "after": summary(found.after),
        "questions": counts.total,
        "right_before": found.right[0],
        "right_after": found.right[1],
        "lost": list(map(_flip, found.lost)),
        "won": list(map(_flip, found.won)),
        "moved": list(map(_flip, found.moved)),
        "difference": finite(counts.difference),
        "interval": [finite(found.interval.low), finite(found.interval.high)],
        "p": found.p_value,
        "detectable": finite(found.detectable),
        "more_questions_needed": found.needed,
        "flips_allowed": found.flips_allowed,
        "is_repeatable": found.is_repeatable,
        "more_calls": sum(found.more_calls),
        "more_calls_interval": [
            finite(found.more_calls_interval.low), finite(found.more_calls_interval.high)
        ],
        "differences": {name: list(values) for name, values in found.differences.items()},
        "only_before": found.only_before,
        "only_after": found.only_after,
        "relabelled": found.relabelled,
    }  # fmt: skip


def summary(run: KeptRun) -> dict[str, Any]:
    """Return a run without its questions: built-ins only."""
    return {
        "id": run.id,
        "at": run.at.isoformat(),
        **run.build.model_dump(),
        "golden_name": run.golden_name,
        "golden_digest": run.golden_digest,
        "bound": run.bound,
        "right": run.right,
        "questions": len(run.questions),
        "llm_calls": run.llm_calls,
    }


def headline(found: LabComparison) -> str:
    """Return the verdict in a sentence, with its reason."""
    counts, allowed = found.counts, found.flips_allowed
    if not counts.total:
        return f"{found.verdict}: no question is in both runs with the same label"
    went = f"{counts.lost} lost and {counts.won} won of {_questions(counts.total)}"
    if allowed is not None:
        return f"{found.verdict}: {went}; {allowed} lost allowed"
    said = f"{found.verdict}: {went}; p = {found.p_value:.3f}"
    if found.verdict == "not enough data":
        return f"{said}; {_questions(found.needed, 'more ')} would show a drop that matters"
    return said


def _sides(found: LabComparison) -> list[str]:
    before, after = found.right
    total, counts = found.counts.total, found.counts
    lines = [
        f"{name}: run {run.id} of {run.at.astimezone(UTC):%Y-%m-%d %H:%M} UTC, "
        f"version {run.build.version}, {run.golden_name}, bound {run.bound}"
        for name, run in (("before", found.before), ("after", found.after))
    ]
    if total:
        calls = sum(found.more_calls)
        lines += [
            f"right: {before} of {total} -> {after} of {total}, "
            f"{100 * counts.difference:+.1f} points ({_span(found.interval, 100, '.1f')} for "
            "questions like these)",
            f"model calls: {calls:+d} in all, {calls / total:+.2f} a question "
            f"({_span(found.more_calls_interval, 1, '.2f')})",
        ]
    return lines


def _lists(found: LabComparison) -> Iterable[tuple[str, list[Pair]]]:
    for title, pairs in (
        ("Lost: right before, wrong after", found.lost),
        ("Won: wrong before, right after", found.won),
        ("Ends otherwise, no better and no worse", found.moved),
    ):
        if pairs:
            yield title, pairs


def _notes(found: LabComparison) -> Iterable[str]:
    for name, (before, after) in found.differences.items():
        yield f"differs: {name} {_setting(before)} -> {_setting(after)}"
    for what, questions in (
        ("only the run before asked", found.only_before),
        ("only the run after asked", found.only_after),
        ("left out, since the golden sets expect different things of", found.relabelled),
    ):
        if questions:
            shown = "; ".join(questions[:MOST_LISTED])
            more = len(questions) - MOST_LISTED
            yield f"{what} {_questions(len(questions))}: {shown}{f'; and {more} more' * (more > 0)}"


def _row(pair: Pair) -> tuple[str, ...]:
    sources = f" from {' or '.join(pair.after.answers)}" if pair.after.answers else ""
    expected = f"{pair.after.expected}{sources}"
    return pair.after.question, expected, _end(pair.before), _end(pair.after)


def _end(question: KeptQuestion) -> str:
    cited = f" from {', '.join(question.citations)}" if question.citations else ""
    return f"{question.outcome}{cited}"


def _flip(pair: Pair) -> dict[str, Any]:
    return {
        "question": pair.after.question,
        "expected": pair.after.expected,
        "answers": list(pair.after.answers),
        **{
            name: {"outcome": side.outcome, "citations": list(side.citations)}
            for name, side in (("before", pair.before), ("after", pair.after))
        },
    }


def _questions(number: int, more: str = "") -> str:
    return f"{number:,} {more}question{'' if number == 1 else 's'}"


def _setting(value: Setting) -> str:
    return "none" if value is None else str(value)


def _span(interval: Interval, scale: float, form: str) -> str:
    if not math.isfinite(interval.low):
        return "95 % interval unknown"
    return f"95 % {scale * interval.low:+{form}} to {scale * interval.high:+{form}}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(in_markdown, cells))} |"
