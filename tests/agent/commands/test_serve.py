"""`loopscope serve` as its user runs it: a process, its address, its signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from agent.cli import main

LAST_HIT = "What happens if my server goes down?"
"""Found on the second rewrite of two by the golden model."""
PATIENCE_SECONDS = 30.0


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str, Path]]:
    """A service on a free port that starts healthy: its process, address and error output."""
    folder = tmp_path_factory.mktemp("serve")
    command = [sys.executable, "-c", "from agent.cli import main; main()", "serve", "--port", "0",
               "--model", "golden", "--fault", "budget-first", "--start-healthy"]  # fmt: skip
    environment = {**os.environ, "LOOPSCOPE_RECORDS": "turns.sqlite"}
    with (folder / "err").open("w") as err:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=err, text=True, env=environment, cwd=folder
        )
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().rpartition(" ")[2].strip(), folder / "err"
        finally:
            process.kill()
            process.communicate()


def outcome(url: str) -> str:
    reply = httpx.post(f"{url}/ask", json={"question": LAST_HIT}, trust_env=False, timeout=30)
    return str(reply.json()["outcome"])


def test_it_prints_its_address_and_answers_there(service: tuple[Any, str, Path]) -> None:
    _, url, err = service

    assert url.startswith("http://127.0.0.1:")
    assert "turns are kept in turns.sqlite\n" in err.read_text()
    assert outcome(url) == "answered"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/metrics/"])
def test_probes_and_metrics_are_there(service: tuple[Any, str, Path], path: str) -> None:
    reply = httpx.get(f"{service[1]}{path}", trust_env=False, follow_redirects=False)

    assert reply.status_code == 200


def test_a_signal_switches_the_fault_on_and_off(service: tuple[Any, str, Path]) -> None:
    process, url, err = service
    outcomes = []
    for said in ("is on", "is off"):
        process.send_signal(signal.SIGUSR1)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while f"budget-first {said}" not in err.read_text():
            assert time.monotonic() < deadline, err.read_text()
            time.sleep(0.02)
        outcomes.append(outcome(url))

    assert outcomes == ["no_results", "answered"]


def test_it_ends_in_order_when_told_to(service: tuple[Any, str, Path]) -> None:
    process, _, err = service
    process.terminate()

    assert process.wait(PATIENCE_SECONDS) == 0
    assert "Traceback" not in err.read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        pytest.param(
            ["serve", "--fault", "traffic-stopped"], 2, "is a fault of the traffic. Give it",
            id="serve-refuses-a-fault-of-the-traffic",
        ),
        pytest.param(
            ["serve", "--fault", "nothing"], 2, "fault got 'nothing', expected one of",
            id="serve-refuses-an-unknown-fault",
        ),
        pytest.param(
            ["serve", "--host", "192.0.2.1"], 1, "cannot serve at 192.0.2.1:8000",
            id="serve-refuses-an-address-of-another-machine",
        ),
        pytest.param(
            ["traffic", "--url", "http://127.0.0.1:1", "--fault", "drift"], 2,
            "drift is a fault of the service, got --url", id="traffic-cannot-change-a-service",
        ),
        pytest.param(
            ["traffic", "--fault", "metrics-gone"], 2, "needs a service with a metrics endpoint",
            id="traffic-in-process-has-no-metrics",
        ),
        pytest.param(
            ["traffic", "--url", "http://127.0.0.1:1"], 1, "no service to ask at",
            id="traffic-needs-a-service-that-answers",
        ),
        pytest.param(
            ["traffic", "--mix", "/nowhere.yaml"], 2, "traffic mix /nowhere.yaml",
            id="traffic-needs-a-mix",
        ),
        pytest.param(["traffic", "--rate", "0"], 2, "--rate", id="traffic-needs-a-rate"),
    ],
)  # fmt: skip
def test_wrong_use_is_refused_with_what_to_do(
    arguments: list[str], code: int, message: str
) -> None:
    result = CliRunner().invoke(main, arguments)

    assert (result.exit_code, message in " ".join(result.output.split())) == (code, True)


def test_faults_are_listed_as_json() -> None:
    listed = json.loads(CliRunner().invoke(main, ["faults", "--json"]).output)

    assert len(listed) == 13
    assert listed[0] == {
        "name": "silent-rejection",
        "wraps": "chat model",
        "share": 0.6,
        "does": "the topic check refuses a share of the questions, whatever they are about",
    }


def test_faults_are_listed_as_a_table() -> None:
    assert "collector-down" in CliRunner().invoke(main, ["faults"]).output
