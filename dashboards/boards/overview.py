"""The overview: is anything wrong, and how much is going on?"""

from __future__ import annotations

from functools import partial
from typing import Any

from dashboards.boards.at_a_glance import alert_list
from dashboards.boards.layout import Board, Placed, Row
from dashboards.boards.panels import models, turns
from dashboards.boards.queries import Queries
from dashboards.boards.tiles import tile
from dashboards.failures import FAILURES


def board() -> Board:
    """Return the board."""
    return Board(
        slug="overview",
        title="Loopscope: overview",
        about="A tile for each failure of the diagnosis guide, then traffic, replies and cost. "
        "Each tile leads to the row of its failure.",
        rows=(
            Row(
                id=1,
                title="Failures: state and number",
                panels=tuple(
                    Placed(id=failure.panel.id, make=partial(tile, failure), width=4, height=4)
                    for failure in FAILURES
                ),
            ),
            Row(
                id=2,
                title="Turns",
                panels=(
                    Placed(id=21, make=turns.ends, width=8, height=8),
                    Placed(id=22, make=turns.lost, width=8, height=8),
                    Placed(id=23, make=turns.durations, width=8, height=8),
                ),
            ),
            Row(
                id=3,
                title="Replies",
                panels=(
                    Placed(id=31, make=turns.mix_over_time, width=8, height=8),
                    Placed(id=32, make=turns.mix, width=8, height=8),
                    Placed(id=33, make=alerts, width=8, height=8),
                    Placed(id=34, make=turns.feedback, width=24, height=6),
                ),
            ),
            Row(
                id=4,
                title="Cost",
                panels=(
                    Placed(id=43, make=turns.count, width=6, height=4),
                    Placed(id=44, make=turns.answered, width=6, height=4),
                    Placed(id=45, make=turns.calls_per_answer, width=6, height=4),
                    Placed(id=46, make=turns.spent_in_vain, width=6, height=4),
                    Placed(id=41, make=models.calls_by_role, width=8, height=8),
                    Placed(id=42, make=models.tokens, width=8, height=8),
                    Placed(id=47, make=turns.calls_per_turn, width=8, height=8),
                ),
            ),
        ),
    )


def alerts(_: Queries) -> Any:
    """Alerts that fire or are about to."""
    return alert_list(
        "Alerts", "Alerts of the guide that fire or are pending, from Prometheus and from Grafana."
    )
