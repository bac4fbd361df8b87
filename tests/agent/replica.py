"""A `loopscope serve` in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx

PATIENCE_SECONDS = 60.0


def scraped(url: str, name: str) -> dict[str, float]:
    """Return the samples of one name, with their labels, as a service tells them now."""
    text = httpx.get(f"{url}/metrics", trust_env=False, timeout=PATIENCE_SECONDS).text
    lines = [line for line in text.splitlines() if line.startswith((f"{name}{{", f"{name} "))]
    return {sample: float(value) for sample, _, value in (line.rpartition(" ") for line in lines)}


@dataclass
class Replica:
    """One process, started again on the same port after it was ended."""

    memory: str
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    port: int = 0
    process: subprocess.Popen[str] | None = None
    under_way: dict[int, float] = field(default_factory=dict)
    """Requests sent and not yet answered, and when they were sent."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / f"serve-{id(self)}.log"

    def start(self, *options: str) -> None:
        command = [sys.executable, "-c", "from agent.cli import main; main()", "serve",
                   "--port", str(self.port), *options]  # fmt: skip
        told = {"LOOPSCOPE_RECORDS": "off", "LOOPSCOPE_MEMORY": self.memory, **self.environment}
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True,
                env={**os.environ, **told}, cwd=self.folder,
            )  # fmt: skip

    def wait(self) -> None:
        assert self.process is not None
        assert self.process.stdout is not None
        told = self.process.stdout.readline()
        assert told, self.log.read_text()[-2_000:]
        self.port = int(told.rpartition(":")[2])

    def end(self, number: signal.Signals = signal.SIGKILL) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode
