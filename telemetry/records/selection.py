"""Which turn records are meant, and how that is said in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final

from telemetry.content import digest
from telemetry.records.record import first_id
from telemetry.records.schema import COLUMNS


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which turns are meant; every field narrows, and several values mean any of them."""

    graph: str | Sequence[str] | None = None
    version: str | Sequence[str] | None = None
    outcome: str | Sequence[str] | None = None
    reason: str | Sequence[str] | None = None
    classification: str | Sequence[str] | None = None
    confidence: str | Sequence[str] | None = None
    last_grade: str | Sequence[str] | None = None
    error_type: str | Sequence[str] | None = None
    index_label: str | Sequence[str] | None = None
    prompt_label: str | Sequence[str] | None = None
    grader_label: str | Sequence[str] | None = None
    model_label: str | Sequence[str] | None = None
    trace_id: str | Sequence[str] | None = None
    conversation_id: str | None = None
    """The conversation's own id, or the one that a record shows."""
    finding: str | None = None
    """Name of a detector that found something in the turn."""
    since: float | None = None
    """Unix time, seconds; turns that began then or later."""
    until: float | None = None
    """Unix time, seconds; turns that began before."""
    min_rewrites: int | None = None
    min_drafts: int | None = None
    min_failed_calls: int | None = None
    min_failed_retrievals: int | None = None
    min_failed_judgements: int | None = None
    longer_than: float | None = None
    """Seconds that a turn took at least, these not included."""


ALL_TURNS: Final = Selection()

_MATCHED: Final = tuple(
    field.name
    for field in fields(Selection)
    if field.name in COLUMNS and field.name != "conversation_id"
)
"""Fields of a selection that are columns to be equal to, or among, the given values."""
_AT_LEAST: Final = {
    field.name: field.name.removeprefix("min_")
    for field in fields(Selection)
    if field.name.startswith("min_")
}
"""Field of a selection -> column that is at least the given number."""


class Where:
    """The FROM and WHERE of a selection, with its parameters."""

    def __init__(self, selection: Selection, *, join_findings: bool = False) -> None:
        self._conditions: list[str] = []
        self._parameters: list[object] = []
        self._joined = join_findings or selection.finding is not None
        # With a finding, its own table leads: it holds the ids of that finding in order.
        self.id = "turn_findings.turn_id" if self._joined else "turns.id"
        for name in _MATCHED:
            self._match(name, getattr(selection, name))
        if selection.finding is not None:
            self.add("turn_findings.detector = ?", selection.finding)
        if selection.conversation_id is not None:
            ids = (selection.conversation_id, digest(selection.conversation_id))
            self.add("turns.conversation_id IN (?, ?)", *ids)
        if selection.since is not None:
            self.add(f"{self.id} >= ?", first_id(selection.since))
        if selection.until is not None:
            self.add(f"{self.id} < ?", first_id(selection.until))
        for name, column in _AT_LEAST.items():
            least = getattr(selection, name)
            if least is not None:
                self.add(f"turns.{column} >= ?", least)
        if selection.longer_than is not None:
            self.add("turns.duration_seconds > ?", selection.longer_than)

    def add(self, condition: str, *parameters: object) -> None:
        """Narrow by one more condition with its parameters."""
        self._conditions.append(condition)
        self._parameters.extend(parameters)

    @property
    def sql(self) -> str:
        """`FROM ...` and, when there is a condition, `WHERE ...`."""
        tables = "turn_findings JOIN turns ON turns.id = turn_findings.turn_id"
        conditions = " AND ".join(self._conditions)
        return (
            f"FROM {tables if self._joined else 'turns'}"
            f"{' WHERE ' if conditions else ''}{conditions}"
        )

    @property
    def parameters(self) -> tuple[object, ...]:
        """The values of the placeholders in `sql`."""
        return tuple(self._parameters)

    def _match(self, column: str, wanted: str | Sequence[str] | None) -> None:
        if wanted is None:
            return
        values = (wanted,) if isinstance(wanted, str) else tuple(wanted)
        if len(values) == 1:
            self.add(f"turns.{column} = ?", *values)
        else:
            marks = ", ".join("?" * len(values)) or "NULL"
            self.add(f"turns.{column} IN ({marks})", *values)
