from __future__ import annotations

from pathlib import Path

import pytest

from telemetry.errors import RecordsUnavailableError, RecordsUrlError
from telemetry.records.database import connect, parse_address


@pytest.mark.parametrize(
    ("url", "path", "shown"),
    [
        pytest.param("turns.db", Path("turns.db"), "turns.db", id="a-plain-path"),
        pytest.param("sqlite:///a/b.db", Path("a/b.db"), "sqlite:///a/b.db", id="relative"),
        pytest.param("sqlite:////a/b.db", Path("/a/b.db"), "sqlite:////a/b.db", id="absolute"),
        pytest.param(
            "postgresql://me:secret@db:5432/turns?password=secret",
            None,
            "postgresql://me@db:5432/turns",
            id="postgresql-without-its-password",
        ),
    ],
)
def test_addresses(url: str, path: Path | None, shown: str) -> None:
    address = parse_address(url)

    assert (address.path, address.url) == (path, shown)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        pytest.param("", "no address of a record store: got '', expected a path", id="empty"),
        pytest.param("sqlite://", "a SQLite address without a file", id="no-file"),
        pytest.param(
            "mysql://me:secret@db/turns",
            "unknown kind of record store: got 'mysql://me@db/turns', expected a path, "
            "'sqlite:///PATH' or 'postgresql://USER@HOST/DATABASE'.",
            id="another-database",
        ),
    ],
)
def test_bad_addresses_say_what_is_expected(url: str, message: str) -> None:
    with pytest.raises(RecordsUrlError) as caught:
        parse_address(url)

    assert str(caught.value).startswith(message)


def test_a_sqlite_store_is_for_its_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "turns.db"
    database = connect(parse_address(path))
    database.execute("CREATE TABLE t (x BIGINT)")

    modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}

    assert modes == {"turns.db": 0o600, "turns.db-wal": 0o600, "turns.db-shm": 0o600}
    database.close()


def test_errors_name_the_store_and_the_reason(url: str) -> None:
    database = connect(parse_address(url))

    with pytest.raises(RecordsUnavailableError) as caught:
        database.execute("SELECT * FROM nowhere")

    assert caught.value.code == "records_unavailable"
    assert "nowhere" in caught.value.reason
    database.close()


def test_an_unreachable_postgresql_is_unavailable() -> None:
    address = parse_address("postgresql://me:secret@127.0.0.1:1/turns")

    with pytest.raises(RecordsUnavailableError) as caught:
        connect(address)

    assert "secret" not in str(caught.value)
    assert "postgresql://me@127.0.0.1:1/turns" in str(caught.value)


def test_a_read_only_connection_writes_nothing(url: str) -> None:
    connect(parse_address(url)).close()
    database = connect(parse_address(url), read_only=True)

    with pytest.raises(RecordsUnavailableError, match="read"):
        database.execute("CREATE TABLE t (x BIGINT)")

    database.close()
