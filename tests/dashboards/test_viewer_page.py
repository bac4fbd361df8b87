from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from fake_prometheus import HOSTILE, Answers, fake_prometheus

from dashboards.boards.files import boards
from dashboards.boards.frame import dashboard_json
from dashboards.errors import DrawingError
from dashboards.render import page
from dashboards.render.board import Board, read_board
from dashboards.render.draw import draw
from dashboards.render.page import LIBRARY
from dashboards.render.source import Prometheus
from dashboards.settings import Settings

SETTINGS = Settings()
BOARDS = {b.slug: read_board(dashboard_json(b, SETTINGS), b.slug) for b in boards()}


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, Answers]]:
    with fake_prometheus() as found:
        yield found


@pytest.fixture(autouse=True)
def small_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five megabytes a page would only slow the tests down."""
    monkeypatch.setattr(page, "charting_library", lambda: "/* the library */")


def drawn(server: tuple[str, Answers], board: Board, **changes: Any) -> str:
    return draw(board, Prometheus(url=server[0]), **changes)


class Reader(HTMLParser):
    """Collects elements, texts and addresses of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.addresses: list[str] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self._is_script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self._is_script = tag == "script"
        self.addresses += [value or "" for name, value in attrs if name in {"src", "href"}]

    def handle_data(self, data: str) -> None:
        (self.scripts if self._is_script else self.texts).append(data)


@pytest.mark.parametrize("slug", BOARDS)
def test_every_board_is_drawn(server: tuple[str, Answers], slug: str) -> None:
    text = drawn(server, BOARDS[slug])
    titles = [panel.title for panel in BOARDS[slug].panels]

    assert [t for t in titles if html.escape(t) not in text] == []
    assert "no drawing for panels" not in text


@pytest.mark.parametrize("slug", BOARDS)
def test_labels_of_a_hostile_service_stay_text(server: tuple[str, Answers], slug: str) -> None:
    read = Reader(drawn(server, BOARDS[slug]))

    assert "img" not in read.elements
    assert any(HOSTILE.split("\u2028")[0] in text for text in read.texts)


@pytest.mark.parametrize("slug", BOARDS)
def test_a_page_asks_nobody(server: tuple[str, Answers], slug: str) -> None:
    read = Reader(drawn(server, BOARDS[slug]))

    assert read.addresses == []
    assert "link" not in read.elements


def test_figures_are_data_that_cannot_end_their_element(server: tuple[str, Answers]) -> None:
    text = drawn(server, BOARDS["overview"])
    data = re.search(r'id="figures">(.*?)</script>', text, re.S)
    assert data is not None
    figures = json.loads(data[1])

    assert "<" not in data[1]
    assert "\u2028" not in data[1]
    assert len(figures) == text.count('class="chart"')
    assert figures[0]["data"][0]["name"] == HOSTILE.replace("&", "&amp;").replace(
        "<", "&lt;"
    ).replace(">", "&gt;")


def test_without_answers_panels_say_so(server: tuple[str, Answers]) -> None:
    server[1].is_empty = True
    try:
        text = drawn(server, BOARDS["overview"])
    finally:
        server[1].is_empty = False

    assert "no turns" in text
    assert 'class="chart"' not in text
    assert LIBRARY in text


def test_an_error_of_one_panel_does_not_stop_the_others(server: tuple[str, Answers]) -> None:
    url, answers = server
    source, board = Prometheus(url=url), BOARDS["bound"].row("Over time")
    evaluated = page.Page(
        board, span=page.Span(start=0, end=60), chosen={}, marks=[], alerts=[]
    )  # fmt: skip
    answers.error = "too many samples"
    try:
        from dashboards.render.evaluate import Evaluator

        found = Evaluator(
            source=source, span=page.Span(start=0, end=60), chosen={}, scrape_seconds=15
        ).panels(board)
    finally:
        answers.error = None

    assert evaluated.html(found).count('<p class="failed">too many samples</p>') == 6


def test_limits_of_variables_are_told_and_used(server: tuple[str, Answers]) -> None:
    text = drawn(server, BOARDS["overview"], limits={"job": "agent<1>"})

    assert "Job: agent&lt;1&gt;" in text
    assert any('job=~"agent<1>"' in asked.parameters.get("query", "") for asked in server[1].asked)


@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
def test_theme(server: tuple[str, Answers], theme: Any) -> None:
    assert f'data-theme="{theme}"' in drawn(server, BOARDS["bound"], theme=theme)[:200]


def test_a_missing_charting_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setitem(__import__("sys").modules, "plotly.offline", None)

    with pytest.raises(DrawingError) as caught:
        page.charting_library()

    assert str(caught.value) == (
        "cannot draw charts: got no package plotly. Install it with "
        "`pip install 'loopscope[render]'`."
    )
