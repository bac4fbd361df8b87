"""`loopscope serve --workers 2` as its user runs it: one port, one sum of all counters."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from native_servers import wait_until
from replica import Replica

from agent.cli import main
from agent.settings import Settings
from telemetry.records import open_reader

QUESTIONS = 200
AT_ONCE = 8
LAST_HIT = "What happens if my server goes down?"
"""Found on the second rewrite of two by the golden model."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workers")


@pytest.fixture(scope="module")
def service(folder: Path) -> Iterator[Replica]:
    environment = {
        "LOOPSCOPE_RECORDS": str(folder / "turns.sqlite"),
        "LOOPSCOPE_MODEL": "golden",
        "PROMETHEUS_MULTIPROC_DIR": str(folder / "counters"),
    }
    (folder / "counters").mkdir()
    replica = Replica(str(folder / "talks.sqlite"), folder, environment)
    replica.start("--workers", "2")
    try:
        replica.wait()
        yield replica
    finally:
        replica.end()


def processes(service: Replica) -> list[int]:
    """The workers of a service."""
    assert service.process is not None
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(service.process.pid)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return [int(pid) for pid in listed.stdout.split()]


async def ask(url: str, questions: int) -> Counter[str]:
    """Ask, each question on a connection of its own; return the outcomes."""
    numbers, outcomes = iter(range(questions)), Counter[str]()

    async def one_after_another() -> None:
        for _ in numbers:
            async with httpx.AsyncClient(trust_env=False, verify=False, timeout=60) as http:
                reply = await http.post(f"{url}/ask", json={"question": LAST_HIT})
            told = reply.json()
            outcomes[told["outcome"] if told["outcome"] == "answered" else told["reason"]] += 1

    await asyncio.gather(*(one_after_another() for _ in range(AT_ONCE)))
    return outcomes


def series(text: str) -> dict[str, float]:
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def scraped(url: str) -> dict[str, float]:
    return series(httpx.get(f"{url}/metrics", trust_env=False, timeout=60).text)


def total(url: str, name: str = "rag_turns_total") -> float:
    return sum(value for series, value in scraped(url).items() if series.startswith(f"{name}{{"))


def counted_by(folder: Path, pid: int) -> bytes:
    """What one process has counted, as it lies in its file."""
    file = next((folder / "counters").glob(f"*/counter_{pid}.db"))
    return file.read_bytes()


async def test_every_worker_answers_and_each_tells_the_sum_of_all(
    service: Replica, folder: Path
) -> None:
    before = scraped(service.url)
    files = {pid: counted_by(folder, pid) for pid in processes(service)}
    outcomes = await ask(service.url, QUESTIONS)
    worked = [pid for pid, file in files.items() if counted_by(folder, pid) != file]

    assert outcomes == {"answered": QUESTIONS}
    assert {value for name, value in before.items() if name.startswith("rag_turns_total")} == {0}
    assert [total(service.url) for _ in range(10)] == [QUESTIONS] * 10
    assert len(files) == len(worked) == 2
    assert [name for name in scraped(service.url) if "pid=" in name] == []
    assert scraped(service.url)['rag_open_turns{graph="support_agent"}'] == 0
    assert len(scraped(service.url)) <= 400


async def test_a_killed_worker_takes_no_count_with_it_and_is_replaced(service: Replica) -> None:
    before = processes(service)
    os.kill(before[0], signal.SIGKILL)
    outcomes = await ask(service.url, QUESTIONS)
    wait_until(lambda: len(processes(service)) == 2, "another worker")
    after = processes(service)
    further = await ask(service.url, AT_ONCE)

    assert outcomes + further == {"answered": QUESTIONS + AT_ONCE}
    assert before[0] not in after
    assert before[1] in after
    assert total(service.url) == 2 * QUESTIONS + AT_ONCE
    assert f"(process {before[0]}) was ended by SIGKILL" in service.log.read_text()


async def test_any_worker_takes_what_is_said_of_an_answer_and_counts_it_once(
    service: Replica,
) -> None:
    async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
        told = (await http.post(f"{service.url}/ask", json={"question": LAST_HIT})).json()
    body = {"turn_id": told["turn_id"], "verdict": "up"}

    async def judge() -> int:
        async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
            return (await http.post(f"{service.url}/feedback", json=body)).status_code

    statuses = await asyncio.gather(*(judge() for _ in range(4 * AT_ONCE)))

    assert statuses == [200] * 4 * AT_ONCE
    assert total(service.url, "rag_feedback_total") == 1


def test_all_end_in_order_and_every_turn_has_its_record(service: Replica, folder: Path) -> None:
    pids = processes(service)
    code = service.end(signal.SIGTERM)
    with open_reader(str(folder / "turns.sqlite")) as reader:
        records = sum(1 for _ in reader.walk())

    assert (code, records) == (0, 2 * QUESTIONS + AT_ONCE + 1)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert list((folder / "counters").iterdir()) == []
    assert "Traceback" not in service.log.read_text()
    assert re.search("The console is off: its pages live in one process", service.log.read_text())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            [], "memory got 'memory' with --workers 2, expected: the path of a SQLite file or a "
            "PostgreSQL URL", id="conversations-of-one-process",
        ),
        pytest.param(
            ["--fault", "drift"], "got 'drift' with --workers 2, expected one process",
            id="a-fault",
        ),
        pytest.param(["--workers", "0"], "0 is not in the range", id="no-worker"),
    ],
)  # fmt: skip
def test_what_workers_cannot_share_is_refused_with_what_to_do(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if arguments:
        monkeypatch.setenv("LOOPSCOPE_MEMORY", "talks.sqlite")
    result = CliRunner().invoke(main, ["serve", "--workers", "2", *arguments])

    assert (result.exit_code, message in " ".join(result.output.split())) == (2, True)


def test_settings_that_no_worker_can_start_with_end_the_service_at_once(tmp_path: Path) -> None:
    replica = Replica("talks.sqlite", tmp_path, {"LOOPSCOPE_DOCS": "nowhere"})
    replica.start("--workers", "2")
    assert replica.process is not None
    code = replica.process.wait(120)
    replica.end()
    told = replica.log.read_text()

    assert code == 1
    assert "error: " in told
    assert "'nowhere'" in told
    assert "the service has stopped: got workers that ended soon after their start" in told
    assert "Traceback" not in told


def test_each_worker_has_its_part_of_the_places() -> None:
    from agent.commands.serve import _part

    settings, _, _, is_quiet = _part(4, Settings(max_turns=64, max_waiting=129), 3, Path("r"), 2)

    assert (settings.max_turns, settings.max_waiting, settings.console, is_quiet) == (
        16, 33, "off", True,
    )  # fmt: skip
