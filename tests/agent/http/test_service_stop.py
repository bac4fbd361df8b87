"""SIGTERM in the middle of a stream: its reader is told, the span and the record are not lost."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import httpx
from http_service import read_sse

EXIT_SECONDS = 10.0
"""As the case asks; the 6 s that turns under way have are a part of it."""


def test_an_open_stream_ends_with_a_last_event_and_nothing_is_lost(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as never_answers:
        port = never_answers.getsockname()[1]
        environment = {
            **os.environ,
            "OPENAI_API_KEY": "none",
            "LOOPSCOPE_RECORDS": "turns.sqlite",
            "LOOPSCOPE_MODEL_TIMEOUT_SECONDS": "60",
            "OTEL_TRACES_EXPORTER": "console",
            "NO_PROXY": "127.0.0.1",
        }
        command = [
            sys.executable, "-c", "from agent.cli import main; main()", "serve", "--port", "0",
            "--model", "openai:slow", "--base-url", f"http://127.0.0.1:{port}/v1",
        ]  # fmt: skip
        with (tmp_path / "err").open("w") as err:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=err, text=True, cwd=tmp_path,
                env=environment,
            )  # fmt: skip
            try:
                assert process.stdout is not None
                url = process.stdout.readline().rpartition(" ")[2].strip()
                body, took = asyncio.run(_stop_in_mid_stream(url, process))
            finally:
                process.kill()
                process.communicate()
    name, data = read_sse(body)[-1]
    with sqlite3.connect(tmp_path / "turns.sqlite") as records:
        outcomes = records.execute("SELECT outcome FROM turns").fetchall()
    records.close()

    assert (name, json.loads(data)["outcome"]) == ("final", "cancelled")
    assert (process.returncode, took < EXIT_SECONDS) == (0, True), took
    assert outcomes == [("cancelled",)]
    assert '"rag.outcome": "cancelled"' in (tmp_path / "err").read_text()


async def _stop_in_mid_stream(url: str, process: subprocess.Popen[str]) -> tuple[bytes, float]:
    """Stop the service after the first event; return the stream and the seconds to the exit."""
    body = b""
    async with (
        httpx.AsyncClient(trust_env=False, timeout=60) as http,
        http.stream("POST", f"{url}/ask/stream", json={"question": "q?"}) as reply,
    ):
        stopped = 0.0
        async for piece in reply.aiter_bytes():
            body += piece
            if not stopped:
                stopped = time.monotonic()
                process.send_signal(signal.SIGTERM)
    process.wait(30)
    return body, time.monotonic() - stopped
