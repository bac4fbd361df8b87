"""The last change of the build as scrapes of `rag_build_info` show it."""

from __future__ import annotations

import pytest

from telemetry import names
from telemetry.compare.counters import Series
from telemetry.compare.from_prometheus import last_build
from telemetry.errors import NoChangeError

STEP = 15.0


def build_of(version: str) -> tuple[str, ...]:
    return (version, "i", "p", "g", "m")


def scraped(instance: str, version: str, *rounds: int) -> dict[Series, list[tuple[float, float]]]:
    labels = {
        "__name__": names.BUILD_INFO, "job": "j", "instance": instance, "version": version,
        "index": "i", "prompt": "p", "grader": "g", "model": "m",
    }  # fmt: skip
    phase = int(instance) / 10  # no two targets are scraped at once
    return {Series.of(labels): [(STEP * number + phase, 1.0) for number in rounds]}


@pytest.mark.parametrize(
    ("builds", "at", "before", "after"),
    [
        pytest.param(
            scraped("1", "a", *range(9)) | scraped("1", "b", *range(9, 20)), 9, "a", "b",
            id="a-restart-with-another-build",
        ),
        pytest.param(
            scraped("1", "a", *range(9)) | scraped("1", "b", 9), 9, "a", "b", id="a-deploy-just-now"
        ),
        pytest.param(
            scraped("1", "a", *range(20)) | scraped("2", "a", *range(20))
            | scraped("3", "b", *range(5, 20)), 5, "a", "b",
            id="a-canary-beside-two-replicas",
        ),
        pytest.param(
            scraped("1", "a", *range(40)) | scraped("1", "b", *range(10, 40)), 10, "a", "b",
            id="two-builds-in-one-process",
        ),
        pytest.param(
            scraped("1", "a", *range(9), *range(40, 60)) | scraped("1", "b", *range(9, 40)),
            40, "b", "a", id="a-rollback",
        ),
    ],
)  # fmt: skip
def test_the_last_build_that_came(
    builds: dict[Series, list[tuple[float, float]]], at: int, before: str, after: str
) -> None:
    found = last_build(builds)

    assert int(found.at / STEP) == at
    assert (found.before, found.after) == (build_of(before), build_of(after))


@pytest.mark.parametrize(
    ("builds", "told"),
    [
        pytest.param({}, "nothing", id="nothing-was-scraped"),
        pytest.param(scraped("1", "a", *range(9)), "a, i, p, g, m", id="one-build"),
        pytest.param(
            scraped("9", "a", *range(9)) | scraped("1", "b", *range(9)),
            "a, i, p, g, m and b, i, p, g, m", id="two-builds-from-the-beginning",
        ),
    ],
)  # fmt: skip
def test_no_build_came(builds: dict[Series, list[tuple[float, float]]], told: str) -> None:
    with pytest.raises(NoChangeError) as caught:
        last_build(builds)

    assert told in str(caught.value)
