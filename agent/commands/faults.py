"""`loopscope faults`: what a game day can inject."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.table import Table

from agent.faults.catalogue import FAULTS


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
def faults(as_json: bool) -> None:
    """List the faults of --fault: what each wraps, what it does, which share it strikes."""
    rows = [(f.name, f.wraps, f.share, f.does) for f in FAULTS.values()]
    if as_json:
        keys = ("name", "wraps", "share", "does")
        click.echo(json.dumps([dict(zip(keys, row, strict=True)) for row in rows], indent=2))
        return
    table = Table("fault", "wraps", "share", "what it does", box=None, header_style="bold")
    for name, wraps, share, does in rows:
        table.add_row(name, wraps, f"{share:g}", does)
    Console(soft_wrap=True).print(table)
