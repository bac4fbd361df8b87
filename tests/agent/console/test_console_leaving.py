"""Who leaves the page Ask before the reply: the turn is cancelled, and its place is free."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from replica import scraped
from served_console import served

from telemetry import names

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service with one place, whose turns take 7.5 s at least."""
    home = tmp_path_factory.mktemp("slow")
    with served(home, "--fault", "slow-model", LOOPSCOPE_MAX_TURNS="1") as (url, _):
        yield url


def cancelled(url: str) -> float:
    turns = scraped(url, names.TURNS)
    return sum(value for labels, value in turns.items() if 'outcome="cancelled"' in labels)


def ask(page, question: str) -> None:
    page.get_by_label("Question").fill(question)
    page.keyboard.press("Enter")


def wait_for(page, is_so, seconds: float = 5.0) -> None:
    for _ in range(round(seconds / 0.05)):
        if is_so():
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"not so within {seconds} s")


@pytest.mark.parametrize(
    "leave",
    [
        pytest.param(lambda page: page.close(run_before_unload=True), id="closes-the-tab"),
        pytest.param(lambda page: page.goto("about:blank"), id="goes-elsewhere"),
        pytest.param(lambda page: page.reload(), id="loads-the-page-anew"),
    ],
)
def test_a_turn_ends_with_the_page_that_asked_for_it(slow: str, open_page, leave) -> None:
    watching = open_page(f"{slow}/lab")
    before = cancelled(slow)
    page = open_page(slow)
    ask(page, "Can I export my data?")
    page.wait_for_selector("[role=status]:has-text('Check')")
    waiting = open_page(slow)
    ask(waiting, "Do you take backups?")
    waiting.wait_for_selector("text=Waiting for a place")

    leave(page)

    wait_for(watching, lambda: cancelled(slow) == before + 1)
    waiting.wait_for_selector("[role=status]:has-text('Check')")  # it got the place
    waiting.goto("about:blank")
    wait_for(watching, lambda: cancelled(slow) == before + 2)
    assert sum(scraped(slow, names.TURNS).values()) == before + 2
    assert sum(scraped(slow, names.OPEN_TURNS).values()) == 0


def test_who_leaves_while_waiting_for_a_place_asked_nothing(slow: str, open_page) -> None:
    before = sum(scraped(slow, names.TURNS).values())
    page, waiting = open_page(slow), open_page(slow)
    ask(page, "Can I export my data?")
    page.wait_for_selector("[role=status]:has-text('Check')")
    ask(waiting, "Do you take backups?")
    waiting.wait_for_selector("text=Waiting for a place")

    waiting.goto("about:blank")
    page.goto("about:blank")

    wait_for(page, lambda: sum(scraped(slow, names.TURNS).values()) == before + 1)
    assert sum(scraped(slow, names.OPEN_TURNS).values()) == 0
