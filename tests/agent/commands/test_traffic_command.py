"""`loopscope traffic` as its user runs it, on an agent in its own process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from agent.cli import main

COMMAND = [sys.executable, "-c", "from agent.cli import main; main()"]
MIX = """
kinds:
  known: {weight: 3, questions: ["Can I export my data after I cancel my plan?"]}
  off_topic: {weight: 1, questions: ["What's the weather like today?"]}
"""


def arguments(tmp_path: Path, *options: str) -> list[str]:
    mix = tmp_path / "mix.yaml"
    mix.write_text(MIX)
    return ["traffic", "--model", "golden", "--mix", str(mix), "--rate", "40", *options]


def run(tmp_path: Path, *options: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, arguments(tmp_path, *options))
    return done.exit_code, done.stdout


def counts(tmp_path: Path, *options: str) -> tuple[int, dict[str, Any]]:
    code, text = run(tmp_path, "--json", "--duration", "1", *options)
    return code, json.loads(text)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        pytest.param((), {"known": "answered", "off_topic": "off_topic"}, id="sound"),
        pytest.param(
            ("--fault", "silent-rejection:1"), {"known": "off_topic", "off_topic": "off_topic"},
            id="with-a-fault",
        ),
        pytest.param(
            ("--fault", "silent-rejection:1", "--start-healthy"),
            {"known": "answered", "off_topic": "off_topic"}, id="with-a-fault-that-is-off",
        ),
    ],
)  # fmt: skip
def test_it_counts_what_came_back(
    tmp_path: Path, fault: tuple[str, ...], expected: dict[str, str]
) -> None:
    code, tally = counts(tmp_path, "--seed", "3", *fault)

    assert code == 0
    assert {kind: list(of["outcomes"]) for kind, of in tally["kinds"].items()} == {
        kind: [outcome] for kind, outcome in expected.items()
    }
    assert tally["total"]["sent"] == sum(kind["sent"] for kind in tally["kinds"].values())
    assert 20 < tally["total"]["sent"] < 65


def test_stopped_traffic_asks_nothing_and_says_so(tmp_path: Path) -> None:
    code, tally = counts(tmp_path, "--fault", "traffic-stopped")

    assert (code, tally["total"]["sent"]) == (1, 0)


def test_a_table_says_the_same_to_a_person(tmp_path: Path) -> None:
    code, text = run(tmp_path, "--duration", "0.5")

    assert code == 0
    assert "off_topic" in text
    assert "10 sent in 0.5 s" in text


def test_it_stops_at_a_signal_and_still_prints_its_counts(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, *arguments(tmp_path, "--json", "--fault", "retriever-outage")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as traffic:
        assert traffic.stderr is not None
        for line in traffic.stderr:
            if "turn failed" in line:  # it is under way
                break
        traffic.send_signal(signal.SIGINT)
        text, _ = traffic.communicate(timeout=60)

    assert set(json.loads(text)["total"]["outcomes"]) <= {"error", "off_topic"}
    assert traffic.returncode == 0
