from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from agent.demo import processes
from agent.demo.processes import child, missing_packages

STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    "print('up', flush=True); time.sleep(60)"
)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_child_is_gone_after_the_block_even_after_an_error(tmp_path: Path) -> None:
    pids = []
    with (
        pytest.raises(RuntimeError),
        child([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path / "log") as process,
    ):
        pids.append(process.pid)
        raise RuntimeError

    assert not is_alive(pids[0])


def test_a_child_that_does_not_listen_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "STOP_SECONDS", 0.2)
    with child([sys.executable, "-c", STUBBORN], tmp_path / "log", talks=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"

    assert process.returncode == -9


def test_what_a_child_says_is_in_its_log(tmp_path: Path) -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr)"
    with child([sys.executable, "-c", code], tmp_path / "log") as process:
        process.wait()

    assert sorted((tmp_path / "log").read_text().split()) == ["err", "out"]


def test_a_child_that_ended_by_itself_is_left_alone(tmp_path: Path) -> None:
    with child([sys.executable, "-c", "raise SystemExit(3)"], tmp_path / "log") as process:
        process.wait()

    assert process.returncode == 3


@pytest.mark.parametrize(
    ("installed", "expected"),
    [
        pytest.param(["prometheus", "prometheus-alertmanager"], [], id="debian"),
        pytest.param(["prometheus", "alertmanager"], [], id="elsewhere"),
        pytest.param(["prometheus"], ["prometheus-alertmanager"], id="one-is-missing"),
        pytest.param([], ["prometheus", "prometheus-alertmanager"], id="both-are-missing"),
    ],
)
def test_missing_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: list[str], expected: list[str]
) -> None:
    for name in installed:
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert missing_packages() == expected
