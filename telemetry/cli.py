"""The sub-command `doctor`; the command line of the agent mounts it and says how a turn is sent."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Final

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from telemetry.doctor import Addresses, SendTurn, examine
from telemetry.durations import Duration
from telemetry.endpoints import PROTOCOLS, ExportOptions
from telemetry.hops import Hop

_STYLES: Final = {"ok": "green", "failed": "bold red", "not configured": "dim"}


_URLS: Final = {
    "metrics": "Full URL of /metrics.",
    "prometheus": "Base URL of Prometheus.",
    "alertmanager": "Base URL of Alertmanager.",
    "trace-store": "Base URL of the query API of Tempo or Jaeger.",
    "records": "Path or URL of the turn records.",
}


def doctor_command(send_turn: SendTurn) -> click.Command:
    """Return the command `doctor`.

    Args:
        send_turn: Sends one turn through the graph and flushes the export.
    """
    return click.Command(
        "doctor",
        callback=partial(_doctor, send_turn),
        params=_options(),
        help="Send one turn through and say which hop of the telemetry works, and which not.",
    )


def _options() -> list[click.Parameter]:
    urls = [
        click.Option(
            [f"--{name}-url"],
            envvar=f"LOOPSCOPE_{name.upper().replace('-', '_')}_URL",
            show_envvar=True,
            help=text,
        )
        for name, text in _URLS.items()
    ]
    return [
        *urls,
        click.Option(["--otlp-endpoint"], help="Base URL of a collector; else OTEL_* decides."),
        click.Option(["--otlp-protocol"], type=click.Choice(PROTOCOLS), help="How to speak to it."),
        click.Option(
            ["--timeout"],
            type=Duration(0, 3_600, min_open=True),
            default="3s",
            show_default=True,
            help="Longest wait for one reply.",
        ),
        click.Option(
            ["--patience"],
            type=Duration(0),
            default="10s",
            show_default=True,
            help="How long a first scrape or a trace may take.",
        ),
        click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object."),
    ]


def _doctor(
    send_turn: SendTurn,
    *,
    otlp_endpoint: str | None,
    otlp_protocol: str | None,
    timeout: float,
    patience: float,
    as_json: bool,
    **urls: str | None,
) -> None:
    """Examine every hop, print what was found, exit 1 when a configured one does not work."""
    addresses = Addresses(
        export=ExportOptions(endpoint=otlp_endpoint, protocol=otlp_protocol),
        timeout_seconds=timeout,
        patience_seconds=patience,
        **urls,
    )
    found = list(examine(addresses, send_turn))
    is_ok = all(hop.status != "failed" for hop in found)
    if as_json:
        click.echo(json.dumps({"ok": is_ok, "hops": [asdict(hop) for hop in found]}, indent=2))
    else:
        Console().print(_table(found))
    sys.exit(0 if is_ok else 1)


def _table(found: Sequence[Hop]) -> Table:
    table = Table(title=None, show_lines=True)
    table.add_column("hop", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("seen, and what to do", overflow="fold")
    for hop in found:
        words = Text(hop.seen)
        if hop.fix:
            style = "bold" if hop.status == "failed" else "dim"
            words.append("\n" if hop.seen else "").append(hop.fix, style=style)
        took = "" if hop.status == "not configured" else f"{1_000 * hop.seconds:.0f} ms"
        table.add_row(hop.name, Text(hop.status, style=_STYLES[hop.status]), took, words)
    return table
