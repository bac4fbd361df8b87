from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agent.beside import FileBeside, FileBesideError, ForeignFileError, path_beside


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        pytest.param("turns.sqlite", "turns.notes.sqlite", id="beside-a-path"),
        pytest.param("sqlite:////var/t.db", "/var/t.notes.sqlite", id="beside-a-url"),
        pytest.param("postgresql://me@db/x", "loopscope-turns.notes.sqlite", id="here-else"),
    ],
)
def test_where_something_is_kept(records: str, expected: str) -> None:
    assert path_beside(records, "notes") == Path(expected)


@pytest.fixture
def notes(tmp_path: Path) -> FileBeside:
    table = "CREATE TABLE IF NOT EXISTS notes (text TEXT NOT NULL)"
    return FileBeside(tmp_path / "notes.sqlite", table=table, holds="notes")


def test_what_a_failing_block_did_is_undone(notes: FileBeside) -> None:
    with notes.opened() as database:
        database.execute("INSERT INTO notes VALUES ('kept')")
    with pytest.raises(FileBesideError) as caught, notes.opened() as database:
        database.execute("INSERT INTO notes VALUES ('undone')")
        database.execute("INSERT INTO notes VALUES (NULL)")
    with notes.opened() as database:
        rows = database.execute("SELECT text FROM notes").fetchall()

    assert rows == [("kept",)]
    assert isinstance(caught.value.__cause__, sqlite3.IntegrityError)


def test_a_file_that_is_no_database_is_refused(notes: FileBeside) -> None:
    notes.path.write_text("this is no database, and long enough to be read as a header of one")
    with pytest.raises(ForeignFileError) as caught, notes.opened():
        pass

    assert str(caught.value) == (
        f"the notes cannot be read: got 'file is not a database' for {str(notes.path)!r}, expected "
        "a SQLite file that this version of loopscope wrote. Move it away, or name other records "
        "(--records)."
    )


def test_a_database_of_something_else_is_refused(notes: FileBeside) -> None:
    with closing(sqlite3.connect(notes.path)) as database:
        database.execute("CREATE TABLE notes (other INTEGER)")
    with pytest.raises(ForeignFileError, match="no such column: text"):
        notes.rows("SELECT text FROM notes")


def test_a_place_that_cannot_be_opened_is_no_foreign_file(tmp_path: Path) -> None:
    kept = FileBeside(tmp_path / "nowhere" / "notes.sqlite", table="", holds="notes")
    with pytest.raises(FileBesideError) as caught, kept.opened():
        pass

    assert (type(caught.value), caught.value.exit_code) == (FileBesideError, 1)
    assert str(caught.value) == (
        f"the notes cannot be kept: got 'unable to open database file' for {str(kept.path)!r}, "
        "expected a SQLite file that can be written. Check the path and its rights."
    )
