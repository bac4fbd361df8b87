"""A service whose index goes bad while nobody asks: the prober's page comes within two rounds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from native_servers import free_port, wait_until
from ruled_prometheus import prometheus

from dashboards.render.source import Prometheus
from dashboards.settings import load_settings
from telemetry import names

pytestmark = pytest.mark.servers

SETTINGS = load_settings(scrape_interval="1s", time_scale=1 / 60)
EVERY_SECONDS = 6.0
KEY = "k"
FLIPPED = 'ALERTS{alertname="RagProbeFlippedPage",alertstate="firing",job="support-agent"}'


@contextmanager
def process(folder: Path, *arguments: str, **environment: str) -> Iterator[Any]:
    """A `loopscope` of its own, whose output can be read line by line."""
    told = {**os.environ, "LOOPSCOPE_PROBE_KEY": KEY, "LOOPSCOPE_RECORDS": "off", **environment}
    started = subprocess.Popen(
        [sys.executable, "-c", "from agent.cli import main; main()", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder, env=told,
    )  # fmt: skip
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    service: Any
    prober: Any
    prometheus: Prometheus

    def value(self, query: str, at: float | None = None) -> float | None:
        found = self.prometheus.instant(query, at or time.time())
        return found[0].points[0][1] if found else None

    def round(self) -> str:
        """Return what the prober says of its next round."""
        return str(self.prober.stdout.readline())


@pytest.fixture
def probed(tmp_path: Path) -> Iterator[Probed]:
    port = free_port()
    with ExitStack() as opened:
        service = opened.enter_context(
            process(tmp_path, "serve", "--port", "0", "--fault", "index-regression",
                    "--start-healthy", LOOPSCOPE_CONSOLE="off")
        )  # fmt: skip
        url = service.stdout.readline().rpartition(" ")[2].strip()
        prober = opened.enter_context(
            process(tmp_path, "probe", "--url", url, "--every", f"{EVERY_SECONDS}",
                    "--port", f"{port}")
        )  # fmt: skip
        targets = {"support-agent": [int(url.rpartition(":")[2]), port]}
        at = opened.enter_context(prometheus(tmp_path, SETTINGS, targets, port=free_port()))
        source = Prometheus(url=at)
        yield Probed(service=service, prober=prober, prometheus=source)


def test_an_index_that_goes_bad_pages_within_two_rounds_although_nobody_asks(
    probed: Probed,
) -> None:
    assert "5 of 5 as expected" in probed.round()
    wait_until(lambda: probed.value(f"sum({names.PROBES})") is not None, "a scrape of the prober")
    assert probed.value(FLIPPED) is None

    probed.service.send_signal(signal.SIGUSR1)
    wrong = 0
    while wrong < 2:  # a round under way at the switch may be half right
        wrong = wrong + 1 if "no_results, not answered" in probed.round() else 0
    second = time.time()
    wait_until(lambda: probed.value(FLIPPED) is not None, "the page", EVERY_SECONDS)

    assert time.time() - second < EVERY_SECONDS
    assert probed.value(f"max({names.PROBE_UNEXPECTED})") == 2
    assert probed.value(f"sum({names.TURNS})") == 0
    others = 'count(ALERTS{alertstate="firing",alertname!="RagProbeFlippedPage"})'
    assert probed.value(others) is None
