"""Telemetry for any LangGraph graph: a correct trace, a row of accounting, a verdict a turn.

The names are imported when they are first used: whoever needs `telemetry.names` alone, as the
dashboards do, does not load LangGraph.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from telemetry.facts import Chunks, Grades, Readers, Statement, Verdict
    from telemetry.instrumentation import instrument, uninstrument
    from telemetry.readers import DEFAULT_READERS

__all__ = [
    "DEFAULT_READERS",
    "Chunks",
    "Grades",
    "Readers",
    "Statement",
    "Verdict",
    "instrument",
    "uninstrument",
]

_HOMES = {
    "DEFAULT_READERS": "telemetry.readers",
    "Chunks": "telemetry.facts",
    "Grades": "telemetry.facts",
    "Readers": "telemetry.facts",
    "Statement": "telemetry.facts",
    "Verdict": "telemetry.facts",
    "instrument": "telemetry.instrumentation",
    "uninstrument": "telemetry.instrumentation",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
