"""The tables of the record store, their migrations, and a record as a row and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final

from telemetry.errors import RecordsMissingError, RecordsVersionError, TelemetryError
from telemetry.records.database import Address, Database, Row, connect
from telemetry.records.record import Attempt, Labels, TurnRecord
from telemetry.turn import NodeRun

_V1: Final = (
    """
    CREATE TABLE turns (
        id TEXT PRIMARY KEY,
        started_ms BIGINT NOT NULL,
        graph TEXT NOT NULL,
        version TEXT NOT NULL,
        outcome TEXT NOT NULL,
        reason TEXT,
        trace_id TEXT,
        conversation_id TEXT,
        index_label TEXT,
        prompt_label TEXT,
        grader_label TEXT,
        model_label TEXT,
        classification TEXT,
        confidence TEXT,
        rewrites BIGINT NOT NULL,
        max_rewrites BIGINT,
        last_grade TEXT NOT NULL,
        llm_calls BIGINT NOT NULL,
        input_tokens BIGINT,
        output_tokens BIGINT,
        recursion_limit BIGINT,
        error_type TEXT,
        duration_seconds DOUBLE PRECISION NOT NULL,
        findings TEXT NOT NULL,
        attempts TEXT NOT NULL,
        question TEXT,
        reply TEXT
    )
    """,
    "CREATE INDEX turns_outcome ON turns (outcome, id)",
    "CREATE INDEX turns_version ON turns (version, id)",
    "CREATE INDEX turns_conversation ON turns (conversation_id, id)",
    "CREATE INDEX turns_trace ON turns (trace_id)",
    """
    CREATE TABLE turn_findings (
        detector TEXT NOT NULL,
        turn_id TEXT NOT NULL,
        PRIMARY KEY (detector, turn_id)
    )
    """,
    "CREATE INDEX turn_findings_turn ON turn_findings (turn_id)",
)

_V2: Final = tuple(
    f"ALTER TABLE turns ADD COLUMN {column}"
    for column in (
        "nodes TEXT",
        "drafts BIGINT",
        "failed_calls BIGINT",
        "retrievals BIGINT",
        "failed_retrievals BIGINT",
        "judgements BIGINT",
        "failed_judgements BIGINT",
    )
)

_V3: Final = (
    """
    CREATE TABLE marks (
        id TEXT PRIMARY KEY,
        at_ms BIGINT NOT NULL,
        what TEXT NOT NULL,
        tags TEXT NOT NULL
    )
    """,
)

MIGRATIONS: Final[tuple[Sequence[str], ...]] = (_V1, _V2, _V3)
"""Statements that lead from each version to the next; the first ones from an empty store.
Only ever appended to: stores in the field were made with what stands here."""

COLUMNS: Final = (
    "id", "started_ms", "graph", "version", "outcome", "reason", "trace_id", "conversation_id",
    "index_label", "prompt_label", "grader_label", "model_label", "classification", "confidence",
    "rewrites", "max_rewrites", "last_grade", "llm_calls", "input_tokens", "output_tokens",
    "recursion_limit", "error_type", "duration_seconds", "findings", "attempts", "question",
    "reply", "nodes", "drafts", "failed_calls", "retrievals", "failed_retrievals", "judgements",
    "failed_judgements",
)  # fmt: skip
"""Columns of `turns`, in the order of `to_row` and `from_row`."""
SUMMARIES: Final = ("retrievals", "failed_retrievals", "judgements")
"""Columns that sum up others, to be summed by the database."""

INSERT_TURN: Final = (
    f"INSERT INTO turns ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))}) "
    "ON CONFLICT (id) DO NOTHING"
)
INSERT_MARK: Final = (
    "INSERT INTO marks (id, at_ms, what, tags) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
)
INSERT_FINDING: Final = (
    "INSERT INTO turn_findings (detector, turn_id) VALUES (?, ?) ON CONFLICT DO NOTHING"
)


def migrate(database: Database, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> None:
    """Bring the store to the newest schema, in one transaction; several processes may try.

    Raises:
        RecordsVersionError: The store is newer than this program.
    """
    with database.writing():
        database.lock_schema()
        database.execute("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)")
        rows = database.execute("SELECT version FROM schema_version")
        version = int(rows[0][0]) if rows else 0
        if version > len(migrations):
            raise RecordsVersionError(database.address.url, version, len(migrations))
        if version == len(migrations):
            return
        for statements in migrations[version:]:
            for statement in statements:
                database.execute(statement)
        database.execute("DELETE FROM schema_version")
        database.execute("INSERT INTO schema_version (version) VALUES (?)", (len(migrations),))


def open_migrated(address: Address) -> Database:
    """Open a store to write to it, brought to the newest schema.

    Raises:
        TelemetryError: It cannot be written, or is newer than this program.
    """
    database = connect(address)
    try:
        migrate(database)
    except TelemetryError:
        database.close()
        raise
    return database


def check(database: Database) -> None:
    """Make sure that the store can be read by this program.

    Raises:
        RecordsMissingError: Nothing was ever written.
        RecordsVersionError: It has another schema.
    """
    if not database.has_table("schema_version"):
        raise RecordsMissingError(database.address.url)
    rows = database.execute("SELECT version FROM schema_version")
    version = int(rows[0][0]) if rows else 0
    if version != len(MIGRATIONS):
        raise RecordsVersionError(database.address.url, version, len(MIGRATIONS))


def to_row(record: TurnRecord) -> tuple[object, ...]:
    """Return the record as a row of `turns`."""
    labels = record.labels
    return (
        record.id, round(record.started_at * 1000), record.graph, record.version, record.outcome,
        record.reason, record.trace_id, record.conversation_id, labels.index, labels.prompt,
        labels.grader, labels.model, record.classification, record.confidence, record.rewrites,
        record.max_rewrites, record.last_grade, record.llm_calls, record.input_tokens,
        record.output_tokens, record.recursion_limit, record.error_type, record.duration_seconds,
        " ".join(record.findings), _encode(record.attempts), record.question, record.reply,
        _encode_nodes(record.nodes), record.drafts, record.failed_calls, len(record.attempts),
        sum(attempt.failed for attempt in record.attempts), _judgements(record),
        record.failed_judgements,
    )  # fmt: skip


def from_row(row: Row) -> TurnRecord:
    """Return the record of a row that holds `COLUMNS`."""
    values = dict(zip(COLUMNS, row, strict=True))
    labels = Labels(
        **{name: values.pop(f"{name}_label") for name in ("index", "prompt", "grader", "model")}
    )
    started_ms, findings, attempts, nodes = (
        values.pop(name) for name in ("started_ms", "findings", "attempts", "nodes")
    )
    for name in SUMMARIES:
        del values[name]
    return TurnRecord(
        started_at=started_ms / 1000,
        labels=labels,
        findings=tuple(findings.split()),
        attempts=_decode(attempts),
        nodes=_decode_nodes(nodes),
        **values,
    )


def _judgements(record: TurnRecord) -> int:
    """Return what was judged: the topic, each graded chunk, each draft."""
    graded = sum(len(attempt.grades) for attempt in record.attempts)
    return int(record.classification is not None) + graded + (record.drafts or 0)


def _encode_nodes(nodes: Sequence[NodeRun]) -> str:
    rows = [[run.node, run.role, run.attempt, run.began, run.seconds] for run in nodes]
    return json.dumps(rows, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _decode_nodes(text: str | None) -> tuple[NodeRun, ...]:
    return tuple(
        NodeRun(node=node, role=role, attempt=attempt, began=began, seconds=seconds)
        for node, role, attempt, began, seconds in json.loads(text or "[]")
    )


_ATTEMPT_FIELDS: Final = tuple(field.name for field in fields(Attempt))


def _encode(attempts: Sequence[Attempt]) -> str:
    """Compact JSON with the names of the fields; what is absent is left out."""
    rows = [[(name, getattr(attempt, name)) for name in _ATTEMPT_FIELDS] for attempt in attempts]
    kept = [{name: value for name, value in row if not _is_absent(value)} for row in rows]
    return json.dumps(kept, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _decode(text: str) -> tuple[Attempt, ...]:
    rows: list[dict[str, Any]] = json.loads(text)
    return tuple(Attempt(**{name: _frozen(value) for name, value in row.items()}) for row in rows)


def _is_absent(value: object) -> bool:
    return value is None or value is False or value == ()  # and not 0 or 0.0


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
