from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from filled_store import GAPS, fill, turns

from agent.documents import open_index
from agent.gaps.cluster import clusters
from agent.gaps.export import as_csv, as_json
from agent.gaps.report import Gaps, find_gaps
from agent.settings import Settings
from telemetry.records import RecordReader, open_reader

NOW = 1_800_000_000.0
SUBJECTS = ({0, 1, 2}, {3, 4}, {5}, {6, 7})


@pytest.fixture
def reader(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[RecordReader]:
    is_captured = getattr(request, "param", True)
    fill(tmp_path / "turns.sqlite", turns(1_000, NOW, days=12, is_captured=is_captured))
    with open_reader(tmp_path / "turns.sqlite") as opened:
        yield opened


@pytest.fixture(scope="module")
def gaps_index():
    return open_index(Settings())


def test_questions_that_ask_the_same_are_one_group() -> None:
    assert sorted(map(sorted, clusters(GAPS))) == sorted(map(sorted, SUBJECTS))


@pytest.mark.parametrize(
    ("questions", "expected"),
    [
        pytest.param((), [], id="none"),
        pytest.param(("GPU?",), [[0]], id="one"),
        pytest.param(("?", "!", "a GPU"), [[2], [0], [1]], id="without-words-each-alone"),
    ],
)
def test_few_questions(questions: tuple[str, ...], expected: list[list[int]]) -> None:
    assert clusters(questions) == expected


def test_gaps_are_counted_and_say_what_is_missing(reader: RecordReader, gaps_index) -> None:
    found = find_gaps(reader, gaps_index, now=NOW)
    student = next(gap for gap in found.gaps if "student" in gap.missing_words)

    assert len(found.gaps) == 4
    assert sum(gap.turns for gap in found.gaps) == found.turns == found.captured
    assert [gap.turns for gap in found.gaps] == sorted((g.turns for g in found.gaps), reverse=True)
    assert student.different == 3
    assert set(student.questions) == set(GAPS[:3])
    assert student.last_days + student.days_before == student.turns


@pytest.mark.parametrize("reader", [False], indirect=True, ids=["no-text-captured"])
def test_without_text_equal_searches_are_grouped(reader: RecordReader, gaps_index) -> None:
    found = find_gaps(reader, gaps_index, now=NOW)

    assert found.captured == 0
    assert 1 < len(found.gaps) <= 40
    assert all(not gap.questions and not gap.missing_words for gap in found.gaps)
    assert all(gap.nearest for gap in found.gaps)


def test_exports_hold_every_gap(reader: RecordReader, gaps_index) -> None:
    found = find_gaps(reader, gaps_index, now=NOW)
    rows = list(csv.DictReader(io.StringIO(as_csv(found))))

    assert [int(row["turns"]) for row in rows] == [gap.turns for gap in found.gaps]
    assert len(json.loads(json.dumps(as_json(found)))["gaps"]) == len(found.gaps)


def test_no_gap_is_an_empty_table() -> None:
    assert as_csv(Gaps(gaps=(), turns=0, captured=0)).count("\n") == 1
