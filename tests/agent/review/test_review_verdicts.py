from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from agent.beside import FileBesideError
from agent.review.verdicts import Verdicts, verdict_on


def test_a_later_verdict_takes_the_place_and_can_be_taken_back(tmp_path: Path) -> None:
    verdicts = Verdicts(tmp_path / "v.sqlite")
    for judgement in ("right", "wrong"):
        verdicts.put(
            verdict_on("t1", judgement, is_sure=True, question="why?", by="me")  # type: ignore[arg-type]  # a loop over literals
        )

    (kept,) = verdicts.all()
    verdicts.remove("t1")

    assert (kept.turn_id, kept.judgement, kept.question) == ("t1", "wrong", "why?")
    assert verdicts.all() == []


def test_no_file_is_made_by_reading(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"

    assert Verdicts(path).all() == []
    assert not path.exists()


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    path.write_text("this is no database, and long enough to be read as a header of one")

    with pytest.raises(FileBesideError, match=r"cannot be read: got .* expected a SQLite file"):
        Verdicts(path).all()


def test_another_judgement_is_refused_by_the_table(tmp_path: Path) -> None:
    verdicts = Verdicts(tmp_path / "v.sqlite")
    bad = verdict_on("t1", "maybe", is_sure=True, question=None, by="me")  # type: ignore[arg-type]  # what is tested

    with pytest.raises(FileBesideError) as caught:
        verdicts.put(bad)

    assert isinstance(caught.value.__cause__, sqlite3.IntegrityError)
