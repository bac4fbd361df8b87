from __future__ import annotations

import pytest
from record_turns import make_turn

from telemetry.errors import MarkError
from telemetry.records import RecordReader, RecordSink, Retention
from telemetry.records.database import connect, parse_address
from telemetry.records.marks import MAX_CHARS, make_mark, put_mark
from telemetry.records.sink import trim

NOW = 1_700_000_000.0
DAY = 86_400.0


def test_marks_are_read_in_the_order_of_time(url: str, reader: RecordReader) -> None:
    for what, ago, tags in (("late", 10.0, ["a", "b"]), ("early", 500.25, []), ("first", 9e6, [])):
        put_mark(url, make_mark(what, at=NOW - ago, tags=tags, now=NOW))

    assert [(m.what, m.at, m.tags) for m in reader.marks(until=NOW)] == [
        ("first", NOW - 9e6, ()), ("early", NOW - 500.25, ()), ("late", NOW - 10, ("a", "b")),
    ]  # fmt: skip
    assert [m.what for m in reader.marks(since=NOW - 500.25, until=NOW - 100)] == ["early"]


def test_the_same_mark_is_kept_once_and_another_beside_it(url: str, reader: RecordReader) -> None:
    for what, tags in (("new prompt", ["x"]), ("new prompt", ["x"]), ("new prompt", ["y"])):
        put_mark(url, make_mark(what, at=NOW, tags=tags, now=NOW))

    assert sorted(m.tags for m in reader.marks(until=NOW)) == [("x",), ("y",)]


def test_marks_and_turns_live_in_one_store(
    url: str, sink: RecordSink, reader: RecordReader
) -> None:
    put_mark(url, make_mark("before any turn", at=NOW, tags=[], now=NOW))
    sink.put(make_turn())
    assert sink.flush()

    assert (reader.count(), len(reader.marks(until=NOW))) == (1, 1)


def test_old_marks_go_with_the_old_turns(url: str, reader: RecordReader) -> None:
    for what, ago in (("old", 31 * DAY), ("young", 29 * DAY)):
        put_mark(url, make_mark(what, at=NOW - ago, tags=[], now=NOW))
    database = connect(parse_address(url))
    trim(database, Retention(max_age_seconds=30 * DAY), NOW)
    database.close()

    assert [m.what for m in reader.marks(until=NOW)] == ["young"]


@pytest.mark.parametrize("what", ["naïve 🙂 'quoted' %s ? \"x\"", "x" * MAX_CHARS])
def test_a_mark_says_anything_that_a_line_can_hold(
    what: str, url: str, reader: RecordReader
) -> None:
    put_mark(url, make_mark(f"  {what} ", at=NOW, tags=["team/a-b:c.d@e_f"], now=NOW))

    assert [(m.what, m.tags) for m in reader.marks(until=NOW)] == [(what, ("team/a-b:c.d@e_f",))]


@pytest.mark.parametrize(
    ("what", "changes", "message"),
    [
        pytest.param("  ", {}, "text got 0 characters, expected a line of 1 to 500", id="empty"),
        pytest.param("x" * 501, {}, "text got 501 characters", id="too-long"),
        pytest.param("a\nb", {}, r"text got 'a\\nb'", id="two-lines"),
        pytest.param("a\x00b", {}, "expected a line", id="a-byte-that-postgresql-refuses"),
        pytest.param("a", {"tags": ["a b"]}, "--tag got 'a b', expected 1 to 64", id="a-blank"),
        pytest.param("a", {"at": NOW + 60}, "--at got 60 s from now", id="in-the-future"),
    ],
)
def test_what_is_no_mark_is_refused(what: str, changes: dict[str, object], message: str) -> None:
    with pytest.raises(MarkError, match=message):
        make_mark(what, **{"at": NOW, "tags": [], "now": NOW, **changes})  # type: ignore[arg-type]
