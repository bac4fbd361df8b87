"""Made-up traffic of a service, minute by minute: what promtool feeds to the rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from dashboards.signals import WITHOUT_GRAPH
from telemetry import names

Rates = Mapping[str, float]
"""Sample, as the service exposes it -> what its counter gains in a minute."""

GRAPH: Final = "support_agent"


def sample(metric: str, **labels: str) -> str:
    """Return a sample's name with its labels, those of the graph included where it has them."""
    if metric.startswith("rag_") and metric not in WITHOUT_GRAPH:
        labels = {names.LABEL_GRAPH: GRAPH, **labels}
    return f"{metric}{{{label_text(labels)}}}"


def label_text(labels: Mapping[str, str]) -> str:
    """Return labels as they stand between braces."""
    return ",".join(f'{key}="{value}"' for key, value in labels.items())


def turns(outcome: str, retrieved: str, last_grade: str) -> str:
    """Return the sample of turns that ended so."""
    return sample(names.TURNS, outcome=outcome, retrieved=retrieved, last_grade=last_grade)


ANSWERED: Final = turns(names.ANSWERED, names.YES, names.PASS)
NO_RESULTS: Final = turns(names.NO_RESULTS, names.YES, names.FAIL)
OFF_TOPIC: Final = turns(names.OFF_TOPIC, names.NO, names.NONE)
REFUSED_LATE: Final = turns(names.OFF_TOPIC, names.YES, names.NONE)
FAILED: Final = turns(names.ERROR, names.YES, names.NONE)
LOOPED: Final = turns(names.RECURSION_LIMIT, names.YES, names.FAIL)
DISCARDED: Final = turns(names.NO_RESULTS, names.YES, names.PASS)
UNFOUNDED: Final = turns(names.ANSWERED, names.YES, names.FAIL)

RECURSION_ERRORS: Final = sample(names.RECURSION_ERRORS)
DRIFTED_ANSWERS: Final = sample(names.ANSWERED_AFTER_DRIFT)
TWO_ENDS: Final = sample(names.TERMINAL_CONFLICTS)
EMPTY: Final = sample(names.RETRIEVALS, result=names.EMPTY, attempt="0")
HIT: Final = sample(names.RETRIEVALS, result=names.HIT, attempt="0")
SEARCH_ERROR: Final = sample(names.RETRIEVALS, result=names.ERROR, attempt="0")
PASSED: Final = sample(names.GRADES_GIVEN, grade=names.PASS, attempt="0")
GRADED_OUT: Final = sample(names.GRADES_GIVEN, grade=names.FAIL, attempt="0")
SCORES: Final = sample(f"{names.CHUNK_SCORE}_count", grade=names.FAIL)
WEAK: Final = sample(f"{names.CHUNK_SCORE}_bucket", grade=names.FAIL, le="0.05")
SWAP: Final = sample(names.REWRITES, effect=names.SAME_CHUNKS_AND_SCORES, attempt="1")
NEW_CHUNKS: Final = sample(names.REWRITES, effect=names.NEW_CHUNKS, attempt="1")
NOTHING_MATCHED: Final = sample(names.REWRITES, effect=names.NOTHING_MATCHED, attempt="1")
LATER: Final = sample(f"{names.REWRITE_SIMILARITY}_count", attempt="2")
DRIFTED: Final = sample(f"{names.REWRITE_SIMILARITY}_bucket", attempt="2", le="0.5")
LOOP_PASSED: Final = sample(names.LOOP_ENDS_TOTAL, loop=names.REVISE, end=names.PASSED)
LOOP_AT_CAP: Final = sample(names.LOOP_ENDS_TOTAL, loop=names.REVISE, end=names.AT_CAP)
LOOP_STOPPED: Final = sample(names.LOOP_ENDS_TOTAL, loop=names.REVISE, end=names.STOPPED)
ROSE: Final = sample(names.REVISIONS, loop=names.REVISE, effect=names.SCORE_ROSE)
NOT_RISEN: Final = sample(names.REVISIONS, loop=names.REVISE, effect=names.SCORE_NOT_RISEN)
STALE: Final = sample(names.REVISIONS, loop=names.REVISE, effect=names.STALE_CRITIQUE)
CALLS: Final = sample(f"{names.OPERATION_DURATION}_count", error_type="")
FAILED_CALLS: Final = sample(f"{names.OPERATION_DURATION}_count", error_type="_OTHER")
JUDGED: Final = sample(names.LLM_CALLS, role=names.GRADE, model="m")
UNPARSED: Final = sample(names.JUDGEMENT_FAILURES, role=names.GRADE, reason="unparsed")
TIMED_OUT: Final = sample(names.JUDGEMENT_FAILURES, role=names.GRADE, reason="timeout")
DURATIONS: Final = sample(f"{names.TURN_DURATION}_count", outcome=names.ANSWERED)
IN_TIME: Final = sample(f"{names.TURN_DURATION}_bucket", outcome=names.ANSWERED, le="20.0")
DROPPED: Final = sample(names.TELEMETRY_DROPPED, signal="spans")
BROKEN: Final = sample(names.TELEMETRY_ERRORS, where="reader")

HEALTHY: Final[Rates] = {
    ANSWERED: 8, NO_RESULTS: 0.75, OFF_TOPIC: 1, FAILED: 0.25,
    REFUSED_LATE: 0, LOOPED: 0, DISCARDED: 0, UNFOUNDED: 0,
    RECURSION_ERRORS: 0, TWO_ENDS: 0, DRIFTED_ANSWERS: 0.03125,
    HIT: 8.75, EMPTY: 0.25, SEARCH_ERROR: 0.125,
    PASSED: 7.25, GRADED_OUT: 10.5, SCORES: 18, WEAK: 2,
    SWAP: 0.25, NEW_CHUNKS: 2.5, NOTHING_MATCHED: 0.25, LATER: 1, DRIFTED: 0.0625,
    LOOP_PASSED: 7.5, LOOP_AT_CAP: 0.5, LOOP_STOPPED: 0.125,
    ROSE: 1.5, NOT_RISEN: 0.5, STALE: 0,
    CALLS: 45, FAILED_CALLS: 0.25, JUDGED: 24, UNPARSED: 0.125, TIMED_OUT: 0.125,
    DURATIONS: 10, IN_TIME: 9.75, DROPPED: 0, BROKEN: 0,
}  # fmt: skip
"""Ten turns a minute, and every alert silent. Every rate is a sum of powers of two: promtool adds
step by step, and a rounding error between two phases would look like a restart."""

RECURSION_LIMIT: Final = sample(names.RECURSION_LIMIT_GAUGE)
STEPS_NEEDED: Final = sample(names.RECURSION_STEPS_NEEDED)


NOT_OURS: Final = sample("probe_success", target="x")
"""A series of somebody else, for a test in which none of ours exist."""


def build(**changed: str) -> str:
    """Return the sample that says what is running."""
    usual = {"version": "1", "index": "a", "prompt": "a", "grader": "a", "model": "m"}
    return sample(names.BUILD_INFO, **{**usual, **changed})


LAST_ROUND: Final = sample(names.PROBE_LAST_ROUND)


def in_a_row(question_id: str) -> str:
    """Return the sample of the rounds in a row in which a known question came out wrong."""
    return sample(names.PROBE_UNEXPECTED, question_id=question_id)


GAUGES: Final[Rates] = {
    RECURSION_LIMIT: 12, STEPS_NEEDED: 11, build(): 1, in_a_row("1"): 0, in_a_row("2"): 0,
    LAST_ROUND: 1,
}  # fmt: skip
"""Gauge -> value."""


def changed(changes: Rates, rates: Rates = HEALTHY) -> dict[str, float]:
    """Return rates with some of them replaced."""
    return {**rates, **changes}


def times(factor: float, rates: Rates = HEALTHY) -> dict[str, float]:
    """Return rates multiplied by a factor, which must be a power of two or whole."""
    return {key: rate * factor for key, rate in rates.items()}


IDLE: Final[Rates] = times(0)
"""The service runs and nobody asks anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A stretch in which every counter grows evenly."""

    minutes: int
    rates: Rates = field(default_factory=lambda: HEALTHY)
    gauges: Rates = field(default_factory=lambda: GAUGES)
    restarts: bool = False
    """Every counter starts again at 0."""
    is_scraped: bool = True
    """False: samples are missing, the service goes on."""
    is_gone: bool = False
    """The target is down or removed: Prometheus marks its series as stale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One process of a service and its life."""

    phases: tuple[Phase, ...]
    name: str = "a"
    job: str = "support"
    labels: tuple[tuple[str, str], ...] = ()
    age_minutes: int = 0
    """How long it ran, as in its first phase, before the first sample."""

    def series(self, step_minutes: int, more_labels: Mapping[str, str]) -> dict[str, str]:
        """Return series -> its values in promtool's notation, one each `step_minutes`.

        Args:
            step_minutes: Divides the minutes of every phase.
            more_labels: Target labels beside job and instance.
        """
        keys = dict.fromkeys(key for phase in self.phases for key in (*phase.rates, *phase.gauges))
        target = {"job": self.job, "instance": self.name}
        labels = label_text({**target, **more_labels, **dict(self.labels)})
        split = {key: key[:-1].partition("{") for key in keys}
        return {
            f"{name}{{{','.join(filter(None, (own, labels)))}}}": " ".join(
                _values(self, key, step_minutes)
            )
            for key, (name, _, own) in split.items()
        }


def _values(replica: Replica, key: str, step: int) -> list[str]:
    """Write one series phase by phase; a phase without the key has no samples of it."""
    value = replica.phases[0].rates.get(key, 0.0) * replica.age_minutes
    written, was_there = [], True
    for index, phase in enumerate(replica.phases):
        samples = phase.minutes // step + (index == 0)
        rate = phase.rates.get(key, 0.0) * step
        if phase.restarts:
            value = 0.0
        first = value if index == 0 or phase.restarts else value + rate
        value = first + rate * (samples - 1)
        if key not in phase.rates and key not in phase.gauges:
            written.append(_missing(samples, is_stale=was_there and index > 0))
            was_there, value = False, 0.0
            continue
        if phase.is_gone or not phase.is_scraped:
            written.append(_missing(samples, is_stale=phase.is_gone))
            was_there = False
            continue
        was_there = True
        if key in phase.gauges:
            written.append(f"{_short(phase.gauges[key])}+0x{samples - 1}")
        else:
            written.append(f"{_short(first)}+{_short(rate)}x{samples - 1}")
    return written


def _missing(samples: int, *, is_stale: bool) -> str:
    if not is_stale:
        return f"_x{samples}"
    return "stale" if samples == 1 else f"stale _x{samples - 1}"


def _short(value: float) -> str:
    return f"{value:.12f}".rstrip("0").rstrip(".")
