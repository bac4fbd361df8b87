"""A console as its users meet it: `loopscope serve` in a process of its own, in a given folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from native_servers import answers, free_port, wait_until


@contextmanager
def served(
    home: Path, *options: str, **variables: str
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run `loopscope serve` in a folder and yield its address."""
    port = free_port()
    env = {k: v for k, v in os.environ.items() if not k.startswith(("LOOPSCOPE_", "OTEL_"))}
    env |= {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY", **variables}
    command = [str(Path(sys.executable).parent / "loopscope"), "serve", "--port", str(port),
               *options]  # fmt: skip
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=home, env=env, stdout=log, stderr=log)
        try:
            wait_until(lambda: answers(f"http://127.0.0.1:{port}/healthz"), "loopscope serve", 180)
            yield f"http://127.0.0.1:{port}", process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)
