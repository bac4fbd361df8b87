"""Colors by what they mean, the same on every board; Grafana's own names, which fit both themes."""

from __future__ import annotations

from typing import Final

from telemetry import names

GOOD: Final = "green"
WATCH: Final = "yellow"
TICKET: Final = "orange"
BAD: Final = "red"
QUIET: Final = "semi-dark-purple"
"""Limits and usual values that are neither a ticket's nor a page's."""
PLAIN: Final = "blue"
FAINT: Final = "light-blue"

OUTCOMES: Final = {
    names.ANSWERED: "green",
    names.NO_RESULTS: "orange",
    names.OFF_TOPIC: "blue",
    names.CLARIFY: "purple",
    names.GAVE_UP: "yellow",
    names.RECURSION_LIMIT: "dark-red",
    names.ERROR: "red",
    names.CANCELLED: "super-light-blue",
    names.INTERRUPTED: "light-purple",
    names.OTHER: "blue",
}
STATES: Final = {
    0: ("ok", GOOD),
    1: ("pending", WATCH),
    2: ("ticket", TICKET),
    3: ("page", BAD),
}
"""Number that our state queries return -> text and color."""
EFFECTS: Final = {
    names.NEW_CHUNKS: "green",
    names.SAME_CHUNKS: "yellow",
    names.SAME_CHUNKS_AND_SCORES: "red",
    names.NOTHING_MATCHED: "purple",
}
