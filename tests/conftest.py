"""Fixtures that several packages' tests share; real servers live in `native_servers.py`."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Callable, Iterator

import native_servers
import pytest


@pytest.fixture(scope="session", autouse=True)
def heeded_interrupts() -> None:
    """Let processes of the tests heed Ctrl-C: a shell lets what it starts with `&` ignore it."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """URL of the maintenance database of a real PostgreSQL on loopback."""
    with native_servers.postgres() as url:
        yield url


@pytest.fixture(scope="session")
def new_postgres_schema(postgres_server: str) -> Iterator[Callable[[], str]]:
    """Make an empty schema and return a URL under which it is the only one."""
    psycopg = pytest.importorskip("psycopg")
    numbers = itertools.count()
    with psycopg.connect(postgres_server, autocommit=True) as connection:

        def make() -> str:
            name = f"test_{next(numbers)}"
            connection.execute(f"CREATE SCHEMA {name}")
            return f"{postgres_server}?options=-c%20search_path%3D{name}"

        yield make
