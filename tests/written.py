"""Turn records written into a store, and metrics as lines that promtool makes blocks from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest

from telemetry.records import TurnRecord
from telemetry.records.database import connect, parse_address
from telemetry.records.schema import INSERT_TURN, migrate, to_row


def write_store(path: Path, records: Iterable[TurnRecord]) -> str:
    """Write the records, also into a store that is there."""
    database = connect(parse_address(path))
    migrate(database)
    with database.writing():
        database.execute_many(INSERT_TURN, [to_row(record) for record in records])
    database.close()
    return str(path)


def scrape(registry: CollectorRegistry, instance: str, at: int) -> list[str]:
    """Return our series as they were scraped from an instance of the job `j`."""
    target = f'job="j",instance="{instance}"'
    lines = []
    for line in generate_latest(registry).decode().splitlines():
        if line.startswith("rag_"):
            name, _, value = line.rpartition(" ")
            name = name[:-1] + f",{target}}}" if name.endswith("}") else f"{name}{{{target}}}"
            lines.append(f"{name} {value} {at}")
    return lines
