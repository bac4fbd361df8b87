"""`loopscope probe` as its user runs it, against a service in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner, Result
from native_servers import wait_until
from replica import scraped

from agent.cli import main
from telemetry import open_reader
from telemetry.errors import TelemetryError

COMMAND = [sys.executable, "-c", "from agent.cli import main; main()"]
KEY = "s3cret"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str, Path]]:
    """A healthy service with records, whose index goes bad at SIGUSR1: process, address, folder."""
    folder = tmp_path_factory.mktemp("probe")
    environment = {
        **os.environ, "LOOPSCOPE_PROBE_KEY": KEY, "LOOPSCOPE_RECORDS": "turns.sqlite",
        "LOOPSCOPE_CONSOLE": "off",
    }  # fmt: skip
    command = [*COMMAND, "serve", "--port", "0", "--fault", "index-regression", "--start-healthy"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment,
        cwd=folder,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().rpartition(" ")[2].strip(), folder
    finally:
        process.kill()
        process.communicate()


def probe(*options: str, key: str | None = KEY) -> Result:
    environment = {"LOOPSCOPE_PROBE_KEY": key}
    return CliRunner().invoke(main, ["probe", *options], env=environment)


def counted(url: str, metric: str) -> float:
    return sum(scraped(url, metric).values())


def kept(records: Path) -> int:
    try:
        with open_reader(records) as reader:
            return reader.count()
    except TelemetryError:  # nothing was written yet
        return 0


def test_a_sound_service_answers_every_known_question_and_its_books_stay_empty(
    service: tuple[Any, str, Path],
) -> None:
    _, url, folder = service
    before = counted(url, "rag_probe_turns_total")
    done = probe("--url", url, "--rounds", "2", "--every", "0.01")
    user = httpx.post(f"{url}/ask", json={"question": "Is there a trial?"}, trust_env=False)

    assert (done.exit_code, done.stderr) == (0, "")
    assert [line.partition(",")[0] for line in done.stdout.splitlines()] == [
        "round 1: 5 of 5 as expected", "round 2: 5 of 5 as expected",
    ]  # fmt: skip
    assert user.status_code == 200
    assert counted(url, "rag_probe_turns_total") - before == 10
    assert counted(url, "rag_turns_total") == 1
    assert counted(url, "rag_llm_calls_per_turn_count") == 1
    wait_until(lambda: kept(folder / "turns.sqlite") > 0, "a record")
    assert kept(folder / "turns.sqlite") == 1  # written in the order of the turns


def test_a_regression_is_told_in_the_first_round_and_counted_in_a_row(
    service: tuple[Any, str, Path],
) -> None:
    process, url, _ = service
    process.send_signal(signal.SIGUSR1)
    try:
        done = probe("--url", url, "--rounds", "2", "--every", "0.01", "--json")
    finally:
        process.send_signal(signal.SIGUSR1)
    first, second = map(json.loads, done.stdout.splitlines())
    unexpected = {q["question_id"]: (q["expected"], q["got"]) for q in first["questions"]
                  if q["expected"] != q["got"]}  # fmt: skip

    assert done.exit_code == 1
    assert unexpected == dict.fromkeys(("1", "3", "5"), ("answered", "no_results"))
    assert [q["unexpected_in_a_row"] for q in second["questions"]] == [2, 0, 2, 0, 2]


def test_the_exit_code_is_that_of_the_last_round(service: tuple[Any, str, Path]) -> None:
    assert probe("--url", service[1], "--rounds", "1").exit_code == 0


@pytest.mark.parametrize(
    ("options", "key", "code", "said"),
    [
        pytest.param([], "wrong", 1, "HTTP 403: the probe was not served", id="a-refused-key"),
        pytest.param([], None, 2, "probe_key got nothing, expected: the service's", id="no-key"),
        pytest.param(["--golden", "/nowhere"], KEY, 2, "golden set /nowhere", id="no-golden-set"),
        pytest.param(["--every", "0"], KEY, 2, "Invalid value for '--every'", id="no-time"),
        pytest.param(["--url", "ftp://x"], KEY, 1, "it is no HTTP address", id="no-http-address"),
    ],
)
def test_what_cannot_be_probed_is_told(
    service: tuple[Any, str, Path], options: list[str], key: str | None, code: int, said: str
) -> None:
    done = probe("--url", service[1], "--rounds", "1", *options, key=key)

    assert (done.exit_code, said in done.output) == (code, True), done.output
    assert "wrong" not in done.output


def test_a_service_that_is_down_is_no_answer_and_no_crash() -> None:
    done = probe("--url", "http://127.0.0.1:1", "--rounds", "1")

    assert done.exit_code == 1
    assert "questions 1, 2, 3, 4, 5: no answer, ConnectError" in done.stdout


def test_it_serves_its_metrics_until_it_is_stopped(service: tuple[Any, str, Path]) -> None:
    _, url, folder = service
    process = subprocess.Popen(
        [*COMMAND, "probe", "--url", url, "--every", "60", "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
        env={**os.environ, "LOOPSCOPE_PROBE_KEY": KEY},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        address = process.stderr.readline().rpartition(" ")[2].strip()
        assert process.stdout.readline().startswith("round 1: 5 of 5 as expected")
        shown = urllib.request.urlopen(address, timeout=10).read().decode()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()

    assert process.returncode == 0
    assert 'rag_probe_total{expected="answered",got="answered",question_id="1"} 1.0' in shown
    assert 'rag_probe_total{expected="answered",got="no_results",question_id="1"} 0.0' in shown
    assert "rag_turns_total" not in shown
