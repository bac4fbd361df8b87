"""Every query of every board, asked of a Prometheus that scraped an agent with every fault once."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from expressions import selectors
from live_service import FAULTY, GOLDEN, GOLDEN_ROUNDS, Live, live

from dashboards.boards.files import boards
from dashboards.boards.frame import dashboard_json
from dashboards.failures import FAILURES
from dashboards.render.board import Board, Panel, Target, read_board
from dashboards.render.evaluate import Evaluator
from dashboards.render.span import Span
from dashboards.render.tables import make_table

pytestmark = pytest.mark.servers

ROOT = Path(__file__).parents[2]
PUBLISHED = json.loads((ROOT / "tests/data/published-figures.json").read_text())
ALERTS = {failure.alert_name(alert) for failure in FAILURES for alert in failure.alerts}
SLUGS = [board.slug for board in boards()]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(tmp_path_factory.mktemp("live")) as found:
        yield found


@pytest.fixture(scope="module")
def models(seen: Live) -> dict[str, Board]:
    return {
        board.slug: read_board(dashboard_json(board, seen.settings), board.slug)
        for board in boards()
    }


def evaluator(seen: Live, board: Board, **limits: str) -> Evaluator:
    chosen = {variable.name: variable.all_value for variable in board.variables} | limits
    return Evaluator(
        source=seen.source,
        span=Span(start=seen.start, end=seen.end),
        chosen=chosen,
        scrape_seconds=seen.settings.scrape_interval,
    )


def asked(board: Board) -> list[tuple[Panel, Target]]:
    return [(panel, target) for panel in board.panels for target in panel.targets]


@pytest.mark.parametrize("slug", SLUGS)
def test_no_query_is_empty(seen: Live, models: dict[str, Board], slug: str) -> None:
    board = models[slug]
    empty = []
    for evaluated in evaluator(seen, board).panels(board):
        assert evaluated.error is None, f"{evaluated.panel.title}: {evaluated.error}"
        full = {
            series.ref
            for series in evaluated.series
            if any(math.isfinite(value) for _, value in series.points)
        }
        empty += [
            f"{evaluated.panel.title} {target.ref}: {target.expr}"
            for target in evaluated.panel.targets
            if target.ref not in full
        ]

    assert empty == []


@pytest.mark.parametrize("slug", SLUGS)
def test_every_selector_finds_series(seen: Live, models: dict[str, Board], slug: str) -> None:
    """A part of a query that finds nothing can hide behind an `or`."""
    board = models[slug]
    ask = evaluator(seen, board)
    found = {
        selector.prettify()
        for _, target in asked(board)
        for selector in selectors(ask.filled(target.expr, 1.0))
        if selector.name != "ALERTS"
    }
    missing = [
        text
        for text in sorted(found)
        if not seen.source.instant(f"count(last_over_time({_now(text)}[5m]))", seen.end)
    ]

    assert found
    assert missing == []


def _now(selector: str) -> str:
    return re.sub(r" offset \S+", "", selector)


@pytest.mark.parametrize("slug", SLUGS)
def test_every_alert_that_is_asked_for_exists(
    seen: Live, models: dict[str, Board], slug: str
) -> None:
    board = models[slug]
    wrong = [
        matcher.value
        for _, target in asked(board)
        for selector in selectors(evaluator(seen, board).filled(target.expr, 1.0))
        if selector.name == "ALERTS"
        for matcher in selector.matchers.matchers
        if (matcher.name == "alertname" and matcher.value not in ALERTS)
        or (matcher.name == "failure" and matcher.value not in {f.slug for f in FAILURES})
    ]

    assert wrong == []


@pytest.mark.parametrize("slug", SLUGS)
def test_marks_and_variables_find_something(
    seen: Live, models: dict[str, Board], slug: str
) -> None:
    board = models[slug]
    ask = evaluator(seen, board)
    for variable in board.variables:
        query = re.fullmatch(r"label_values\((.+), (\w+)\)", variable.query)
        assert query, variable.query
        selector = ask.filled(query[1], 1.0)
        assert seen.source.label_values(selector, query[2], seen.start, seen.end), variable.name

    (deploys,) = board.marks
    titles = {mark.title for mark in ask.marks(deploys)}

    assert f"{FAULTY} now runs version 1.0" in titles
    assert f"{FAULTY} now runs version budget-first" in titles


def test_exemplars_lead_to_traces(seen: Live, models: dict[str, Board]) -> None:
    board = models["overview"]
    found = [
        exemplar.trace_id
        for panel in board.panels
        if any(target.has_exemplars for target in panel.targets)
        for exemplar in evaluator(seen, board).panel(panel).exemplars
    ]

    assert found
    assert all(re.fullmatch(r"[0-9a-f]{32}", trace_id) for trace_id in found)


def test_every_exported_metric_is_shown(seen: Live, models: dict[str, Board]) -> None:
    exported = seen.source.label_values(f'{{job="{FAULTY}"}}', "__name__", seen.start, seen.end)
    used = {
        selector.name
        for board in models.values()
        for _, target in asked(board)
        for selector in selectors(evaluator(seen, board).filled(target.expr, 1.0))
    }
    ours = {name for name in exported if name.startswith(("rag_", "gen_ai_"))}
    base = {re.sub(r"_(bucket|count|sum)$", "", name) for name in used}

    assert len(ours) > 40
    assert {name for name in ours if re.sub(r"_(bucket|count|sum)$", "", name) not in base} == set()


def test_the_table_of_bounds_is_the_published_one(seen: Live, models: dict[str, Board]) -> None:
    """The lab's golden questions, asked of a live agent, give the lab's own table back."""
    board = models["bound"]
    panel = next(panel for panel in board.panels if panel.title == "This traffic at each bound")
    table = make_table(evaluator(seen, board, job=GOLDEN).panel(panel))
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    published = PUBLISHED["table3_golden_set_by_bound"]

    assert [row["rewrites allowed"] for row in rows] == ["0", "1", "2", "3 or more"]
    for row, figures in zip(rows, published, strict=True):
        # `increase` stretches all counts of a range alike: compare them with the first
        for name, figure in (("answers", "answered"), ("model calls", "llm_calls")):
            times_the_first = row[name] / rows[0]["answers"]
            assert times_the_first == pytest.approx(
                figures[figure] / published[0]["answered"], rel=0.02
            )
    assert rows[0]["answers"] == pytest.approx(GOLDEN_ROUNDS, rel=0.1)
    assert rows[3]["answers added"] == 0
    assert rows[3]["calls for one more answer"] is None


@pytest.mark.parametrize(
    "figures",
    PUBLISHED["topic_check_cost_over_the_golden_set"],
    ids=lambda figures: f"at-bound-{figures['max_rewrites']}",
)
def test_the_topic_check_pays_as_published(
    seen: Live, models: dict[str, Board], figures: dict[str, int]
) -> None:
    """Calls without the check over calls with it, from the board and from the lab."""
    board = models["topic-check"]
    panel = next(panel for panel in board.panels if panel.title == "The check at other bounds")
    table = make_table(evaluator(seen, board, job=GOLDEN).panel(panel))
    row = dict(zip(table.columns, table.rows[figures["max_rewrites"]], strict=True))
    saved_less_spent = figures["llm_calls_without_check"] - figures["llm_calls_with_check"]
    questions = 5
    saved_for_each = (saved_less_spent + questions) / questions

    assert row["calls saved for each spent"] == pytest.approx(saved_for_each, rel=0.02)
