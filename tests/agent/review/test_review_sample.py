from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from filled_store import fill, turns

from agent.review.sample import is_chosen, sample
from telemetry.records import RecordReader, Selection, open_reader

NOW = 1_800_000_000.0


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[RecordReader]:
    fill(tmp_path / "turns.sqlite", turns(2_000, NOW, days=3))
    with open_reader(tmp_path / "turns.sqlite") as opened:
        yield opened


def test_every_unsure_refusal_is_shown_and_a_share_of_the_others(reader: RecordReader) -> None:
    found = sample(reader)

    assert found.turns == 2_000
    assert sum(not refusal.is_sure for refusal in found.refusals) == found.unsure
    assert 0.04 * found.sure < sum(r.is_sure for r in found.refusals) < 0.18 * found.sure
    assert found.unsure + found.sure == reader.count(Selection(outcome="off_topic"))


def test_the_same_turns_are_shown_each_time(reader: RecordReader) -> None:
    assert sample(reader) == sample(reader)


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
