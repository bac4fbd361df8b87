"""`loopscope compare` over a store of turn records."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from made_turns import START, Loop, build, make_turns, write_store

from agent.cli import main

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


@pytest.mark.parametrize(
    ("sides", "expected"),
    [
        pytest.param(("version=1", "version=2"), 1, id="two-versions"),
        pytest.param(("index=index of 2", "index=index of 1"), 0, id="back-again-is-better"),
        pytest.param(("2023-11-14..2023-11-14T23:00", "2023-11-14T23:00.."), 1, id="two-ranges"),
        pytest.param(("..2023-11-14T22:18", "2023-11-14T23:00.."), 3, id="five-turns-are-too-few"),
        pytest.param(("..2023-01-01", "2023-11-14.."), 3, id="an-empty-side"),
    ],
)
def test_exit_codes(store: str, sides: tuple[str, str], expected: int) -> None:
    result = run(
        "--records", store, "--before", sides[0], "--after", sides[1], "--measure", "no_results"
    )

    assert result.exit_code == expected
    assert "verdict" in result.stdout


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
        pytest.param(["--records", "{store}", "--guard", "soon"], 2, "--guard", id="no-duration"),
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
