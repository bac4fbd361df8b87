"""Start real servers of Debian packages on free loopback ports, for tests marked `servers`."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

START_SECONDS = 30.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(is_ready: Callable[[], bool], what: str, seconds: float = START_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not is_ready():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not ready after {seconds} s")
        time.sleep(0.05)


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def need(name: str) -> str:
    """Return the path of a binary, or skip the test and say what is missing."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed (apt-get install {name})")
    return found


@contextmanager
def running(
    command: Sequence[str],
    log: Path,
    user: str | None = None,
    stop: signal.Signals = signal.SIGTERM,
) -> Iterator[None]:
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, user=user)
        try:
            yield
        finally:
            process.send_signal(stop)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Postgres:
    """A PostgreSQL server of a test; `url` is that of its maintenance database."""

    def __init__(self, binaries: Path, home: Path, user: str | None) -> None:
        self._binaries, self._home, self._user = binaries, home, user
        self._port = free_port()
        self._run = ExitStack()
        self.url = f"postgresql://loopscope@127.0.0.1:{self._port}/postgres"

    def start(self) -> None:
        command = [str(self._binaries / "postgres"), "-D", str(self._home / "data"),
                   "-p", str(self._port), "-h", "127.0.0.1", "-k", str(self._home),
                   "-c", "fsync=off"]  # fmt: skip
        ready = [str(self._binaries / "pg_isready"), "-q", "-h", "127.0.0.1",
                 "-p", str(self._port)]  # fmt: skip
        log = self._home / "log"
        self._run.enter_context(running(command, log, self._user, signal.SIGQUIT))
        wait_until(lambda: subprocess.run(ready, check=False).returncode == 0, "PostgreSQL")

    def stop(self) -> None:
        """Stop at once, as a crash does: no session is told, the log is replayed at the start."""
        self._run.close()


@contextmanager
def postgres() -> Iterator[str]:
    """Run PostgreSQL and yield the URL of its maintenance database."""
    with postgres_server() as server:
        yield server.url


@contextmanager
def postgres_server() -> Iterator[Postgres]:
    """Run PostgreSQL, to be stopped and started again by the test."""
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not binaries:
        pytest.skip("PostgreSQL is not installed (apt-get install postgresql)")
    user = "postgres" if os.geteuid() == 0 else None  # initdb refuses root
    home = Path(tempfile.mkdtemp(prefix="loopscope-pg-"))
    try:
        if user:
            os.chown(home, pwd.getpwnam(user).pw_uid, -1)
        subprocess.run(
            [binaries[-1] / "initdb", "-D", home / "data", "-U", "loopscope", "-A", "trust",
             "-E", "UTF8", "--locale=C", "--no-sync"],
            check=True, capture_output=True, user=user, cwd=home,
        )  # fmt: skip
        server = Postgres(binaries[-1], home, user)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def prometheus(config: str, home: Path) -> Iterator[str]:
    """Run Prometheus with a configuration and yield its base URL."""
    binary, port = need("prometheus"), free_port()
    home.mkdir(parents=True, exist_ok=True)
    (home / "prometheus.yml").write_text(config)
    command = [binary, f"--config.file={home / 'prometheus.yml'}",
               f"--storage.tsdb.path={home / 'data'}", f"--web.listen-address=127.0.0.1:{port}",
               "--enable-feature=exemplar-storage"]  # fmt: skip
    with running(command, home / "prometheus.log"):
        wait_until(lambda: answers(f"http://127.0.0.1:{port}/-/ready"), "Prometheus")
        yield f"http://127.0.0.1:{port}"


@contextmanager
def alertmanager(config: str, home: Path) -> Iterator[str]:
    """Run Alertmanager with a configuration and yield its base URL."""
    binary, port = need("prometheus-alertmanager"), free_port()
    home.mkdir(parents=True, exist_ok=True)
    (home / "alertmanager.yml").write_text(config)
    command = [binary, f"--config.file={home / 'alertmanager.yml'}",
               f"--storage.path={home / 'data'}", f"--web.listen-address=127.0.0.1:{port}",
               "--cluster.listen-address="]  # fmt: skip
    with running(command, home / "alertmanager.log"):
        wait_until(lambda: answers(f"http://127.0.0.1:{port}/-/ready"), "Alertmanager")
        yield f"http://127.0.0.1:{port}"
