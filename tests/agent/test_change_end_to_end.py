"""The index gets worse under traffic: what is said of it, since when, and by whom.

Everything is real: `loopscope serve`, whose index loses or garbles most of its chunks at a signal;
`loopscope traffic`; Prometheus with the generated rules on scaled time; `loopscope compare` over
its samples and over the turn records.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from native_servers import free_port
from replica import Replica
from ruled_prometheus import prometheus

from agent.demo.guide import Guide
from agent.demo.watch import Prometheus

pytestmark = pytest.mark.servers

JOB = "support"
TIME_SCALE = 1 / 200
"""Windows of 4.5 s, 18 s and 108 s, and a scrape a second."""
RATE = 5.0
TURNS = 100
"""Least number on either side."""
SINCE_SECONDS = 10.0
"""The new index is built at the signal, then asked, then scraped."""
LEFT_OUT_SECONDS = 8.0
"""The guard on both sides, two scrapes, and twice as much as traffic is denser at times."""
PATIENCE_SECONDS = 90.0
CHANGE, INDEX = "RagNoResultsJumpChangePage", "RagNoResultsJumpIndexTicket"


@dataclass(frozen=True)
class Told:
    """What was said after the change."""

    changed: float
    """Unix time of the signal."""
    fired: dict[str, float]
    """Alert -> Unix time of the first evaluation at which it fired."""
    compared: dict[str, tuple[int, dict[str, Any]]]
    """Source -> exit code and object of `compare --json`."""
    replied: int
    """Questions with an outcome."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return asyncio.run(_change(tmp_path_factory.mktemp("change")))


async def _change(home: Path) -> Told:
    records = str(home / "turns.sqlite")
    replica, guide = Replica("memory", home, {"LOOPSCOPE_RECORDS": records}), Guide(TIME_SCALE)
    with ExitStack() as parts:
        replica.start("--fault", "index-regression", "--start-healthy")
        parts.callback(replica.end, signal.SIGTERM)
        replica.wait()
        targets = {JOB: [replica.port]}
        url = parts.enter_context(
            prometheus(home / "prometheus", guide.settings, targets, port=free_port())
        )
        async with Prometheus(url) as asked:
            await asked.scrapes({JOB})
            with _traffic(replica) as traffic:
                await _turns(replica, TURNS)
                changed = time.time()
                assert replica.process is not None
                replica.process.send_signal(signal.SIGUSR1)
                await _turns(replica, await _turns(replica, 0) + TURNS)
                fired = await _fired(asked, changed, guide.step_seconds)
                replied = _replied(traffic)
            await asyncio.sleep(3 * guide.settings.scrape_interval)  # the last turns are scraped
            return Told(
                changed=changed,
                fired=fired,
                compared={
                    "records": _compare("--records", records),
                    "prometheus": _compare("--prometheus", url),
                },
                replied=replied,
            )


@contextmanager
def _traffic(replica: Replica) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", "from agent.cli import main; main()", "traffic", "--json",
               "--url", replica.url, "--rate", str(RATE)]  # fmt: skip
    with replica.log.open("a") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


def _replied(traffic: subprocess.Popen[str]) -> int:
    """Stop the traffic and return how many questions got a reply."""
    traffic.send_signal(signal.SIGINT)
    out, _ = traffic.communicate(timeout=PATIENCE_SECONDS)
    return sum(json.loads(out)["total"]["outcomes"].values())


async def _turns(replica: Replica, number: int) -> int:
    """Wait until the service has answered so many questions, and return how many it has."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_SECONDS) as client:
        while True:
            text = (await client.get(f"{replica.url}/metrics")).text
            lines = [line for line in text.splitlines() if line.startswith("rag_turns_total{")]
            turns = int(sum(float(line.split()[-1]) for line in lines))
            if turns >= number:
                return turns
            assert time.monotonic() < deadline, f"{turns} of {number} turns"
            await asyncio.sleep(0.5)


async def _fired(prometheus: Prometheus, changed: float, step: float) -> dict[str, float]:
    """Wait until both alerts have fired; which others may is for the demo to judge."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    first: dict[str, float] = {}
    while not {CHANGE, INDEX} <= set(first) and time.monotonic() < deadline:
        await asyncio.sleep(1.0)
        found = await prometheus.fired(changed - 10, time.time(), step)
        first = {alert: at for _, alert, at in found}
    return first


def _compare(option: str, place: str) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, "-c", "from agent.cli import main; main()", "compare", option, place,
               "--guard", "2s", "--json"]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.stdout, run.stderr
    return run.returncode, json.loads(run.stdout)


@pytest.mark.parametrize("source", ["records", "prometheus"])
def test_compare_says_worse_and_since_when(told: Told, source: str) -> None:
    code, found = told.compared[source]
    verdicts = {measure["name"]: measure["verdict"] for measure in found["measures"]}

    assert (code, found["verdict"], verdicts["no_results"]) == (1, "worse", "worse")
    assert 0 <= found["since"] - told.changed <= SINCE_SECONDS


def test_compare_blames_retrieval_and_names_both_indexes(told: Told) -> None:
    found = told.compared["records"][1]
    (before,), (after,) = (found[side]["labels"]["index"] for side in ("before", "after"))
    graders = [found[side]["labels"]["grader"] for side in ("before", "after")]

    assert (found["blame"]["first_cause"], found["blame"]["is_clear"]) == ("retrieval", True)
    assert before != after
    assert graders == [["local"], ["local"]]


def test_the_alerts_name_the_same_after_the_change(told: Told) -> None:
    assert {CHANGE, INDEX} <= set(told.fired)
    assert "RagNoResultsJumpGraderTicket" not in told.fired
    assert min(told.fired[CHANGE], told.fired[INDEX]) > told.changed


@pytest.mark.parametrize("source", ["records", "prometheus"])
def test_no_turn_is_lost_or_invented(told: Told, source: str) -> None:
    found = told.compared[source][1]
    counted = sum(found[side]["turns"] for side in ("before", "after"))

    assert told.replied - LEFT_OUT_SECONDS * RATE <= counted <= told.replied
