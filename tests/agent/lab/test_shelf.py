from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from kept_runs import make_run

from agent.beside import ForeignFileError
from agent.lab.shelf import Shelf


def test_runs_come_back_whole_and_newest_first(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "lab.sqlite")
    runs = [make_run(id=f"0000000{number}") for number in range(3)]
    for run in runs:
        shelf.put(run)

    assert shelf.all() == runs[::-1]


def test_the_oldest_above_the_bound_are_deleted(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "lab.sqlite", most=2)
    for number in range(5):
        shelf.put(make_run(id=f"0000000{number}"))

    assert [run.id for run in shelf.all()] == ["00000004", "00000003"]


def test_no_file_is_made_by_reading(tmp_path: Path) -> None:
    path = tmp_path / "lab.sqlite"

    assert Shelf(path).all() == []
    assert not path.exists()


def test_a_run_of_a_later_version_is_told(tmp_path: Path) -> None:
    path = tmp_path / "lab.sqlite"
    shelf = Shelf(path)
    shelf.put(make_run())
    with sqlite3.connect(path) as database:
        database.execute("UPDATE runs SET run = replace(run, '\"format\":1', '\"format\":2')")
    database.close()

    told = r"runs of the lab cannot be read: got .run 0000000a: got format: Input should be 1"
    with pytest.raises(ForeignFileError, match=told):
        shelf.all()


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lab.sqlite"
    path.write_text("this is no database, and long enough to be read as a header of one")

    for use in (lambda: Shelf(path).put(make_run()), Shelf(path).all, Shelf(path).check):
        with pytest.raises(ForeignFileError, match="the runs of the lab cannot be read"):
            use()
