"""Errors of telemetry: what was wrong, what was got, what was expected, what to do next.

They are raised while telemetry is set up or read, never while a graph runs.

    TelemetryError              telemetry_error
    ├── ExportSettingsError     export_settings      OTLP settings that contradict each other
    ├── RecordsUrlError         records_url          the address of a record store makes no sense
    ├── RecordsMissingError     records_missing      there is no record store at that address
    ├── RecordsVersionError     records_version      the store has another schema version
    ├── RecordsUnavailableError records_unavailable  the store cannot be opened, read or written
    │   └── RecordsForeignError records_foreign      the file holds something else, or is damaged
    ├── RecordsQueryError       records_query        a column or limit that cannot be asked for
    ├── MarkError               mark                 a mark that cannot be made
    ├── MarkNotShownError       mark_not_shown       a mark that is kept and not in Grafana
    ├── CompareInputError       compare_input        a side of a comparison that makes no sense
    ├── NoChangeError           no_change            every turn is of one build
    ├── NothingComparedError    nothing_compared     the data of a comparison cannot be read
    ├── NotAGraphError          not_a_graph          something else was to be instrumented
    ├── UnknownNodeError        unknown_node         a role was given to a node that is not there
    └── UnknownRoleError        unknown_role         a role that telemetry does not know
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar


class TelemetryError(Exception):
    """Anything telemetry reports about its own input or configuration."""

    code: ClassVar[str] = "telemetry_error"
    exit_code: ClassVar[int] = 1
    """What the command line exits with: 2 for wrong usage, 1 for what failed all the same."""


class ExportSettingsError(TelemetryError):
    """Settings of the OTLP export that are wrong or contradict each other."""

    code = "export_settings"

    def __init__(self, setting: str, got: str, expected: str, fix: str) -> None:
        self.setting = setting
        super().__init__(f"{setting}: got {got!r}, expected {expected}. {fix}")


class RecordsUrlError(TelemetryError):
    """The address of a record store is of no known kind, or its driver is missing."""

    code = "records_url"
    exit_code = 2

    def __init__(self, problem: str, url: str, fix: str) -> None:
        super().__init__(
            f"{problem}: got {url!r}, expected a path, 'sqlite:///PATH' or "
            f"'postgresql://USER@HOST/DATABASE'. {fix}"
        )


class RecordsMissingError(TelemetryError):
    """Nothing was ever written at the address that is to be read."""

    code = "records_missing"
    exit_code = 2

    def __init__(self, url: str) -> None:
        super().__init__(
            f"no turn records: got {url!r}, expected a store that holds the table `turns`. "
            "Give the path or URL where `loopscope serve` keeps them (--records, "
            "LOOPSCOPE_RECORDS), and ask it a question if it is new."
        )


class RecordsVersionError(TelemetryError):
    """The store was written by another version of the schema."""

    code = "records_version"
    exit_code = 2

    def __init__(self, url: str, got: int, expected: int) -> None:
        self.got, self.expected = got, expected
        fix = (
            "Update loopscope."
            if got > expected
            else "Open it once where it may be written: that brings it up to date."
        )
        super().__init__(
            f"turn records have another schema: {url!r} has version {got}, expected {expected}. "
            f"{fix}"
        )


class RecordsUnavailableError(TelemetryError):
    """The store exists, but could not be opened, read or written just now."""

    code = "records_unavailable"

    def __init__(self, url: str, reason: str) -> None:
        self.url = url
        self.reason = reason
        super().__init__(self._told())

    def _told(self) -> str:
        return (
            f"turn records are not available: {self.url!r} says {self.reason!r}, expected it to "
            "answer. Check that the store is running, not full, and that this user may open it."
        )


class RecordsForeignError(RecordsUnavailableError):
    """The file that should be a record store holds something else, or is damaged."""

    code = "records_foreign"
    exit_code = 2

    def _told(self) -> str:
        return (
            f"no turn records: got {self.url!r}, of which SQLite says {self.reason!r}, expected a "
            "store that `loopscope serve` wrote. Name another file, or restore this one."
        )


class RecordsQueryError(TelemetryError):
    """Something was asked of the records that they do not hold."""

    code = "records_query"
    exit_code = 2

    def __init__(self, what: str, got: object, known: Iterable[str]) -> None:
        super().__init__(
            f"cannot ask the turn records for {what} {got!r}, expected one of "
            f"{', '.join(sorted(known))}. Choose one of them."
        )


class MarkError(TelemetryError):
    """A mark that cannot be made as it was asked for."""

    code = "mark"
    exit_code = 2

    def __init__(self, what: str, got: str, expected: str) -> None:
        super().__init__(f"no mark was made: {what} got {got}, expected {expected}. Correct it.")


class MarkNotShownError(TelemetryError):
    """A mark that is kept in the records and did not reach Grafana."""

    code = "mark_not_shown"

    def __init__(self, problem: str, fix: str, again: str) -> None:
        super().__init__(
            f"the mark is kept in the records and is not in Grafana: got {problem}, expected a "
            f"new annotation. {fix} Then run it again with --at {again}, which the records keep "
            "once."
        )


class CompareInputError(TelemetryError):
    """What a comparison was asked for makes no sense, or is not there."""

    code = "compare_input"
    exit_code = 2

    def __init__(self, option: str, got: object, expected: str, fix: str) -> None:
        super().__init__(f"{option}: got {got!r}, expected {expected}. {fix}")


class NoChangeError(TelemetryError):
    """The build never changed, so there is nothing around which to compare."""

    code = "no_change"
    exit_code = 2

    def __init__(self, build: str, since: str) -> None:
        super().__init__(
            f"no change found: got one build ({build}) since {since}, expected two. "
            "Name the sides, for example --before 2d..1d --after 1d.., or mark what changed "
            "(`loopscope mark`) and name the records that keep it with --records."
        )


class NothingComparedError(TelemetryError):
    """The data of a comparison cannot be read: 4, since 1 would mean worse."""

    code = "nothing_compared"
    exit_code = 4

    def __init__(self, reason: str) -> None:
        super().__init__(reason)


class NotAGraphError(TelemetryError):
    """Something other than a compiled graph was to be instrumented."""

    code = "not_a_graph"

    def __init__(self, got: object, fix: str) -> None:
        super().__init__(
            f"cannot instrument: got {type(got).__name__}, expected a compiled graph. {fix}"
        )


class UnknownNodeError(TelemetryError):
    """A key of the role map is no node of the graph."""

    code = "unknown_node"

    def __init__(self, node: str, known: Iterable[str]) -> None:
        super().__init__(
            f"roles: got the node {node!r}, expected one of {', '.join(sorted(known))}. "
            "Name a node of a subgraph as 'outer/inner' and a conditional edge as 'node:router'."
        )


class UnknownRoleError(TelemetryError):
    """A value of the role map is no role."""

    code = "unknown_role"

    def __init__(self, node: str, role: object, known: Iterable[str]) -> None:
        super().__init__(
            f"roles: got {role!r} for {node!r}, expected one of {', '.join(known)}. "
            "Leave the node out when none of them fits."
        )
