"""A real Prometheus with the samples that replicas of two versions leave over restarts (C09)."""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections import Counter
from collections.abc import Iterator

import native_servers
import pytest
from click.testing import CliRunner
from prometheus_client import CollectorRegistry
from rollouts import made_turn
from written import scrape

from telemetry import names
from telemetry.canary.command import canary
from telemetry.canary.counts import CANARY, STABLE
from telemetry.canary.from_prometheus import PrometheusWatch, weights
from telemetry.compare.counters import Series
from telemetry.compare.rates import Rate
from telemetry.errors import CompareInputError
from telemetry.families import metric_set
from telemetry.fetch import FetchError
from telemetry.prometheus_api import Prometheus
from telemetry.turn_metrics import TurnMetrics

STEP = 30
NOW = int(time.time()) // STEP * STEP - 600
BEGAN = NOW - 3_600
"""When the canary came, after a third of an hour of the stable version alone."""
PER_STEP = {"1": 8, "2": 2}


class Replica:
    """One process: real metrics of ours, scraped into a file."""

    def __init__(self, instance: str, version: str) -> None:
        self._instance, self.version = instance, version
        self.asked: Counter[str] = Counter()
        self.restart()

    def restart(self) -> None:
        self._registry = CollectorRegistry()
        self._metrics = TurnMetrics(
            metric_set(self._registry), graph="g", version=self.version, roles=names.ROLES
        )
        self._metrics.build_info({"index": "i", "prompt": "p", "grader": "g", "model": "m"})

    def ask(self, outcome: str, seconds: float, rewrites: int) -> None:
        self._metrics.opened()
        turn = made_turn(self.version, time.time(), outcome, seconds=seconds, rewrites=rewrites)
        self._metrics.closed(turn)
        self.asked.update([outcome, f"rewrote {rewrites > 0}", f"slow {seconds > 2.5}"])

    def scrape(self, at: int) -> list[str]:
        return scrape(self._registry, self._instance, at)


def scraped(replicas: list[Replica]) -> Iterator[str]:
    """Two stable replicas of which one restarts, and a canary that is worse and restarts too."""
    chance = random.Random(4)
    for nth, at in enumerate(range(BEGAN - 1_200, NOW, STEP)):
        for replica in replicas:
            if replica.version == "2" and at < BEGAN:
                continue
            for _ in range(PER_STEP[replica.version] if nth else 0):
                without = 0.35 if replica.version == "2" else 0.1
                outcome = chance.choices(
                    ["no_results", "answered", "off_topic", "error"],
                    [without, 0.88 - without, 0.1, 0.02],
                )[0]
                searched = outcome in ("no_results", "answered")
                rewrites = 1 if searched and chance.random() < 0.3 else 0
                replica.ask(outcome, 1.0 if chance.random() < 0.95 else 9.0, rewrites)
            yield from replica.scrape(at)
            if at == BEGAN + 100 * STEP and replica is not replicas[0]:
                replica.restart()


@pytest.fixture(scope="module")
def replicas() -> list[Replica]:
    return [Replica("a:1", "1"), Replica("b:1", "1"), Replica("c:1", "2")]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory, replicas: list[Replica]) -> Iterator[str]:
    home = tmp_path_factory.mktemp("prometheus")
    promtool = native_servers.need("promtool")
    samples = home / "samples.txt"
    samples.write_text("\n".join([*scraped(replicas), "# EOF", ""]))
    subprocess.run(
        [promtool, "tsdb", "create-blocks-from", "openmetrics", str(samples), str(home / "data")],
        check=True,
        capture_output=True,
    )
    with native_servers.prometheus("global: {}\n", home) as address:
        yield address


def watcher(url: str, **options: float) -> PrometheusWatch:
    return PrometheusWatch(Prometheus(url=url), None, None, ("1", "2"), **options)


@pytest.mark.servers
def test_counts_over_replicas_and_restarts_are_exact(url: str, replicas: list[Replica]) -> None:
    found = watcher(url).read(NOW + 300)
    canary_asked = replicas[2].asked
    stable_asked = replicas[0].asked + replicas[1].asked

    def told(name: str) -> tuple[Rate, Rate]:
        """Return all of the stable side, before and since, and the canary's."""
        counts = found.counts[name]
        since = counts.rate(STABLE)
        total = counts.before.total + since.total
        return Rate(counts.before.hits + since.hits, total), counts.rate(CANARY)

    for name, key in (("off_topic", "off_topic"), ("failed", "error"), ("slow", "slow True")):
        assert told(name) == tuple(
            Rate(asked[key], asked["slow True"] + asked["slow False"])
            for asked in (stable_asked, canary_asked)
        )
    searches = [asked["answered"] + asked["no_results"] for asked in (stable_asked, canary_asked)]
    assert [rate.total for rate in told("no_results")] == searches
    assert [rate.total for rate in told("rewrote")] == searches
    assert told("no_results")[1].hits == canary_asked["no_results"]
    assert told("rewrote")[1].hits == canary_asked["rewrote True"]
    assert BEGAN - STEP <= (found.since or 0) <= BEGAN
    assert found.slow_seconds == 2.5
    assert found.counts["off_topic"].before.total == pytest.approx(8 * 2 * 40, abs=40)


@pytest.mark.servers
def test_looking_often_and_a_command_started_anew_count_the_same(url: str) -> None:
    often = watcher(url)
    for at in range(BEGAN + 30, NOW + 300, 700):
        seen = often.read(at)
    once = watcher(url).read(NOW + 300)
    seen = often.read(NOW + 300)

    assert seen.total == once.total
    for name, counts in once.counts.items():
        assert (seen.counts[name].hits == counts.hits).all()
        assert (seen.counts[name].totals == counts.totals).all()


@pytest.mark.servers
def test_the_command_rolls_back_and_names_the_measure(url: str) -> None:
    result = CliRunner().invoke(
        canary,
        ["--prometheus", url, "--stable", "1", "--canary", "2", "--once", "--json"],
    )
    found = json.loads(result.stdout)

    assert (result.exit_code, found["verdict"]) == (1, "roll back")
    assert [one["name"] for one in found["measures"] if one["is_worse"]] == ["no_results"]
    assert found["canary"]["turns"] == 240


@pytest.mark.servers
def test_before_it_was_scraped_the_canary_is_waited_for(url: str) -> None:
    assert watcher(url).read(BEGAN - 60).since is None


@pytest.mark.servers
def test_a_stable_version_that_was_never_scraped_is_refused(url: str) -> None:
    with pytest.raises(CompareInputError, match=r"--stable: got '7', expected one of \['1', '2'\]"):
        PrometheusWatch(Prometheus(url=url), None, None, ("7", "2")).read(NOW)


@pytest.mark.servers
def test_a_prometheus_that_dies_between_looks_loses_nothing(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three requests of a look succeed, then none, then all: it reads on where it was."""
    watch = watcher(url)
    watch.read(BEGAN + 300)
    fetched = watch._source.__class__.read
    left = [3]

    def unsure(*arguments: object) -> object:
        left[0] -= 1
        if left[0] < 0:
            raise FetchError("nobody listens", "Start it.")
        return fetched(*arguments)

    monkeypatch.setattr(watch._source.__class__, "read", unsure)
    with pytest.raises(FetchError):
        watch.read(NOW + 300)
    monkeypatch.undo()

    assert watch.read(NOW + 300).total == watcher(url).read(NOW + 300).total


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param(
            {"__name__": names.TURNS, "outcome": "no_results", "retrieved": "yes"},
            {"no_results": (1, 1), "off_topic": (0, 1), "failed": (0, 1)},
            id="a-search-in-vain",
        ),
        pytest.param(
            {"__name__": names.TURNS, "outcome": "error", "retrieved": "no"},
            {"off_topic": (0, 1), "failed": (1, 1)},
            id="a-failure-before-any-search",
        ),
        pytest.param(
            {"__name__": names.TURNS, "outcome": "cancelled", "retrieved": "no"}, {},
            id="nobody-waited-for-it",
        ),
        pytest.param(
            {"__name__": "rag_rewrites_per_turn_bucket", "outcome": "answered", "le": "+Inf"},
            {"rewrote": (1, 1)}, id="every-search-may-have-rewritten",
        ),
        pytest.param(
            {"__name__": "rag_rewrites_per_turn_bucket", "outcome": "answered", "le": "0.5"},
            {"rewrote": (-1, 0)}, id="but-not-those-without-a-rewrite",
        ),
        pytest.param(
            {"__name__": "rag_rewrites_per_turn_bucket", "outcome": "other", "le": "+Inf"}, {},
            id="what-never-searched-could-not",
        ),
        pytest.param(
            {"__name__": "rag_turn_duration_seconds_bucket", "outcome": "other", "le": "2.5"},
            {"slow": (-1, 0)}, id="fast-enough",
        ),
        pytest.param(
            {"__name__": "rag_turn_duration_seconds_bucket", "outcome": "other", "le": "5.0"}, {},
            id="other-edges-say-nothing",
        ),
    ],
)  # fmt: skip
def test_what_one_count_means(labels: dict[str, str], expected: dict[str, tuple[int, int]]) -> None:
    assert weights(Series.of(labels), 2.5) == expected
