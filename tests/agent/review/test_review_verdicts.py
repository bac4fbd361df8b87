from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from agent.review.verdicts import Verdicts, VerdictsError, path_beside, verdict_on


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        pytest.param("turns.sqlite", "turns.verdicts.sqlite", id="beside-a-path"),
        pytest.param("sqlite:////var/t.db", "/var/t.verdicts.sqlite", id="beside-a-url"),
        pytest.param("postgresql://me@db/x", "loopscope-turns.verdicts.sqlite", id="here-else"),
    ],
)
def test_where_verdicts_are_kept(records: str, expected: str) -> None:
    assert path_beside(records) == Path(expected)


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

    with pytest.raises(VerdictsError, match=r"cannot be kept: got .* expected a SQLite file"):
        Verdicts(path).all()


def test_another_judgement_is_refused_by_the_table(tmp_path: Path) -> None:
    verdicts = Verdicts(tmp_path / "v.sqlite")
    bad = verdict_on("t1", "maybe", is_sure=True, question=None, by="me")  # type: ignore[arg-type]  # what is tested

    with pytest.raises(VerdictsError) as caught:
        verdicts.put(bad)

    assert isinstance(caught.value.__cause__, sqlite3.IntegrityError)
