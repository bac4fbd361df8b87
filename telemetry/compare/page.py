"""A comparison as one self-contained HTML page with charts, without scripts or anything fetched."""

from __future__ import annotations

from html import escape
from typing import Final

from telemetry.compare import charts, wording
from telemetry.compare.comparison import Comparison
from telemetry.compare.report import BLAME_COLUMNS, blame_cells, not_measured

_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c2330; --paper: #ffffff; --line: #d5d9e0;
  --worse: #b3261e; --better: #1e7b34; --plain: #4a5a75; --short: #8a6100; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e7ee; --paper: #14181f; --line: #39414e;
  --worse: #ff8a80; --better: #7bd88f; --plain: #a9b8d0; --short: #e8c268; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; } th { text-align: left; }
td, th { border-bottom: 1px solid var(--line); padding: .35rem .6rem; vertical-align: top;
  white-space: pre-line; }
.worse { color: var(--worse); font-weight: 600; } .better { color: var(--better); }
.not-enough-data { color: var(--short); }
svg { max-width: 100%; height: auto; font: 12px system-ui, sans-serif; }
svg text { fill: var(--ink); }
"""


def page(comparison: Comparison) -> str:
    """Return the page."""
    verdict = comparison.verdict.replace(" ", "-")
    parts = [
        f'<h1 class="{verdict}">{escape(wording.headline(comparison))}</h1>',
        *(f"<p>{escape(wording.side(side))}</p>" for side in (comparison.before, comparison.after)),
        "<h2>Differences</h2>",
        charts.differences(comparison.findings),
        "<h2>Measures</h2>",
        _table(
            wording.COLUMNS,
            [wording.cells(finding) for finding in comparison.findings],
            [finding.verdict.replace(" ", "-") for finding in comparison.findings],
        ),
    ]
    if comparison.missing:
        parts.append(f"<p>{escape(not_measured(comparison))}</p>")
    if comparison.before.observed and comparison.after.observed:
        parts += ["<h2>No results over time</h2>", charts.over_time(comparison)]
    if comparison.blame is not None:
        rows = blame_cells(comparison.blame)
        parts += [
            "<h2>Where the jump comes from</h2>",
            charts.parts(comparison.blame),
            _table(BLAME_COLUMNS, rows, [""] * len(rows)),
            *(f"<p>{escape(note)}</p>" for note in comparison.blame.notes),
        ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(wording.headline(comparison))}</title><style>{_STYLE}</style></head>"
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _table(columns: tuple[str, ...], rows: list[tuple[str, ...]], classes: list[str]) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row[:-1])}"
        f'<td class="{name}">{escape(row[-1])}</td></tr>'
        for row, name in zip(rows, classes, strict=True)
    )
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'
