"""A server that accepts a connection and says nothing, or little, holds nobody for long."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from click.testing import CliRunner
from standing import standing

from agent.cli import main
from telemetry.fetch import TIMEOUT_SECONDS, FetchError, fetch


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


class Trickles(BaseHTTPRequestHandler):
    """Sends a byte now and then, each in time."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        try:
            for _ in range(100):
                self.wfile.write(b"1")
                time.sleep(0.05)
        except OSError:
            pass  # whoever asked has gone

    def log_message(self, *_: object) -> None:
        """Stay silent."""


class SaysMuch(Trickles):
    """Sends more at once than is read in a piece."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"0123456789" * 50_000)


def test_who_says_nothing_is_named_with_the_time_that_it_had(silent: str) -> None:
    with pytest.raises(FetchError) as caught:
        fetch(f"http://{silent}/", timeout_seconds=0.1)

    assert str(caught.value) == f"{silent} gave no answer within 0.1 s"
    assert caught.value.fix == "Check the network, and that it is alive and not overloaded."


def test_a_body_that_comes_bit_by_bit_has_no_more_time() -> None:
    with standing(Trickles) as url, pytest.raises(FetchError, match=r"no answer within 0\.2 s"):
        fetch(url, timeout_seconds=0.2)


def test_a_long_body_is_read_to_its_end() -> None:
    with standing(SaysMuch) as url:
        assert fetch(url).text == "0123456789" * 50_000


@pytest.mark.parametrize(
    ("line", "code"),
    [
        pytest.param("compare --timeout 100ms --prometheus http://{}", 4, id="compare"),
        pytest.param(
            "canary --timeout 0.1 --once --stable 1 --canary 2 --prometheus http://{}", 4,
            id="canary",
        ),
        pytest.param(
            "dashboards render --timeout 100ms --prometheus http://{} --out {out}/o.html", 1,
            id="render",
        ),
        pytest.param(
            "doctor --timeout 100ms --patience 0 --prometheus-url http://{}", 1, id="doctor"
        ),
        pytest.param("doctor --timeout 0.1 --alertmanager-url http://{}", 1, id="alertmanager"),
        pytest.param(
            "probe --timeout 100ms --rounds 1 --api-key k --url http://{}", 1, id="probe"
        ),
    ],
)  # fmt: skip
def test_every_command_ends_in_time_and_says_who_did_not_answer(
    line: str, code: int, silent: str, tmp_path: Path
) -> None:
    ran = CliRunner().invoke(
        main, line.format(silent, out=tmp_path).split(), env={"COLUMNS": "200"}
    )

    assert ran.exit_code == code, ran.output
    assert "within 0.1 s" in ran.output or "no reply in 0.1 s" in ran.output
    assert silent in ran.output or line.startswith(("probe", "doctor"))


@pytest.mark.parametrize("command", ["compare", "canary", "dashboards render"])
def test_the_help_says_how_long_it_waits(command: str) -> None:
    told = CliRunner().invoke(main, [*command.split(), "--help"], env={"COLUMNS": "200"}).stdout

    assert "Longest wait for one reply of Prometheus" in told
    assert f"default: {TIMEOUT_SECONDS:g}s" in told
