"""What was sent and what came back, as a table."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from agent.state import OUTCOMES
from agent.traffic.tally import KindTally, Tally


def print_tally(tally: Tally, console: Console) -> None:
    """Print a row a kind and the total: sent, outcomes, errors and latencies."""
    seen = [outcome for outcome in OUTCOMES if tally.total.outcomes[outcome]]
    others = sorted(set(tally.total.outcomes) - set(OUTCOMES))
    table = Table(box=None, header_style="bold")
    table.add_column("kind", no_wrap=True)
    for column in ("sent", "unsent", *seen, *others, "no reply", "p50 s", "p99 s"):
        table.add_column(column.replace("_", " "), justify="right")
    for name, kind in (*sorted(tally.kinds.items()), ("all", tally.total)):
        table.add_row(name, *_cells(kind, [*seen, *others]))
    console.print(table)
    rate = tally.total.sent / tally.seconds if tally.seconds else 0.0
    console.print(
        Text(
            f"{tally.total.sent} sent in {tally.seconds:.1f} s, {rate:.2f} a second; "
            f"the latest went out {tally.latest_start_seconds * 1000:.0f} ms after it was due",
            style="dim",
        )
    )
    for kind_of_error, count in sorted(tally.total.errors.items()):
        console.print(Text(f"no reply {count} times: {kind_of_error}", style="red"))


def _cells(kind: KindTally, outcomes: list[str]) -> list[str]:
    quantiles = (kind.durations.quantile(0.5), kind.durations.quantile(0.99))
    return [
        str(kind.sent),
        str(kind.unsent),
        *(str(kind.outcomes[outcome]) for outcome in outcomes),
        str(kind.errors.total()),
        *("" if seconds is None else f"{seconds:.3f}" for seconds in quantiles),
    ]
