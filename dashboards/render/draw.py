"""Draw a board: its queries answered by Prometheus, its panels put on a page."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from dashboards.render.board import Board
from dashboards.render.evaluate import Evaluator
from dashboards.render.page import Page, Theme
from dashboards.render.source import Prometheus
from dashboards.render.span import make_span


def draw(
    board: Board,
    source: Prometheus,
    *,
    start: str | None = None,
    end: str = "now",
    limits: Mapping[str, str] | None = None,
    theme: Theme = "auto",
) -> str:
    """Return the board as one self-contained HTML page.

    Args:
        board: What to draw; see `read_board`.
        source: Whom to ask.
        start: Where the time range begins, such as `now-6h` or ISO 8601; None for the board's own.
        end: Where it ends.
        limits: Variable -> regular expression for its label; others are not limited.
        theme: Colors of the page; `auto` follows the reader's system.

    Raises:
        DashboardsError: The range makes no sense, Prometheus does not answer, or the charting
            library is missing. A single query that fails is told on its panel.
    """
    span = make_span(start=start or board.start, end=end, now=time.time())
    chosen = {variable.name: variable.all_value for variable in board.variables}
    chosen |= limits or {}
    evaluator = Evaluator(
        source=source, span=span, chosen=chosen, scrape_seconds=source.scrape_seconds()
    )
    page = Page(
        board,
        span=span,
        chosen=chosen,
        marks=[mark for marks in board.marks for mark in evaluator.marks(marks)],
        alerts=_alerts(evaluator, board),
        theme=theme,
    )
    return page.html(evaluator.panels(board))


def _alerts(evaluator: Evaluator, board: Board) -> list[dict[str, Any]]:
    """Return the labels of the guide's alerts at the end of the range, when a panel lists them."""
    if not any(panel.kind == "alertlist" for panel in board.panels):
        return []
    services = [v.name for v in board.variables if v.name not in ("instance", "graph", "version")]
    limits = ",".join(f'{name}=~"${name}|"' for name in services)
    expr = evaluator.filled(f'ALERTS{{failure=~".+",{limits}}}', 0.0)
    return [dict(alert.labels) for alert in evaluator.source.instant(expr, evaluator.span.end)]
