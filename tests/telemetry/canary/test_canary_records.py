"""`loopscope canary` and its reader over stores of turn records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rollouts import START, made_turn, records_of, two_versions
from written import write_store

from agent.cli import main
from telemetry.canary.counts import CANARY, STABLE
from telemetry.canary.from_records import RecordsWatch
from telemetry.compare.rates import Rate
from telemetry.errors import CompareInputError

VERSIONS = ("1", "2")
END = START + 60 * 120


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["canary", "--stable", "1", "--canary", "2", *arguments])


def look(store: str, *arguments: str) -> Result:
    """Look once at a rollout that began at `START`."""
    return run("--records", store, "--since", "2023-11-14T22:13:20", "--once", *arguments)


@pytest.mark.parametrize(
    ("without", "arguments", "expected"),
    [
        pytest.param(0.4, [], 1, id="four-times-as-many-without-results-are-rolled-back"),
        pytest.param(0.1, ["--worse-by", "10"], 0, id="the-same-is-promoted"),
        pytest.param(0.1, ["--worse-by", "1.5"], 3, id="a-narrow-margin-needs-more-turns"),
        pytest.param(0.4, ["--measure", "off_topic"], 0, id="judged-by-another-measure"),
    ],
)
def test_exit_codes(tmp_path: Path, without: float, arguments: list[str], expected: int) -> None:
    store = write_store(tmp_path / "t.db", two_versions(1, 120, without))
    result = look(store, *arguments)
    found = json.loads(look(store, "--json", *arguments).stdout)

    assert (result.exit_code, found["exit_code"]) == (expected, expected)
    assert len(result.stdout.splitlines()) == 1
    assert f" {found['verdict']}: 360 turns of version 2 (23.1% of both); " in result.stdout


def test_what_a_look_counts(tmp_path: Path) -> None:
    turns = [
        *(made_turn("1", START - 100, "answered", seconds=1) for _ in range(9)),
        made_turn("1", START - 99, "no_results", seconds=8),
        made_turn("1", START + 1, "off_topic"),
        made_turn("1", START + 1, "cancelled"),
        made_turn("2", START + 2, "answered", rewrites=1, seconds=1.5),
        made_turn("2", START + 12, "error", seconds=1),
        made_turn("2", START + 58, "answered"),  # a slot that is still under way
        made_turn("3", START + 2, "error"),
    ]
    store = write_store(tmp_path / "t.db", records_of(turns))
    found = RecordsWatch(store, None, VERSIONS, since=START).read(START + 60)

    assert found.slow_seconds == 1
    assert found.total == (1, 2)
    assert {name: (one.before, one.rate(STABLE), one.rate(CANARY))
            for name, one in found.counts.items()} == {
        "no_results": (Rate(1, 10), Rate(0, 0), Rate(0, 1)),
        "off_topic": (Rate(0, 10), Rate(1, 1), Rate(0, 2)),
        "failed": (Rate(0, 10), Rate(0, 1), Rate(1, 2)),
        "rewrote": (Rate(0, 10), Rate(0, 0), Rate(1, 1)),
        "slow": (Rate(1, 10), Rate(0, 1), Rate(1, 2)),
    }  # fmt: skip


def test_looking_often_and_looking_once_count_the_same(tmp_path: Path) -> None:
    """Also turns that are written late: long ones, and those of a store that was away."""
    records = two_versions(3, 60, 0.2)
    late = [record for number, record in enumerate(records) if number % 17 == 0]
    early = [record for number, record in enumerate(records) if number % 17]
    store = write_store(tmp_path / "t.db", [r for r in early if r.started_at < START + 600])
    watch = RecordsWatch(store, None, VERSIONS, since=START)
    for minute in range(10, 60, 5):
        window = (START + 60 * minute, START + 60 * minute + 300)
        write_store(tmp_path / "t.db", [r for r in early if window[0] <= r.started_at < window[1]])
        write_store(tmp_path / "t.db", [r for r in late if r.started_at < window[0]])
        watch.read(window[1])
    write_store(tmp_path / "t.db", late)
    often = watch.read(END)
    once = RecordsWatch(store, None, VERSIONS, since=START).read(END)

    assert often.total == once.total
    for name in once.counts:
        if name != "slow":  # what is slow was told before the late ones of the past came
            assert (often.counts[name].hits == once.counts[name].hits).all()


def test_it_begins_with_the_first_turn_of_the_canary(tmp_path: Path) -> None:
    stable = [made_turn("1", START + second, "answered") for second in range(-600, 600)]
    store = write_store(tmp_path / "t.db", records_of(stable))
    watch = RecordsWatch(store, None, VERSIONS)

    assert watch.read(START + 600).since is None

    write_store(
        tmp_path / "t.db", records_of([made_turn("2", START + 601, "answered", seconds=0.5)])
    )
    found = watch.read(START + 660)

    assert found.since == START + 600.5
    assert found.total[CANARY] == 1


def test_without_a_past_nothing_is_slow_unless_it_is_told(tmp_path: Path) -> None:
    turns = [made_turn(version, START + 1, "answered", seconds=3) for version in VERSIONS]
    store = write_store(tmp_path / "t.db", records_of(turns))
    unknown = RecordsWatch(store, None, VERSIONS, since=START).read(END)
    told = RecordsWatch(store, None, VERSIONS, since=START, slow_seconds=2).read(END)

    assert "slow" not in unknown.counts
    assert told.counts["slow"].rate(CANARY) == Rate(1, 1)


def test_a_stable_version_that_is_not_there_is_refused(tmp_path: Path) -> None:
    store = write_store(tmp_path / "t.db", records_of([made_turn("1", START, "answered")]))

    with pytest.raises(CompareInputError, match="--stable version: got '7', expected one of '1'"):
        RecordsWatch(store, None, ("7", "2")).read(END)


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        pytest.param([], 2, "source: got 'neither'", id="no-source"),
        pytest.param(["--records", "x", "--prometheus", "y"], 2, "got 'both'", id="two-sources"),
        pytest.param(["--records", "x", "--canary", "1"], 2, "another version", id="one-version"),
        pytest.param(["--records", "x", "--every", "0"], 2, "'--every': 0.0", id="no-pause"),
        pytest.param(["--records", "x", "--at-most", "soon"], 2, "--at-most", id="no-duration"),
        pytest.param(["--records", "x", "--since", "then"], 2, "--since", id="no-time"),
        pytest.param(["--records", "x", "--worse-by", "1"], 2, "--worse-by", id="negligible"),
        pytest.param(
            ["--prometheus", "http://127.0.0.1:1", "--slow", "3"], 2,
            "--slow: got 3.0, expected one of 0.5, 2.5", id="no-edge-of-the-histogram",
        ),
    ],
)  # fmt: skip
def test_bad_input_says_what_to_do(arguments: list[str], code: int, expected: str) -> None:
    result = run(*arguments)

    assert result.exit_code == code
    assert expected in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(["--records", "/nowhere/t.db"], "no turn records", id="no-store"),
        pytest.param(["--prometheus", "http://127.0.0.1:1"], "nobody listens", id="no-prometheus"),
    ],
)
def test_a_source_that_is_away_to_the_end_is_4(source: list[str], expected: str) -> None:
    result = run(*source, "--once")
    found = json.loads(run(*source, "--once", "--json").stdout)

    assert result.exit_code == 4
    assert expected in result.stdout
    assert "keep waiting: " in result.stdout
    assert (found["verdict"], expected in found["problem"]) == ("keep waiting", True)


def test_a_canary_without_turns_is_waited_for(tmp_path: Path) -> None:
    store = write_store(tmp_path / "t.db", records_of([made_turn("1", START, "answered")]))
    result = run("--records", store, "--once")

    assert result.exit_code == 3
    assert result.stdout.endswith("keep waiting: no turns of version 2 yet\n")


def test_a_canary_that_has_all_the_traffic_is_said_to_need_the_stable_version(
    tmp_path: Path,
) -> None:
    times = {"1": [START - 3600], "2": [START + 1, START + 2]}
    turns = [made_turn(name, at, "answered") for name, ats in times.items() for at in ats]
    result = look(write_store(tmp_path / "t.db", records_of(turns)))

    assert result.exit_code == 3
    assert result.stdout.endswith(
        "keep waiting: 2 turns of version 2, none of version 1 beside them: both must be asked at "
        "the same time\n"
    )
