"""The commands of docs/service.md run as they stand, against `loopscope serve` in a process."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from http_service import read_sse

PAGE = Path(__file__).parents[3] / "docs" / "service.md"
(COMMANDS,) = re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
ADDRESS = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """What each curl of the page printed, in order."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    folder = tmp_path_factory.mktemp("page")
    serve = "from agent.cli import main; main()"
    command = [sys.executable, "-c", serve, "serve", "--port", "0", "--records", "off"]
    environment = {**os.environ, "no_proxy": "127.0.0.1"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder,
        env=environment,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        url = process.stdout.readline().rpartition(" ")[2].strip()
        marked = re.sub(r"^curl ", "echo ====; curl -f ", COMMANDS, flags=re.MULTILINE)
        script = "set -euo pipefail\n" + marked.replace(ADDRESS, url)
        done = subprocess.run(
            ["bash", "-c", script], capture_output=True, text=True, check=False, env=environment
        )
        assert done.returncode == 0, done.stderr
        yield done.stdout.split("====\n")[1:]
    finally:
        process.terminate()
        process.communicate()


def test_every_command_does_what_the_page_says(outputs: list[str]) -> None:
    asked, first, again, streamed, said, listed, gone, judged, models, *rest = outputs
    completed, ready, metrics = rest
    answer, events = json.loads(asked), read_sse(streamed.encode())

    assert (answer["outcome"], answer["thread_id"]) == ("answered", "talk-1")
    assert "idempotency-replayed: true" not in first.lower()
    assert "idempotency-replayed: true" in again.lower()
    assert again.splitlines()[-1] == first.splitlines()[-1]
    assert {name for name, _ in events} == {"node", "token", "final"}
    assert json.loads(said)["messages"][1]["text"] == answer["reply"]
    assert json.loads(listed)["conversations"][-1] == "talk-1"
    assert gone == ""
    assert json.loads(judged)["verdict"] == "up"
    assert json.loads(models)["data"][0]["id"] == "loopscope"
    assert json.loads(completed)["loopscope"]["outcome"] == "answered"
    assert json.loads(ready) == {"status": "ready", "checks": {"memory": "ok", "index": "ok"}}
    assert 'rag_feedback_total{verdict="up"} 1.0' in metrics
    assert 'rag_feedback_total{verdict="down"} 0.0' in metrics


def test_a_completion_tells_the_tokens_that_its_models_told(outputs: list[str]) -> None:
    usage = json.loads(outputs[-3])["usage"]

    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0
