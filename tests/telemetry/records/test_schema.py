from __future__ import annotations

import pytest
from record_turns import Finding, make_retrieval, make_turn

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

    with pytest.raises(RecordsVersionError, match=r"has version 2, expected 1\. Update loopscope"):
        migrate(database)

    database.close()
    with pytest.raises(RecordsVersionError):
        reader.count()


def test_an_empty_store_is_missing_to_a_reader(reader: RecordReader) -> None:
    with pytest.raises(RecordsMissingError, match="no turn records"):
        reader.count()
