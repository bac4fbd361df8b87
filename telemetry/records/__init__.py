"""Turn records: one row of accounting a turn, written off the request path and easy to read."""

from telemetry.records.marks import Mark
from telemetry.records.reader import Group, Page, RecordReader, open_reader
from telemetry.records.record import Attempt, Labels, TurnRecord
from telemetry.records.selection import Selection
from telemetry.records.sink import RecordSink, Retention

__all__ = [
    "Attempt",
    "Group",
    "Labels",
    "Mark",
    "Page",
    "RecordReader",
    "RecordSink",
    "Retention",
    "Selection",
    "TurnRecord",
    "open_reader",
]
