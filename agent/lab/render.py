"""The lab's report as tables on a terminal; the figures come from the report alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from agent.lab.report import LabReport

SHORT_CELL: Final = 14
"""Characters up to which a cell stays in one line, so that names and numbers are not torn apart;
chosen by us: the tables then fit a terminal of 80 columns."""


def print_report(report: LabReport, console: Console) -> None:
    """Print every table of the report, in the published order, then what we add."""
    figures = report.as_json()
    more = figures["more"]
    for title, rows in (
        ("Table 1. Two rewrites allowed: the topic check and the grader catch different failures",
         figures["table1_two_rewrites"]),
        ("Cost of the topic check over the golden set, up to the chosen bound",
         figures["topic_check_cost_over_the_golden_set"]),
        ("Table 2. The unbounded graph on a question nothing can answer",
         figures["table2_unbounded_graph"]),
        ("Router orders on the question found by the last rewrite",
         figures["router_order_on_the_outage_question_two_rewrites"]),
        ("Table 3. The golden set at each bound", figures["table3_golden_set_by_bound"]),
        ("Walk of the first unanswerable question",
         figures["student_discount_running_total_of_calls"]),
        ("Table 5. Retrievals of the question found by the last rewrite",
         _flat_attempts(figures["table5_outage_question"])),
        ("Revise router", figures["revise_router_table"]),
        ("Revise loop, worst case", [figures["revise_loop"]]),
        ("Where the topic check pays: off-topic share times a full loop against one call",
         more["topic_check_pays"]),
        ("Calls on chunks of score 0, which min_score above 0 saves", more["zero_score_grades"]),
        ("Cost formulas against counted calls", _formula_summary(more["formulas_against_counts"])),
        ("Quality at the chosen bound, with 95 % Wilson intervals",
         [{"share of": name, **share} for name, share in
          more["quality_at_chosen_bound"].items()]),
        ("Guardrail false rejections", more["guardrail_false_rejections"]),
        ("Largest bounds of both loops within the budget, and their worst case", more["budget"]),
        ("Clarifying branch: what became of the questions", more["clarifying_branch"]),
        ("Failed", [{"question": a["question"], "outcome": a["outcome"], "reason": a["reason"]}
                    for a in more["failed"]]),
    ):  # fmt: skip
        if rows:
            console.print(_table(title, rows))
    console.print(
        f"Chosen bound: {figures['chosen_bound']}, because {more['chosen_because']}.", markup=False
    )


def _table(title: str, rows: Sequence[dict[str, Any]]) -> Table:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(title=escape(title), title_justify="left", title_style="bold")
    for name in columns:
        header, widest = name.replace("_", " "), max(len(_cell(row.get(name))) for row in rows)
        is_short = widest <= SHORT_CELL
        if is_short:
            header = "\n".join(wrap(header, max(widest, *map(len, header.split()), 1)))
        justify = _justify(row.get(name) for row in rows)
        table.add_column(header, justify=justify, overflow="fold", no_wrap=is_short)
    for row in rows:
        table.add_row(*(escape(_cell(row.get(name))) for name in columns))
    return table


def _justify(values: Iterable[Any]) -> Any:
    are_numbers = all(
        value is None or (isinstance(value, int | float) and not isinstance(value, bool))
        for value in values
    )
    return "right" if are_numbers else "left"


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


def _flat_attempts(attempts: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {**attempt, "top_two": ", ".join(f"{id_} {_cell(s)}" for id_, s in attempt["top_two"])}
        for attempt in attempts
    ]


def _formula_summary(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how many rows each formula speaks of, and how many the counted calls agree with."""
    by_formula: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_formula.setdefault(row["formula"], []).append(row)
    return [
        {
            "formula": formula,
            "questions": len(found),
            "agree": sum(row["expected"] == row["counted"] for row in found),
        }
        for formula, found in by_formula.items()
    ]
