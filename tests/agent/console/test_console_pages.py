"""The pages of a served console in a real browser, as their users meet them."""

from __future__ import annotations

import signal
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from filled_store import HOSTILE, fill, turns
from served_console import served

from agent.console.frame import PAGES
from telemetry.records.marks import make_mark, put_mark

pytestmark = pytest.mark.servers
PAGE_SECONDS = 1.0


@pytest.mark.parametrize("path", [path for path, _ in PAGES])
def test_every_page_of_an_empty_service_says_what_to_do(empty: str, open_page, path: str) -> None:
    page = open_page(empty + path)

    page.wait_for_selector("h1")
    assert page.locator(".page").inner_text().strip().count("\n") >= 1
    assert page.locator(".bad-note").count() == 0


@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("path", [path for path, _ in PAGES])
def test_no_page_is_wider_than_its_window(full: str, open_page, path: str, width: int) -> None:
    page = open_page(full + path, viewport={"width": width, "height": 800})
    page.wait_for_selector("h1")
    page.wait_for_load_state("networkidle")

    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/diagnosis", ".failure"),
        ("/review", "text=left to judge"),
        ("/gaps", ".gap"),
        ("/changes", "text=Before and after"),
    ],
)
def test_a_page_of_100_000_turns_is_whole_within_a_second(
    full: str, open_page, path: str, content: str
) -> None:
    page = open_page(full + path)  # the library's files are cached from here on
    took = []
    for _ in range(5):  # the best one: others use this machine too
        began = time.perf_counter()
        page.goto(full + path)
        page.wait_for_selector(content)
        took.append(time.perf_counter() - began)

    assert min(took) < PAGE_SECONDS


def test_a_hostile_question_stays_text(empty: str, open_page) -> None:
    page = open_page(empty)
    page.get_by_label("Question").fill(HOSTILE)
    page.keyboard.press("Enter")
    page.wait_for_selector(".steps")

    assert page.locator(".ask-q").inner_text() == HOSTILE
    assert page.title() == "Ask · Loopscope"
    assert page.locator("article script, article img, article strong").count() == 0


def test_a_reply_stands_beside_its_steps_and_keeps_a_permalink(empty: str, open_page) -> None:
    page = open_page(empty)
    page.get_by_label("Question").fill("What happens if my server goes down?")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=a chunk passed the grading")
    said = page.locator(".steps").inner_text()
    link = page.get_by_role("link", name="Permalink").get_attribute("href")
    turn = open_page(f"{empty}{link}")
    for _ in range(40):  # the record is written off the request path
        if turn.locator(".steps").count():
            break
        turn.wait_for_timeout(100)
        turn.reload()

    assert "optimize_query" in said and "sla passed" in said
    assert turn.locator(".ask-q").inner_text() == "What happens if my server goes down?"
    assert turn.locator(".steps").inner_text() == said
    assert turn.locator(".steps .track").count() == turn.locator(".steps li").count() == 8


def test_the_published_example_is_one_click(empty: str, open_page) -> None:
    page = open_page(f"{empty}/lab")
    page.get_by_role("button", name="Run the published example").click()
    page.wait_for_selector("text=is the bound to set")

    rows = page.locator("tr.chosen td").all_inner_texts()
    assert rows == ["2", "3", "1", "1", "9", "31"]
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as JSON").click()
    assert "table3_golden_set_by_bound" in Path(download.value.path()).read_text()


def test_the_walk_is_walked_by_keys(empty: str, open_page) -> None:
    page = open_page(f"{empty}/walk")
    page.wait_for_selector("text=Step 1 of 11")
    page.locator("h1").click()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.wait_for_selector("text=Step 4 of 11")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("text=Step 3 of 11")

    assert page.get_by_text("1 model call so far").count() == 1


def test_both_orders_stand_side_by_side(empty: str, open_page) -> None:
    page = open_page(f"{empty}/order")
    page.wait_for_selector("text=Budget first")

    right, wrong = page.locator("article").all()
    assert "Answered" in right.inner_text()
    assert "a passed chunk was lost" in wrong.inner_text()


def test_refusals_are_judged_with_one_key_each(full: str, open_page) -> None:
    page = open_page(f"{full}/review")
    page.wait_for_selector("text=left to judge")
    page.keyboard.press("w")
    page.wait_for_selector(".facts >> text=1 judged")
    page.keyboard.press("u")
    page.wait_for_selector(".facts >> text=0 judged")


def test_versions_and_marks_are_compared(tmp_path: Path, open_page) -> None:
    store, now = tmp_path / "loopscope-turns.sqlite", time.time()
    fill(store, turns(2_000, now, days=5))
    put_mark(store, make_mark("<b>new</b> prompt", at=now - 86_400, tags=["deploy"], now=now))
    with served(tmp_path) as (url, _):
        page = open_page(f"{url}/changes")
        page.get_by_role("button", name="Compare").click()
        page.wait_for_selector("text=Where the jump comes from")
        versions = page.locator(".page").inner_text()
        page.get_by_role("button", name="Around the last change or mark").click()
        page.wait_for_selector("text=/around the mark '<b>new<.b> prompt'/")

        day = datetime.fromtimestamp(now - 2 * 86_400, UTC).strftime("%Y-%m-%d")
        assert f"; since {day} " in versions  # when the newer version began
        assert "first cause" in versions
        assert "before: version 1.9" in versions and "after: version 2.0" in versions
        assert "deploy" in page.locator("tr", has_text="<b>new</b> prompt").inner_text()


def test_marks_are_listed_with_the_versions(tmp_path: Path, open_page) -> None:
    path, now = tmp_path / "loopscope-turns.sqlite", time.time()
    fill(path, turns(50, now, days=1))
    put_mark(path, make_mark("Handbook <b>reworded</b>", at=now - 60, tags=["docs"], now=now))
    with served(tmp_path) as (url, _):
        page = open_page(f"{url}/changes")

        page.wait_for_selector("text=Handbook <b>reworded</b>")


def test_a_lost_connection_is_shown(tmp_path: Path, open_page) -> None:
    with served(tmp_path) as (url, process):
        page = open_page(url)
        page.wait_for_selector("h1")
        process.send_signal(signal.SIGKILL)

        page.wait_for_selector("text=Connection lost")


def test_a_key_is_asked_for_and_shows_only_what_its_caller_may_see(
    tmp_path: Path, open_page
) -> None:
    keys = {"LOOPSCOPE_API_KEYS": "alice:secret-1,bob:secret-2", "LOOPSCOPE_OPERATORS": "bob"}
    with served(tmp_path, **keys) as (url, _):
        for key, may_see in (("secret-1", False), ("secret-2", True)):
            page = open_page(f"{url}/gaps")
            page.get_by_label("Key").fill("wrong")
            page.keyboard.press("Enter")
            page.wait_for_selector("text=none of the service's keys")
            page.get_by_label("Key").fill(key)
            page.keyboard.press("Enter")
            page.wait_for_url(f"{url}/gaps")
            page.wait_for_selector(".note")

            assert (page.locator(".bad-note").count() == 0) is may_see


def test_a_wallboard_takes_nothing(tmp_path: Path, open_page) -> None:
    with served(tmp_path, LOOPSCOPE_CONSOLE="read_only") as (url, _):
        page = open_page(url)

        page.wait_for_selector("text=read-only")
        assert page.get_by_label("Question").count() == 0
