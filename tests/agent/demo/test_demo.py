"""The demo as its user runs it: a few faults on real Prometheus and Alertmanager, and its ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from native_servers import need

from agent.cli import main

COMMAND = [sys.executable, "-c", "from agent.cli import main; main()", "demo"]

BRIEF = [
    *COMMAND,
    "--once",
    "--only",
    "metrics-gone",
    "--model",
    "golden",
    "--time-scale",
    "0.0035",
]
"""Up within seconds: the golden model needs no fitting, and the first scrape comes soon."""


def children(pid: int) -> set[int]:
    """Return the processes below a process."""
    found: set[int] = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            child = int(status.parent.name)
            found |= {child, *children(child)}
    return found


def alive(pids: Sequence[int] | set[int]) -> list[int]:
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both servers are installed, and what a killed demo leaves lies in the test's own folder."""
    for name in ("prometheus", "prometheus-alertmanager"):
        need(name)
    monkeypatch.setenv("TMPDIR", str(tmp_path))


# Takes about 70 s: two stretches of several scaled windows, which nothing can shorten.
@pytest.mark.servers
def test_injected_faults_are_told_by_their_own_alerts_alone(servers: None, tmp_path: Path) -> None:
    faults = ["silent-rejection", "runaway-loop", "metrics-gone"]
    only = [part for fault in faults for part in ("--only", fault)]
    done = subprocess.run(
        [*COMMAND, "--once", "--json", *only, "--rate", "3", "--time-scale", "0.0035",
         "--out", str(tmp_path)],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    matrix = json.loads(done.stdout)

    assert (matrix["problems"], done.returncode) == ([], 0)
    assert [row["job"] for row in matrix["rows"]] == ["healthy", *faults]
    assert matrix["rows"][0]["fired"] == {}
    assert "RagSilentRejectionPage" in matrix["rows"][1]["notified"]
    assert matrix["traffic"]["healthy"]["outcomes"]["answered"] > 50
    assert json.loads((tmp_path / "matrix.json").read_text()) == matrix


@pytest.mark.servers
def test_no_child_outlives_a_demo_that_is_stopped(servers: None, tmp_path: Path) -> None:
    command = [*BRIEF, "--out", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        while "nothing may fire" not in (line := demo.stdout.readline()):
            assert line, "the demo ended before it began"
        below = children(demo.pid)
        demo.terminate()
        demo.stdout.read()
        code = demo.wait(30)

    assert len(below) >= 4
    assert (code, alive(below)) == (128 + signal.SIGTERM, [])


@pytest.mark.servers
def test_no_service_outlives_a_demo_that_is_killed(servers: None, tmp_path: Path) -> None:
    command = [*BRIEF, "--out", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        while "nothing may fire" not in demo.stdout.readline():
            pass
        below = children(demo.pid)
        services = {
            p for p in below if b"agent.demo.fleet" in Path(f"/proc/{p}/cmdline").read_bytes()
        }
        demo.kill()
        demo.wait()
    deadline = time.monotonic() + 30
    while alive(services) and time.monotonic() < deadline:
        time.sleep(0.05)
    for server in set(alive(below)) - services:  # Prometheus and Alertmanager know no parent
        os.kill(server, signal.SIGTERM)

    assert len(services) == 2
    assert alive(services) == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param([], 0, id="the-golden-questions-are-shown"),
        pytest.param(["--once"], 1, id="but-no-matrix-was-right"),
    ],
)
def test_without_the_servers_it_says_what_is_missing_and_goes_on(
    options: list[str], expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    result = CliRunner().invoke(main, ["demo", "--model", "golden", *options])

    assert result.exit_code == expected
    assert "> Can I export my data after I cancel my plan?" in result.output
    assert "sudo apt-get install prometheus prometheus-alertmanager" in result.output
