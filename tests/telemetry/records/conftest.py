"""Every test of the store runs on both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from record_turns import NOW

from telemetry.records import RecordReader, RecordSink, open_reader


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.servers)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'turns.db'}"
    make: Callable[[], str] = request.getfixturevalue("new_postgres_schema")
    return make()


@pytest.fixture
def sink(url: str) -> Iterator[RecordSink]:
    sink = RecordSink(url, clock=lambda: NOW)
    yield sink
    sink.close()


@pytest.fixture
def reader(url: str) -> Iterator[RecordReader]:
    reader = open_reader(url)
    yield reader
    reader.close()
