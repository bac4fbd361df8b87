"""Children of the demo: started on loopback, stopped by their process id whatever happens."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

BINARIES: Final = {
    "prometheus": "prometheus",
    "prometheus-alertmanager": "prometheus-alertmanager",
}
"""Command -> Debian package. Elsewhere Alertmanager's command is `alertmanager`."""
STOP_SECONDS: Final = 10.0


def find_binary(command: str) -> str | None:
    """Return the path of a command, None when it is not installed."""
    return shutil.which(command) or shutil.which(command.removeprefix("prometheus-"))


def missing_packages() -> list[str]:
    """Return the Debian packages whose commands are not installed."""
    return [package for command, package in BINARIES.items() if find_binary(command) is None]


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def child(
    command: Sequence[str], log: Path, *, talks: bool = False
) -> Iterator[subprocess.Popen[str]]:
    """Run a command until the end of the block; it is told to stop, then killed.

    A session of its own keeps a Ctrl-C in the terminal from it: the parent stops it in order.

    Args:
        command: Program and arguments.
        log: Gets its error output, and its output too unless it talks.
        talks: Its output is read by the parent; its input stays open as long as the parent lives.
    """
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
            stdout=subprocess.PIPE if talks else out,
            stderr=out,
            text=True,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        stop(process)


def stop(process: subprocess.Popen[str]) -> None:
    """Tell a child to stop, and kill it when it does not."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
