"""The confusion matrix on a terminal."""

from __future__ import annotations

from typing import Final

from rich.console import Console
from rich.text import Text

from agent.demo.guide import GuideAlert
from agent.demo.matrix import Matrix, Row
from agent.demo.run import Result

CELL: Final = 4
"""Characters of a column: three digits and a blank."""
Column = tuple[str, str | None]
"""Failure and cause; its alerts differ only in how loud they are."""


def print_result(result: Result, console: Console) -> None:
    """Print the matrix with its legend, and what is wrong with it."""
    matrix = result.matrix
    columns = _columns(matrix)
    width = max(len(row.case.job) for row in matrix.rows)
    console.print(Text("\nSeconds from each fault to the first alert of each failure", "bold"))
    numbers = "".join(f"{number:{CELL}}" for number in range(1, len(columns) + 1))
    console.print(Text(" " * width + numbers, "bold"))
    for row in matrix.rows:
        cells = [_cell(matrix, row, alerts) for alerts in columns.values()]
        console.print(Text.assemble(f"{row.case.job:{width}}", *cells))
    for number, (slug, cause) in enumerate(columns, 1):
        console.print(Text(f"{number:4}  {slug}" + (f", cause {cause}" if cause else ""), "dim"))
    console.print(
        Text.assemble(("  green", "green"), " its own, plain a consequence that the guide names, ",
                      ("red", "bold red"), " wrong")
    )  # fmt: skip
    _print_verdict(result, console)


def _print_verdict(result: Result, console: Console) -> None:
    for problem in result.problems:
        console.print(Text(f"wrong: {problem}", "red"))
    if not result.problems:
        faults = sum(row.case.failure is not None for row in result.matrix.rows)
        console.print(
            Text(f"right: {faults} faults, each told by its own alert and by no wrong one", "green")
        )
    sent = sum(tally.total.sent for tally in result.tallies.values())
    console.print(Text(f"{sent} questions in {result.seconds:.0f} s", "dim"))


def _columns(matrix: Matrix) -> dict[Column, list[GuideAlert]]:
    """Return the columns of what fired or should have, with their alerts, in the guide's order."""
    fired = {name for row in matrix.rows for name in row.fired}
    wanted = {alert.name for row in matrix.rows for alert in matrix.needed(row.case)}
    columns: dict[Column, list[GuideAlert]] = {}
    for alert in matrix.alerts:
        columns.setdefault((alert.failure, alert.cause), []).append(alert)
    return {
        column: alerts
        for column, alerts in columns.items()
        if any(alert.name in fired | wanted for alert in alerts)
    }


def _cell(matrix: Matrix, row: Row, alerts: list[GuideAlert]) -> tuple[str, str]:
    fired = {alert.name: row.fired[alert.name] for alert in alerts if alert.name in row.fired}
    if not fired:
        return f"{'·':>{CELL}}", "dim"
    text = f"{min(fired.values()):{CELL}.0f}"
    if min(fired.values()) < 0 or not set(fired) <= matrix.allowed(row.case):
        return text, "bold red"
    return text, "green" if set(fired) & {a.name for a in matrix.own(row.case)} else ""
