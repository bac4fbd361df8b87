"""Both sides from the turn records."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from telemetry.compare.change import Change, last_change, later
from telemetry.compare.observed import UNFINISHED, Observed, measure, observe
from telemetry.compare.side import Side
from telemetry.compare.window import LABELS, Window, around, moment
from telemetry.errors import CompareInputError, NoChangeError
from telemetry.records import RecordReader, Selection, TurnRecord

_COLUMNS: Final = {
    "version": "version",
    "index": "index_label",
    "prompt": "prompt_label",
    "grader": "grader_label",
    "model": "model_label",
}
_SHOWN: Final = 20
"""Known values named in a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsSource:
    """The records of one graph."""

    reader: RecordReader
    graph: str

    @classmethod
    def of(cls, reader: RecordReader, graph: str | None = None) -> RecordsSource:
        """Return the source of a graph; it need not be named when the store holds only one.

        Raises:
            CompareInputError: There are several graphs, or none of that name.
            TelemetryError: The store cannot be read.
        """
        known = [str(group.key[0]) for group in reader.aggregate(["graph"])]
        if graph is None and len(known) == 1:
            return cls(reader=reader, graph=known[0])
        if graph is None or graph not in known:
            raise CompareInputError(
                "--graph", graph, f"one of {_named(known)}", "Name the graph to compare."
            )
        return cls(reader=reader, graph=graph)

    def windows_around_change(self, length: float, guard: float) -> tuple[Window, Window, Change]:
        """Return the time before and after the last change, and the change.

        That is the last change of the build or the last mark, whichever is later.

        Args:
            length: Seconds of either side at most.
            guard: Seconds left out on either side of the change.

        Raises:
            NoChangeError: All turns are of one build, and nobody marked anything.
        """
        columns = ["started_ms", *(_COLUMNS[label] for label in LABELS)]
        rows = self.reader.columns(columns, Selection(graph=self.graph))
        turns = [(ms / 1000, tuple(value or "" for value in build)) for ms, *build in rows]
        now = time.time()
        change = later(last_change(turns), self.reader.marks(until=now))
        if change is None:
            build = dict(zip(LABELS, turns[-1][1], strict=True)) if turns else {}
            raise NoChangeError(_told(build), moment(turns[0][0]) if turns else "never")
        return *around(change, guard, length, now), change

    def side(self, name: str, window: Window) -> Side:
        """Return one side.

        Raises:
            CompareInputError: A label has a value that no turn has.
        """
        for label, value in window.labels.items():
            self.require(name, label, value)
        seen: dict[str, set[str]] = {label: set() for label in LABELS}
        turns = []
        for record in self.reader.walk(self._selection(window)):
            build = {label: _value(record, label) for label in LABELS}
            if any(build[label] != value for label, value in window.labels.items()):
                continue
            for label, value in build.items():
                seen[label].add(value)
            if record.outcome not in UNFINISHED:
                turns.append(observe(record))  # a record holds much more than is compared
        labels = {label: tuple(sorted(values)) for label, values in seen.items()}
        return side_of(name, window.told(), turns, labels)

    def require(self, side: str, label: str, value: str) -> None:
        """Make sure that some turn has this value of a label.

        Raises:
            CompareInputError: None has.
        """
        groups = self.reader.aggregate([_COLUMNS[label]], Selection(graph=self.graph))
        known = [str(group.key[0] or "") for group in groups]
        if value not in known:
            raise CompareInputError(
                f"--{side} {label}", value, f"one of {_named(known)}", "Name a value that is there."
            )

    def _selection(self, window: Window) -> Selection:
        return Selection(
            graph=self.graph,
            # An empty label is NULL in the store: `side` tells those apart itself.
            version=window.labels.get("version") or None,
            since=window.since if math.isfinite(window.since) else None,
            until=window.until if math.isfinite(window.until) else None,
        )


def side_of(
    name: str,
    about: str,
    turns: Iterable[Observed],
    labels: dict[str, tuple[str, ...]] | None = None,
) -> Side:
    """Return a side of turns that ended by themselves."""
    kept = tuple(turns)
    return Side(
        name=name,
        about=about,
        turns=len(kept),
        first=min((turn.started_at for turn in kept), default=None),
        last=max((turn.started_at for turn in kept), default=None),
        measured=measure(kept),
        observed=kept,
        labels=labels or {},
    )


def without_guard(before: Side, after: Side, guard: float) -> tuple[Side, Side]:
    """Leave out what began within `guard` seconds of the first turn after."""
    if after.first is None or guard <= 0:
        return before, after
    start = after.first
    sides = []
    for side in (before, after):
        kept = [turn for turn in side.observed if abs(turn.started_at - start) >= guard]
        left_out = side.turns - len(kept)
        about = f"{side.about}, {left_out} left out by the guard" if left_out else side.about
        sides.append(replace(side_of(side.name, about, kept), labels=side.labels))
    return sides[0], sides[1]


def _value(record: TurnRecord, label: str) -> str:
    value = record.version if label == "version" else getattr(record.labels, label)
    return value or ""


def _told(labels: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in labels.items() if value) or "nothing"


def _named(known: list[str]) -> str:
    shown = ", ".join(repr(value) for value in sorted(known)[:_SHOWN])
    more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    return f"{shown or 'none: there are no turns'}{more}"
