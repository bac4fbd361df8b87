from __future__ import annotations

from pathlib import Path

import pytest
from record_turns import Finding, Node, make_retrieval, make_turn

from telemetry.content import ContentGate
from telemetry.errors import RecordsMissingError, RecordsVersionError
from telemetry.records import RecordReader, RecordSink
from telemetry.records.database import connect, parse_address
from telemetry.records.record import Labels, record_of
from telemetry.records.schema import COLUMNS, MIGRATIONS, check, from_row, migrate, to_row


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="an-ordinary-turn"),
        pytest.param(
            {"retrievals": (), "rewrites": 0, "classification": None, "confidence": None,
             "outcome": "off_topic", "trace_id": None, "conversation_id": None,
             "input_tokens": None, "output_tokens": None, "max_rewrites": None},
            id="nothing-known",
        ),
        pytest.param(
            {"retrievals": (make_retrieval(0, failed=True, chunk_ids=(), scores=(), grades=(),
                                           similarity=None, query=None),)},
            id="a-failed-retrieval",
        ),
        pytest.param({"clock": 7.0, "executions": (
            (Node("fetch_content", "retrieve"), 7.5, 0.25, 0),
            (Node("outer/inner", "none"), 7.0, 1.0, 1),
        ), "drafts": 2, "failed_calls": 1}, id="nodes-and-what-failed"),
        pytest.param({"question": "naïve 🙂 \0 \ud800 'quoted' %s ?"}, id="hostile-text"),
    ],
)  # fmt: skip
def test_a_record_survives_the_way_through_its_row(changes: dict[str, object]) -> None:
    record = record_of(
        make_turn(**changes),
        (Finding("drift"),),
        gate=ContentGate(spans=True),
        labels=Labels(index="i1"),
    )

    assert from_row(to_row(record)) == record
    assert len(to_row(record)) == len(COLUMNS)


def test_migrating_twice_changes_nothing(url: str) -> None:
    database = connect(parse_address(url))

    migrate(database)
    migrate(database)

    assert database.execute("SELECT version FROM schema_version") in (
        [(len(MIGRATIONS),)],
        [[len(MIGRATIONS)]],
    )
    database.close()


def test_a_store_of_an_older_version_is_migrated_and_keeps_its_turns(
    url: str, sink: RecordSink, reader: RecordReader
) -> None:
    record_id = sink.put(make_turn())
    assert sink.flush(10)
    newer = (*MIGRATIONS, ("ALTER TABLE turns ADD COLUMN extra TEXT",))
    database = connect(parse_address(url))

    migrate(database, newer)

    assert database.execute("SELECT extra FROM turns") in ([(None,)], [[None]])
    assert database.execute("SELECT id FROM turns")[0][0] == record_id
    database.close()


def store_of_version_1(url: str) -> None:
    """A store as it was before nodes were kept, with one turn."""
    database = connect(parse_address(url))
    migrate(database, MIGRATIONS[:1])
    old = COLUMNS[: COLUMNS.index("nodes")]
    with database.writing():
        database.execute(
            f"INSERT INTO turns ({', '.join(old)}) VALUES ({', '.join('?' * len(old))})",
            to_row(record_of(make_turn(), record_id="f" * 32))[: len(old)],
        )
    database.close()


def test_a_reader_brings_an_older_store_up_to_date(url: str, reader: RecordReader) -> None:
    store_of_version_1(url)

    record = reader.get("f" * 32)

    assert record is not None
    assert record.nodes == ()
    assert (record.drafts, record.failed_calls, record.failed_judgements) == (None, None, None)
    assert (record.outcome, len(record.attempts)) == ("answered", 2)
    assert reader.sums(["llm_calls", "failed_calls", "retrievals"]) == (6, 0, 0)


def test_an_older_store_that_cannot_be_written_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    store_of_version_1(str(path))
    database = connect(parse_address(path))

    with (
        database.writing(),  # another process holds the lock
        pytest.raises(RecordsVersionError, match=r"Open it once where it may be written"),
    ):
        RecordReader(path).count()

    database.close()


def test_a_failed_migration_leaves_the_store_as_it_was(url: str) -> None:
    database = connect(parse_address(url))
    migrate(database)
    broken = (*MIGRATIONS, ("ALTER TABLE turns ADD COLUMN extra TEXT", "NO SUCH STATEMENT"))

    with pytest.raises(Exception, match="syntax error"):
        migrate(database, broken)

    check(database)
    database.execute("SELECT id FROM turns")
    assert "extra" not in COLUMNS
    database.close()


def test_a_store_of_a_newer_version_is_refused(url: str, reader: RecordReader) -> None:
    database = connect(parse_address(url))
    migrate(database, (*MIGRATIONS, ("CREATE TABLE later (id BIGINT)",)))
    newer = len(MIGRATIONS) + 1

    with pytest.raises(
        RecordsVersionError, match=rf"has version {newer}, expected {newer - 1}\. Update loopscope"
    ):
        migrate(database)

    database.close()
    with pytest.raises(RecordsVersionError):
        reader.count()


def test_an_empty_store_is_missing_to_a_reader(reader: RecordReader) -> None:
    with pytest.raises(RecordsMissingError, match="no turn records"):
        reader.count()
