"""`loopscope compare` over a store of turn records."""

from __future__ import annotations

import json
import re
import shutil
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from made_turns import START, Loop, build, make_turns
from written import write_store

from agent.cli import main
from telemetry.records.marks import make_mark, put_mark

AFTER = START + 60 * 400


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    records = [
        *build(make_turns(400, 1), "1", START),
        *build(make_turns(400, 2, Loop(lost=0.4)), "2", AFTER),
    ]
    return write_store(tmp_path_factory.mktemp("records") / "turns.db", records)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["compare", *arguments], env={"COLUMNS": "160"})


def test_around_the_last_change_it_says_worse_since_when_and_what_is_to_blame(store: str) -> None:
    result = run("--records", store, "--json", "--measure", "no_results", "--measure", "failed")
    found = json.loads(result.stdout)

    assert result.exit_code == 1
    assert (found["verdict"], found["since"]) == ("worse", AFTER)
    assert found["blame"]["first_cause"] == "retrieval"
    assert found["before"]["labels"]["index"] == ["index of 1"]
    assert [measure["name"] for measure in found["measures"]] == ["no_results", "failed"]


def marked(store: str, path: Path, *marks: tuple[str, float]) -> str:
    """Return a copy of the store with marks in it."""
    shutil.copy(store, path)
    for what, at in marks:
        put_mark(path, make_mark(what, at=at, tags=[], now=at))
    return str(path)


@pytest.mark.parametrize(
    ("at", "mark", "since"),
    [
        pytest.param(AFTER - 600, None, AFTER, id="a-mark-before-the-change-of-the-build"),
        pytest.param(AFTER + 6000, "prompt", AFTER + 6000, id="a-mark-after-it"),
        pytest.param(time.time() + 600, None, AFTER, id="a-mark-of-the-future"),
    ],
)
def test_the_last_change_is_the_later_one_of_build_and_mark(
    store: str, at: float, mark: str | None, since: float, tmp_path: Path
) -> None:
    path = marked(store, tmp_path / "t.db", ("early", START + 1), ("prompt", at))
    found = json.loads(run("--records", path, "--json", "--measure", "no_results").stdout)

    assert (found["change"]["mark"], found["change"]["at"]) == (mark, since)


def test_a_mark_opens_no_tag_in_a_pull_request(store: str, tmp_path: Path) -> None:
    path = marked(store, tmp_path / "t.db", ("<img src=x> & more", AFTER + 6000))
    text = run("--records", path, "--markdown", "--measure", "no_results").stdout

    assert "&lt;img src=x> &amp; more" in text
    assert "<img" not in text


def test_around_a_mark_the_sides_are_told_apart_by_time_alone(tmp_path: Path) -> None:
    """The process knows of no change; its index got worse behind its back."""
    records = [
        *build(make_turns(400, 1), "1", START),
        *build(make_turns(400, 2, Loop(lost=0.4)), "1", AFTER),
    ]
    store = write_store(tmp_path / "t.db", records)
    without = run("--records", store)
    path = marked(store, tmp_path / "m.db", ("Vector store moved", AFTER))
    result = run("--records", path, "--json", "--guard", "0", "--measure", "no_results")
    found = json.loads(result.stdout)
    told = run("--records", path, "--guard", "0", "--measure", "no_results").stdout

    assert (without.exit_code, "no change found" in without.stderr) == (2, True)
    assert (result.exit_code, found["verdict"]) == (1, "worse")
    assert (found["before"]["turns"], found["after"]["turns"]) == (400, 400)
    assert found["change"] == {
        "at": AFTER, "before": [], "after": [], "mark": "Vector store moved",
    }  # fmt: skip
    assert "around the mark 'Vector store moved'" in told


@pytest.mark.parametrize(
    ("sides", "expected"),
    [
        pytest.param(("version=1", "version=2"), 1, id="two-versions"),
        pytest.param(("index=index of 2", "index=index of 1"), 0, id="back-again-is-better"),
        pytest.param(("2023-11-14..2023-11-14T23:00", "2023-11-14T23:00.."), 1, id="two-ranges"),
        pytest.param(("..2023-11-14T22:18", "2023-11-14T23:00.."), 3, id="five-turns-are-too-few"),
    ],
)
def test_exit_codes(store: str, sides: tuple[str, str], expected: int) -> None:
    result = run(
        "--records", store, "--before", sides[0], "--after", sides[1], "--measure", "no_results"
    )

    assert result.exit_code == expected
    assert "verdict" in result.stdout


@pytest.mark.parametrize("form", [(), ("--markdown",)], ids=["a-terminal", "markdown"])
def test_an_empty_side_is_said_in_a_line_in_place_of_the_tables(
    store: str, form: tuple[str, ...]
) -> None:
    result = run("--records", store, "--before", "..2023-01-01", "--after", "2023-11-14..", *form)

    assert result.exit_code == 3
    assert "nothing to compare: no turns before. Wait for some" in result.stdout
    assert "not enough data" in result.stdout
    assert len(result.stdout.splitlines()) < 10


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        pytest.param([], 2, "source: got 'neither'", id="no-source"),
        pytest.param(["--records", "{store}", "--before", "1d..1h"], 2, "--after", id="one-side"),
        pytest.param(
            ["--records", "{store}", "--before", "version=1", "--after", "version=9"],
            2,
            "got '9', expected one of '1', '2'",
            id="an-unknown-value-names-the-known-ones",
        ),
        pytest.param(["--records", "{store}", "--graph", "x"], 2, "'g'", id="an-unknown-graph"),
        pytest.param(["--records", "/nowhere/t.db"], 4, "no turn records", id="no-store"),
        pytest.param(
            ["--prometheus", "http://127.0.0.1:1"], 4, "nobody listens", id="no-prometheus"
        ),
        pytest.param(
            ["--records", "{store}", "--html", "/nowhere/page.html"],
            4,
            "--html: got 'No such file or directory'",
            id="a-page-that-cannot-be-written",
        ),
    ],
)
def test_bad_input_says_what_to_do(
    store: str, arguments: list[str], code: int, expected: str
) -> None:
    result = run(*(argument.format(store=store) for argument in arguments))

    assert result.exit_code == code
    assert result.stderr.startswith("error: ")
    assert expected in result.stderr
    assert result.stdout == ""


def test_a_store_of_one_build_has_no_change(tmp_path: Path) -> None:
    result = run("--records", write_store(tmp_path / "t.db", build(make_turns(30, 1), "1", START)))

    assert result.exit_code == 2
    assert "no change found: got one build (version 1, index index of 1" in result.stderr


def test_thousands_of_values_of_a_label_are_no_trouble(tmp_path: Path) -> None:
    turns = make_turns(3_000, 1)
    records = [build([turn], f"v{n:04}", START + 60 * n)[0] for n, turn in enumerate(turns)]
    url = write_store(tmp_path / "t.db", records)
    result = run("--records", url, "--before", "version=v0001", "--after", "version=gone")

    assert "and 2980 more" in result.stderr
    assert run("--records", url).exit_code == 3


def test_the_guard_leaves_out_what_is_near_the_change(store: str) -> None:
    sides = ("--before", "version=1", "--after", "version=2", "--measure", "no_results", "--json")
    plain, guarded = (
        json.loads(run("--records", store, *sides, "--guard", guard).stdout)
        for guard in ("0", "30m")
    )

    assert plain["before"]["turns"] + plain["after"]["turns"] > 790
    assert plain["after"]["turns"] - guarded["after"]["turns"] == 30
    assert "left out by the guard" in guarded["before"]["about"]


def test_the_terminal_markdown_and_the_page_say_the_same(store: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    table = run("--records", store, "--html", str(page), "--measure", "no_results").stdout
    text = run("--records", store, "--markdown", "--measure", "no_results").stdout
    html = page.read_text(encoding="utf-8")

    for said in ("first cause retrieval", "no results", "unexplained", "worse"):
        assert said in table
        assert said in text
        assert said in html
    assert html.count("<svg") == 3
    assert re.findall(r"(?:src|href)=|<script|https?://", html) == []
    assert len({line.count("|") for line in text.splitlines() if line.startswith("| no ")}) == 1
