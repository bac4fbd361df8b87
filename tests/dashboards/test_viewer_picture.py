"""Pages in a real browser: every chart is drawn, and the picture shows the whole page."""

from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_prometheus import fake_prometheus
from native_servers import need

from dashboards.errors import DrawingError
from dashboards.render import picture
from dashboards.render.command import find_board
from dashboards.render.draw import draw
from dashboards.render.source import Prometheus


@pytest.fixture(scope="module")
def html() -> Iterator[str]:
    """A board with a chart of each kind."""
    with fake_prometheus() as (url, _):
        board = find_board("failures").row("Silent rejection")
        yield draw(board, Prometheus(url=url))


@pytest.mark.servers
def test_every_chart_is_drawn_under_the_pages_own_policy(html: str, tmp_path: Path) -> None:
    browser, page = need("chromium"), tmp_path / "page.html"
    page.write_text(html, encoding="utf-8")
    flags = [*picture._FLAGS, f"--user-data-dir={tmp_path}/profile", "--window-size=1440,3000"]
    done = subprocess.run(
        [browser, *flags, "--enable-logging=stderr", "--dump-dom", page.as_uri()],
        check=True, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    charts = html.count('class="chart"')

    assert charts >= 5
    assert f'data-ready="{charts}"' in done.stdout[:2000]
    assert done.stdout.count('class="plot-container') == charts
    assert re.findall(r"CONSOLE.*(?:Uncaught|Refused|Content Security)", done.stderr) == []


@pytest.mark.servers
def test_a_picture_shows_the_whole_page(html: str, tmp_path: Path) -> None:
    need("chromium")
    out = tmp_path / "page.png"
    picture.take_picture(html, out, width=700)
    width, height = struct.unpack(">II", out.read_bytes()[16:24])

    assert width == 700
    assert 1200 < height < picture.TALLEST


def test_without_a_browser_the_way_out_is_told(
    html: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture, "find_browser", lambda: None)

    with pytest.raises(DrawingError) as caught:
        picture.take_picture(html, tmp_path / "page.png", width=700)

    assert str(caught.value) == (
        "cannot draw a picture: got no Chromium. Install it (`apt-get install chromium`), or "
        "write HTML."
    )
