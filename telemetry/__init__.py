"""Telemetry for any LangGraph graph: a correct trace, a row of accounting, a verdict a turn.

The names are imported when they are first used: whoever needs `telemetry.names` alone, as the
dashboards do, does not load LangGraph.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from telemetry.content import ContentGate
    from telemetry.drift import DriftModel
    from telemetry.endpoints import ExportOptions
    from telemetry.export import setup_export
    from telemetry.exposition import metrics_app, start_metrics_server, worker_died
    from telemetry.facts import Chunks, Critique, Grades, Readers, Statement, Verdict
    from telemetry.families import metric_set
    from telemetry.instrumentation import instrument, uninstrument
    from telemetry.logs import add_trace_context
    from telemetry.readers import DEFAULT_READERS
    from telemetry.records import RecordSink, open_reader
    from telemetry.synthetic import synthetic_turns

__all__ = [
    "DEFAULT_READERS",
    "Chunks",
    "ContentGate",
    "Critique",
    "DriftModel",
    "ExportOptions",
    "Grades",
    "Readers",
    "RecordSink",
    "Statement",
    "Verdict",
    "add_trace_context",
    "instrument",
    "metric_set",
    "metrics_app",
    "open_reader",
    "setup_export",
    "start_metrics_server",
    "synthetic_turns",
    "uninstrument",
    "worker_died",
]

_HOMES = {
    "Chunks": "telemetry.facts",
    "ContentGate": "telemetry.content",
    "Critique": "telemetry.facts",
    "DEFAULT_READERS": "telemetry.readers",
    "DriftModel": "telemetry.drift",
    "ExportOptions": "telemetry.endpoints",
    "Grades": "telemetry.facts",
    "Readers": "telemetry.facts",
    "RecordSink": "telemetry.records",
    "Statement": "telemetry.facts",
    "Verdict": "telemetry.facts",
    "add_trace_context": "telemetry.logs",
    "instrument": "telemetry.instrumentation",
    "metric_set": "telemetry.families",
    "metrics_app": "telemetry.exposition",
    "open_reader": "telemetry.records",
    "setup_export": "telemetry.export",
    "start_metrics_server": "telemetry.exposition",
    "synthetic_turns": "telemetry.synthetic",
    "uninstrument": "telemetry.instrumentation",
    "worker_died": "telemetry.exposition",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
