"""A browser, and consoles to look at with it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

import pytest
from filled_store import fill, turns
from native_servers import need
from served_console import served

MANY = 100_000


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    path = need("chromium")
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("full")
    fill(home / "loopscope-turns.sqlite", turns(MANY, time.time(), days=13))
    with served(home) as (url, _):
        yield url


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("empty")) as (url, _):
        yield url


@pytest.fixture
def open_page(browser) -> Iterator[Callable[..., object]]:
    """Open a page; every request that left for another origin fails the test."""
    contexts, strangers, errors = [], [], []

    def go(url: str, **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        own = re.sub(r"^http", "(http|ws)", url.split("/", 3)[0] + "//" + url.split("/")[2])
        page.on(
            "request", lambda r: re.match(f"{own}|data:|blob:", r.url) or strangers.append(r.url)
        )
        page.on("websocket", lambda w: re.match(own, w.url) or strangers.append(w.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(url)
        return page

    yield go
    for context in contexts:
        context.close()
    assert strangers == []
    assert errors == []
