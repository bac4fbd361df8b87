from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from filled_store import fill, turns

from agent.review.sample import is_chosen, refusals, split
from telemetry.records import RecordReader, Selection, open_reader

NOW = 1_800_000_000.0


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[RecordReader]:
    fill(tmp_path / "turns.sqlite", turns(2_000, NOW, days=3))
    with open_reader(tmp_path / "turns.sqlite") as opened:
        yield opened


def test_every_unsure_refusal_is_shown_and_a_share_of_the_others(reader: RecordReader) -> None:
    chosen = refusals(reader)
    turns_, unsure, sure = split(reader)

    assert turns_ == 2_000
    assert sum(not refusal.is_sure for refusal in chosen) == unsure
    assert 0.04 * sure < sum(refusal.is_sure for refusal in chosen) < 0.18 * sure
    assert unsure + sure == reader.count(Selection(outcome="off_topic"))


def test_the_same_turns_are_shown_each_time(reader: RecordReader) -> None:
    assert [r.record.id for r in refusals(reader)] == [r.record.id for r in refusals(reader)]


@pytest.mark.parametrize(
    ("confidence", "share", "expected"),
    [
        pytest.param("low", 0.0, True, id="an-unsure-one-always"),
        pytest.param("high", 0.0, False, id="a-sure-one-not-at-0"),
        pytest.param("high", 1.0, True, id="a-sure-one-at-1"),
    ],
)
def test_who_is_chosen(confidence: str, share: float, expected: bool) -> None:
    assert is_chosen("turn", confidence, share) is expected
