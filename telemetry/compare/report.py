"""A comparison as a table in the terminal, as Markdown and as JSON."""

from __future__ import annotations

from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from telemetry.compare import wording
from telemetry.compare.blame import Blame
from telemetry.compare.comparison import Comparison
from telemetry.compare.rates import Interval
from telemetry.compare.side import Side
from telemetry.compare.verdict import Estimate, Finding
from telemetry.facts import finite

STYLES: Final = {"worse": "bold red", "better": "green", "not enough data": "yellow"}
BLAME_COLUMNS: Final = ("part", "points", "95 %", "of the jump", "what was seen")


def print_report(comparison: Comparison, console: Console) -> None:
    """Print the comparison."""
    for side in (comparison.before, comparison.after):
        console.print(Text(wording.side(side)))
    if (nothing := wording.empty(comparison)) is None:
        _print_tables(comparison, console)
    else:
        console.print(Text(nothing))
    style = STYLES.get(comparison.verdict, "")
    console.print(Text(wording.headline(comparison), style=style))


def _print_tables(comparison: Comparison, console: Console) -> None:
    table = Table(*wording.COLUMNS, header_style="bold", show_lines=True)
    for finding in comparison.findings:
        row = wording.cells(finding)
        table.add_row(*map(Text, row[:-1]), Text(row[-1], style=STYLES.get(finding.verdict, "")))
    console.print(table)
    if comparison.missing:
        console.print(Text(not_measured(comparison)))
    if comparison.blame is not None:
        split = Table(*BLAME_COLUMNS, header_style="bold", title="where the jump comes from")
        for blame_row in blame_cells(comparison.blame):
            split.add_row(*map(Text, blame_row))
        console.print(split)
        for note in comparison.blame.notes:
            console.print(Text(note))


def not_measured(comparison: Comparison) -> str:
    """Name the measures that the source does not hold."""
    return f"not measured here: {', '.join(measure.label for measure in comparison.missing)}"


def blame_cells(blame: Blame) -> list[tuple[str, ...]]:
    """Return the rows of the blame, the unexplained rest last."""
    rows = [
        (
            part.cause,
            wording.points(part.points),
            _span(part.interval),
            wording.share_of(part.points, blame.jump),
            part.evidence,
        )
        for part in blame.parts
    ]
    rest = (
        "unexplained",
        wording.points(blame.unexplained),
        _span(blame.unexplained_interval),
        wording.share_of(blame.unexplained, blame.jump),
        "",
    )
    return [*rows, rest]


def markdown(comparison: Comparison) -> str:
    """Return the comparison for a pull request."""
    lines = [f"**{in_markdown(wording.headline(comparison))}**", ""]
    lines += [
        f"- {in_markdown(wording.side(side))}" for side in (comparison.before, comparison.after)
    ]
    if (nothing := wording.empty(comparison)) is not None:
        return "\n".join([*lines, "", nothing]) + "\n"
    lines += ["", *_grid(wording.COLUMNS, [wording.cells(found) for found in comparison.findings])]
    if comparison.missing:
        lines += ["", not_measured(comparison)]
    if comparison.blame is not None:
        lines += ["", *_grid(BLAME_COLUMNS, blame_cells(comparison.blame)), ""]
        lines += comparison.blame.notes
    return "\n".join(lines) + "\n"


def in_markdown(text: str) -> str:
    """Return a text that ends no cell and opens no tag: marks, labels and questions are free."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return text.replace("|", "\\|")


def _grid(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    def line(cells: tuple[str, ...]) -> str:
        told = (cell.replace("|", "\\|").replace("\n", "<br>") for cell in cells)
        return f"| {' | '.join(told)} |"

    return [line(columns), line(("---",) * len(columns)), *map(line, rows)]


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as plain values; what is unknown or unbounded is null."""
    change = comparison.change
    return {
        "verdict": comparison.verdict,
        "exit_code": comparison.exit_code,
        "since": comparison.since,
        "before": _side(comparison.before),
        "after": _side(comparison.after),
        "change": None
        if change is None
        else {
            "at": change.at,
            "before": list(change.before),
            "after": list(change.after),
            "mark": change.mark,
        },
        "measures": [_finding(finding) for finding in comparison.findings],
        "not_measured": [measure.name for measure in comparison.missing],
        "blame": None if comparison.blame is None else _blame(comparison.blame),
    }


def _side(side: Side) -> dict[str, Any]:
    return {
        "about": side.about,
        "turns": side.turns,
        "first": side.first,
        "last": side.last,
        "labels": {name: list(values) for name, values in side.labels.items()},
    }


def _finding(finding: Finding) -> dict[str, Any]:
    measure = finding.measure
    return {
        "name": measure.name,
        "kind": measure.kind,
        "unit": measure.unit,
        "worse": measure.worse,
        "before": _estimate(finding.before),
        "after": _estimate(finding.after),
        "difference": finite(finding.difference),
        "interval": _interval(finding.interval),
        "p": finding.p_value,
        "p_adjusted": finding.p_adjusted,
        "detectable": finite(finding.detectable),
        "verdict": finding.verdict,
        "more_before": finding.more_before,
        "more_after": finding.more_after,
    }


def _blame(blame: Blame) -> dict[str, Any]:
    return {
        "jump": blame.jump,
        "first_cause": blame.first_cause,
        "is_clear": blame.is_clear,
        "parts": [
            {
                "cause": part.cause,
                "points": part.points,
                "interval": _interval(part.interval),
                "evidence": part.evidence,
            }
            for part in blame.parts
        ],
        "unexplained": blame.unexplained,
        "unexplained_interval": _interval(blame.unexplained_interval),
        "notes": list(blame.notes),
    }


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return {
        "n": estimate.n,
        "hits": estimate.hits,
        "value": finite(estimate.value),
        "interval": _interval(estimate.interval),
    }


def _interval(interval: Interval) -> list[float | None]:
    return [finite(interval.low), finite(interval.high)]


def _span(interval: Interval) -> str:
    return f"{wording.points(interval.low)} to {wording.points(interval.high)}"
