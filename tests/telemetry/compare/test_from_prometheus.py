"""Real Prometheus with samples as replicas of two versions leave them (C09)."""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import native_servers
import pytest
from click.testing import CliRunner
from prometheus_client import CollectorRegistry
from written import scrape

from telemetry import names
from telemetry.compare.command import compare
from telemetry.families import metric_set
from telemetry.records.marks import make_mark, put_mark
from telemetry.turn import Retrieval, Turn
from telemetry.turn_metrics import TurnMetrics

pytestmark = pytest.mark.servers
STEP = 15
NOW = int(time.time()) // STEP * STEP - 3_600


class Replica:
    """One process: real metrics of ours, scraped into a file."""

    def __init__(self, instance: str, version: str) -> None:
        self._instance, self._version = instance, version
        self.restart()

    def restart(self) -> None:
        self._registry = CollectorRegistry()
        self._metrics = TurnMetrics(
            metric_set(self._registry), graph="g", version=self._version, roles=names.ROLES
        )
        self._metrics.build_info(
            {"index": f"i{self._version}", "prompt": "p", "grader": "g", "model": "m"}
        )

    def ask(self, outcome: str) -> None:
        self._metrics.opened()
        search = Retrieval(
            attempt=0, chunk_ids=("c",), scores=(0.5,), grades=(outcome == "answered",)
        )
        self._metrics.closed(
            Turn(
                graph="g",
                version=self._version,
                outcome=outcome,
                classification="irrelevant" if outcome == "off_topic" else "relevant",
                confidence="low",
                retrievals=() if outcome == "off_topic" else (search,),
                llm_calls=4,
                duration_seconds=0.3 if self._version == "1" else 3.0,
            )
        )

    def scrape(self, at: int) -> list[str]:
        return scrape(self._registry, self._instance, at)


def lines() -> Iterator[str]:
    """Version 1 answers 300 and goes; version 2 answers 300 and restarts in the middle."""
    chance = random.Random(4)
    first = ["off_topic"] * 30 + ["answered"] * 250 + ["no_results"] * 20
    second = ["off_topic"] * 60 + ["answered"] * 220 + ["no_results"] * 20
    chance.shuffle(first)
    chance.shuffle(second)
    old, new = Replica("a:1", "1"), Replica("b:1", "2")
    for minute in range(-1, 100):
        for outcome in first[3 * minute : 3 * minute + 3] if minute >= 0 else ():
            old.ask(outcome)
        yield from old.scrape(NOW - 12_000 + 60 * minute)
    for minute in range(100):
        for number, outcome in enumerate(second[3 * minute : 3 * minute + 3]):
            new.ask(outcome)
            if minute == 50 and number == 2:
                yield from new.scrape(NOW - 5_960 + 60 * minute - STEP)
                new.restart()
        yield from new.scrape(NOW - 5_960 + 60 * minute)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("prometheus")
    promtool = native_servers.need("promtool")
    samples = home / "samples.txt"
    samples.write_text("\n".join([*lines(), "# EOF", ""]))
    subprocess.run(
        [promtool, "tsdb", "create-blocks-from", "openmetrics", str(samples), str(home / "data")],
        check=True,
        capture_output=True,
    )
    with native_servers.prometheus("global: {}\n", home) as address:
        yield address


def run(url: str, *arguments: str) -> tuple[int, dict[str, object]]:
    result = CliRunner().invoke(compare, ["--prometheus", url, "--json", *arguments])
    assert result.stdout, result.exception
    return result.exit_code, json.loads(result.stdout)


def test_counts_over_a_deploy_and_a_restart_are_exact(url: str) -> None:
    code, found = run(
        url, "--before", "version=1", "--after", "version=2", "--measure", "off_topic",
        "--measure", "answered", "--measure", "duration",
    )  # fmt: skip
    off_topic, answered, duration = found["measures"]

    assert (off_topic["before"]["hits"], off_topic["before"]["n"]) == (30, 300)
    assert (off_topic["after"]["hits"], off_topic["after"]["n"]) == (60, 300)
    assert (answered["before"]["hits"], answered["after"]["hits"]) == (250, 220)
    assert (off_topic["verdict"], duration["verdict"], code) == ("worse", "worse", 1)


def test_the_last_change_is_found_and_compared_around(url: str) -> None:
    code, found = run(url, "--guard", "10m")

    assert code == 1
    assert found["since"] == NOW - 5_960
    assert found["before"]["labels"]["version"] == ["1"]
    assert found["after"]["turns"] < 300
    assert "tokens" in found["not_measured"]


MARKED = NOW - 3_000
"""When half of the turns of version 2 were asked."""


@pytest.mark.parametrize(
    ("at", "since"),
    [
        pytest.param(MARKED, MARKED, id="after-the-change-of-the-build"),
        pytest.param(NOW - 9_000, NOW - 5_960, id="before-it"),
    ],
)
def test_a_mark_in_the_records_counts_when_the_build_changed_no_later(
    url: str, at: float, since: float, tmp_path: Path
) -> None:
    store = str(tmp_path / "t.db")
    put_mark(store, make_mark("Vector store moved", at=at, tags=[], now=at))
    _, found = run(url, "--records", store, "--guard", "0", "--measure", "off_topic")
    is_mark = at == since

    assert found["change"]["at"] == since
    assert found["change"]["mark"] == ("Vector store moved" if is_mark else None)
    turns = 450 if is_mark else 300
    assert found["before"]["turns"] == pytest.approx(turns, abs=5)
    assert found["after"]["turns"] == pytest.approx(600 - turns, abs=5)


def test_a_store_that_a_variable_names_and_that_is_not_there_has_no_marks(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOPSCOPE_RECORDS", "/nowhere/t.db")

    assert run(url)[1]["change"]["mark"] is None


def test_ten_turns_a_side_are_not_enough(url: str) -> None:
    code, found = run(
        url, "--before", f"since={_ago(NOW - 12_000)}", "--before", f"until={_ago(NOW - 11_820)}",
        "--after", f"since={_ago(NOW - 5_960)}", "--after", f"until={_ago(NOW - 5_780)}",
    )  # fmt: skip

    assert (code, found["verdict"]) == (3, "not enough data")
    assert found["before"]["turns"] == 9


def test_a_value_that_is_not_there_names_those_that_are(url: str) -> None:
    result = CliRunner().invoke(
        compare, ["--prometheus", url, "--before", "version=1", "--after", "version=7"]
    )

    assert "got '7', expected one of ['1', '2']" in str(result.exception)


def _ago(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))
