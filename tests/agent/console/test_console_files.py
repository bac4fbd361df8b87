"""Files that the console takes and gives: golden sets, results, verdicts, gaps."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import yaml
from filled_store import GAPS, REFUSED

pytestmark = pytest.mark.servers

OWN = """
- question: Do I get reimbursed when I close my account?
  topic: "on"
  answers: [refunds]
- question: Who won the match last night?
  topic: "off"
  answers: []
"""
WRONG = OWN.replace("refunds", "refund")


def lab(open_page, url: str):
    page = open_page(f"{url}/lab")
    page.get_by_text("Your own run").click()
    page.get_by_role("button", name="Run", exact=True).wait_for()
    return page


def upload(page, name: str, content: str) -> None:
    file = {"name": name, "mimeType": "application/yaml", "buffer": content.encode()}
    page.locator("input[type=file]").set_input_files(file)


def downloaded(page, button: str) -> str:
    with page.expect_download() as download:
        page.get_by_role("button", name=button, exact=True).click()
    return Path(download.value.path()).read_text(encoding="utf-8")


def test_an_own_golden_set_is_asked_and_its_result_downloaded(empty: str, open_page) -> None:
    page = lab(open_page, empty)
    upload(page, "mine.yaml", OWN)
    page.wait_for_selector("text=Golden set: mine.yaml, 2 questions.")
    page.get_by_label("Model").click()
    page.get_by_role("option", name="golden").click()
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_selector("text=is the bound to set")
    page.wait_for_selector("text=mine.yaml")

    (run,) = json.loads(downloaded(page, "Download as JSON"))

    assert run["plan"].endswith("mine.yaml")
    assert {row["max_rewrites"] for row in run["table3_golden_set_by_bound"]} == {0, 1, 2, 3}
    assert page.locator(".question").count() == 2


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        pytest.param("mine.yaml", WRONG, "golden set mine.yaml: entry 1 ('Do I get reimbursed when "
                     "I close my account?'): unknown chunk id in answers, got 'refund'",
                     id="a-chunk-that-is-not-there"),
        pytest.param("mine.yaml", "{not: yaml: [", "golden set mine.yaml: ", id="no-yaml"),
        pytest.param("mine.yaml", "\x00\x01", "golden set mine.yaml: ", id="no-text"),
        pytest.param("mine.txt", OWN, "A golden set is a YAML file of at most 1,000,000 bytes",
                     id="another-kind-of-file"),
        pytest.param("mine.yaml", "# " + "x" * 1_000_000,
                     "A golden set is a YAML file of at most 1,000,000 bytes", id="too-large"),
        pytest.param("<img src=x>.yaml", WRONG, "golden set <img src=x>.yaml: entry 1",
                     id="a-hostile-name"),
    ],
)  # fmt: skip
def test_a_bad_golden_set_is_refused_with_its_mistake(
    empty: str, open_page, name: str, content: str, said: str
) -> None:
    page = lab(open_page, empty)
    upload(page, "good.yaml", OWN)
    page.wait_for_selector("text=Golden set: good.yaml")
    upload(page, name, content)
    page.wait_for_selector(".bad-note")

    problem = page.locator(".bad-note").inner_text()
    assert problem.startswith(said)
    assert "/tmp" not in problem
    assert page.get_by_text("Golden set: good.yaml").count() == 1  # it stays


def test_a_run_is_cancelled(empty: str, open_page) -> None:
    page = lab(open_page, empty)
    page.get_by_label("Largest bound").fill("20")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_selector("text=/Asked [1-9]/")
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_selector("text=/The run ended: cancelled after \\d+ of \\d+ questions/")

    assert page.get_by_role("button", name="Cancel").count() == 0
    assert page.get_by_role("button", name="Run", exact=True).is_enabled()


def test_verdicts_are_downloaded_in_every_form(full: str, open_page) -> None:
    page = open_page(f"{full}/review")
    page.wait_for_selector("text=left to judge")
    judged = page.locator(".ask-q").inner_text()
    page.keyboard.press("w")
    page.wait_for_selector(".facts >> text=1 judged")

    (row,) = csv.DictReader(downloaded(page, "CSV").splitlines())
    (labelled,) = map(json.loads, downloaded(page, "Labelled data").splitlines())
    (golden,) = yaml.safe_load(downloaded(page, "Golden-set rows"))
    page.keyboard.press("u")
    page.wait_for_selector(".facts >> text=0 judged")

    assert judged in REFUSED
    assert (row["question"], row["judgement"], row["judged_by"]) == (judged, "wrong", "console")
    assert labelled == {"question": judged, "topic": "on"}
    assert (golden["question"], golden["topic"]) == (judged, "on")


def test_gaps_are_downloaded_in_every_form(full: str, open_page) -> None:
    page = open_page(f"{full}/gaps")
    page.wait_for_selector(".gap")
    shown = page.locator(".gap .ask-q").all_inner_texts()

    rows = list(csv.DictReader(downloaded(page, "CSV").splitlines()))
    told = json.loads(downloaded(page, "JSON"))

    assert [gap["questions"][0] for gap in told["gaps"]] == shown
    assert [row["questions"].split(" | ")[0] for row in rows] == shown
    assert {question for gap in told["gaps"] for question in gap["questions"]} <= set(GAPS)
    assert sum(int(row["turns"]) for row in rows) == told["turns"]
    assert sum(gap["turns"] for gap in told["gaps"]) == told["turns"]
