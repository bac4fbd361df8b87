"""The known loop failures, each a pure function of one finished turn: no clock, no metric, no text.

Every detector returns the finding or None; `telemetry.checks` has them all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Final, Protocol

from telemetry import names
from telemetry.turn import Turn

LOCAL_TOLERANCE: Final = 1e-9
"""Scores of a local retriever no further apart than this are the same. Source: the contract."""
REMOTE_TOLERANCE: Final = 1e-6
"""The same for a remote retriever, relative to the larger score. Source: the contract."""
DRIFT_THRESHOLD: Final = 0.5
"""A rewrite less similar than this to its question has drifted; an edge of the histogram's
buckets. Source: tests/data/rewrites_train.yaml, see benchmarks/drift.py."""
MANY_RETRIEVALS: Final = 8
"""Retrievals that are a runaway loop where no bound is known. Source: what the published unbounded
graph makes before a recursion limit of 25 stops it."""

SILENT_REJECTION: Final = "silent_rejection"
RUNAWAY_LOOP: Final = "runaway_loop"
BUDGET_CHECKED_FIRST: Final = "budget_checked_first"
TWO_ENDS: Final = "two_ends"
SYNONYM_SWAP: Final = "synonym_swap"
REWRITE_DRIFT: Final = "rewrite_drift"

Fact = str | int | float | bool | None
_NO_FACTS: Final[Mapping[str, Fact]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One known failure that a turn shows."""

    detector: str
    """The failure's slug, the same as in the diagnosis guide."""
    evidence: str
    """What was seen, in words without any text of the turn."""
    attempt: int | None = None
    """The rewrite it is about, 1 for the first; None when it is about the whole turn."""
    facts: Mapping[str, Fact] = field(default_factory=lambda: _NO_FACTS)


class Retrieved(Protocol):
    """What tells two retrievals apart; a `telemetry.turn.Retrieval` has it."""

    @property
    def failed(self) -> bool:
        """Nothing came back."""

    @property
    def chunk_ids(self) -> tuple[str, ...]:
        """In rank order."""

    @property
    def scores(self) -> tuple[float | None, ...]:
        """Same length and order; None where the retriever gave none."""

    @property
    def is_remote(self) -> bool:
        """The scores came over a network."""


class Attempted(Retrieved, Protocol):
    """A retrieval that knows after which rewrite it came."""

    @property
    def attempt(self) -> int:
        """Rewrites made before it."""

    @property
    def step(self) -> int:
        """Superstep in which it ran."""

    @property
    def grades(self) -> Sized:
        """Verdicts on its chunks; empty before there are any."""


def rewrite_effect(before: Retrieved, after: Retrieved) -> str | None:
    """Return what a rewrite did to the retrieval, one of `names.EFFECTS`.

    Empty against empty, or scores that are all 0 both times, is `nothing_matched`: it points at a
    gap in the documents, not at the rewriter. Chunks in the same order whose scores are unknown
    are `same_chunks`: without scores a swap cannot be proved.

    Args:
        before: The retrieval before the rewrite.
        after: The one that followed it.

    Returns:
        None when one of the two failed, so that nothing can be said.
    """
    if before.failed or after.failed:
        return None
    if _matched_nothing(before) and _matched_nothing(after):
        return names.NOTHING_MATCHED
    if before.chunk_ids != after.chunk_ids:
        return names.NEW_CHUNKS
    is_remote = before.is_remote or after.is_remote
    if _same_scores(before.scores, after.scores, is_remote=is_remote):
        return names.SAME_CHUNKS_AND_SCORES
    return names.SAME_CHUNKS


def attempt_effects(retrievals: Iterable[Attempted]) -> dict[int, str]:
    """Return what each rewrite of a turn did: attempt, 1 for the first rewrite -> effect.

    An attempt is compared with the latest one before it that brought anything back. Where either
    had several retrievals, as a fan-out has, what they found together is compared: their chunks
    as a set and the scores of each, in no order, since nobody ranked them against each other.
    """
    attempts: dict[int, list[Attempted]] = {}
    for retrieval in retrievals:
        earlier = attempts.setdefault(retrieval.attempt, [])
        if not retrieval.failed and not is_second_look(earlier, retrieval):
            earlier.append(retrieval)
    attempts = {attempt: found for attempt, found in attempts.items() if found}
    effects: dict[int, str] = {}
    for before, after in pairwise(sorted(attempts)):
        effect = attempt_effect(attempts[before], attempts[after])
        if effect is not None:
            effects[after] = effect
    return effects


def is_second_look(earlier: Iterable[Attempted], retrieval: Attempted) -> bool:
    """Whether a retrieval came after the others of its attempt had been graded.

    A second source is asked so: what it finds says nothing of the rewrite before.
    """
    return any(len(r.grades) and r.step != retrieval.step for r in earlier)


def attempt_effect(before: Sequence[Retrieved], after: Sequence[Retrieved]) -> str | None:
    """Return what a rewrite did to the retrievals of an attempt, as `attempt_effects` compares.

    Args:
        before: What came back of the attempt before the rewrite, in any order; not empty.
        after: What came back of the one that followed it.
    """
    if len(before) == len(after) == 1:
        return rewrite_effect(before[0], after[0])
    if all(map(_matched_nothing, (*before, *after))):
        return names.NOTHING_MATCHED
    pairs_before, pairs_after = _pairs(before), _pairs(after)
    if {id_ for id_, _ in pairs_before} != {id_ for id_, _ in pairs_after}:
        return names.NEW_CHUNKS
    is_remote = any(retrieval.is_remote for retrieval in (*before, *after))
    is_swap = [id_ for id_, _ in pairs_before] == [id_ for id_, _ in pairs_after] and _same_scores(
        tuple([score for _, score in pairs_before]),
        tuple([score for _, score in pairs_after]),
        is_remote=is_remote,
    )
    return names.SAME_CHUNKS_AND_SCORES if is_swap else names.SAME_CHUNKS


def _pairs(retrievals: Sequence[Retrieved]) -> list[tuple[str, float | None]]:
    """Return each (chunk id, score) that several retrievals found, once and sorted."""
    pairs = {pair for r in retrievals for pair in zip(r.chunk_ids, r.scores, strict=False)}
    return sorted(pairs, key=lambda pair: (pair[0], -math.inf if pair[1] is None else pair[1]))


def _matched_nothing(retrieval: Retrieved) -> bool:
    scores = retrieval.scores
    return not retrieval.chunk_ids or (
        bool(scores) and not any(scores) and None not in scores  # all of them are 0
    )


def _same_scores(
    before: tuple[float | None, ...], after: tuple[float | None, ...], *, is_remote: bool
) -> bool:
    absolute, relative = (0.0, REMOTE_TOLERANCE) if is_remote else (LOCAL_TOLERANCE, 0.0)
    return len(before) == len(after) > 0 and all(
        a is not None and b is not None and math.isclose(a, b, abs_tol=absolute, rel_tol=relative)
        for a, b in zip(before, after, strict=True)
    )


def silent_rejection(turn: Turn) -> Finding | None:
    """Find the evidence of a silent rejection: refused as off topic, and nothing was searched.

    Whether the refusal was wrong no counter can tell; LOW confidence makes it worth a look.
    """
    if turn.outcome != names.OFF_TOPIC or turn.retrievals:
        return None
    confidence = turn.confidence or "unknown"
    return Finding(
        detector=SILENT_REJECTION,
        evidence=f"refused as off topic with {confidence} confidence, nothing retrieved",
        facts={"confidence": turn.confidence, "is_doubtful": turn.confidence == "low"},
    )


def runaway_loop(turn: Turn) -> Finding | None:
    """Find a loop that its bound did not stop.

    That is a turn that the recursion limit ended, one with more rewrites than its bound, or, where
    no bound is known, one with `MANY_RETRIEVALS` retrievals.
    """
    if turn.outcome == names.RECURSION_LIMIT:
        evidence = f"the recursion limit ended the turn after {turn.rewrites} rewrites"
    elif turn.max_rewrites is not None and turn.rewrites > turn.max_rewrites:
        evidence = f"{turn.rewrites} rewrites, {turn.max_rewrites} allowed"
    elif turn.max_rewrites is None and len(turn.retrievals) >= MANY_RETRIEVALS:
        evidence = f"{len(turn.retrievals)} retrievals in one turn, and no bound is known"
    else:
        return None
    facts: dict[str, Fact] = {
        "rewrites": turn.rewrites,
        "retrievals": len(turn.retrievals),
        "max_rewrites": turn.max_rewrites,
        "recursion_limit": turn.recursion_limit,
    }
    return Finding(detector=RUNAWAY_LOOP, evidence=evidence, facts=facts)


def budget_checked_first(turn: Turn) -> Finding | None:
    """Find a no-results reply although the last grading passed a chunk."""
    if turn.outcome != names.NO_RESULTS or turn.last_grade != names.PASS:
        return None
    passed = sum(grade is True for r in turn.last_graded for grade in r.grades)
    return Finding(
        detector=BUDGET_CHECKED_FIRST,
        evidence=f"no-results reply after {turn.rewrites} rewrites, although the last grading "
        "passed a chunk",
        facts={"rewrites": turn.rewrites, "passed_chunks": passed},
    )


def two_ends(turn: Turn) -> Finding | None:
    """Find a turn in which nodes of two terminal roles ran."""
    if not turn.is_conflict:
        return None
    return Finding(
        detector=TWO_ENDS,
        evidence=f"nodes of these roles ended one turn: {', '.join(turn.terminal_roles)}",
        facts={"ends": len(turn.terminal_roles)},
    )


def synonym_swap(turn: Turn) -> Finding | None:
    """Find rewrites that retrieved the same chunks in the same order with the same scores.

    Of attempts with several retrievals the order does not count, see `attempt_effects`.
    """
    effects = attempt_effects(turn.retrievals) if len(turn.retrievals) > 1 else {}
    swapped = [n for n, effect in effects.items() if effect == names.SAME_CHUNKS_AND_SCORES]
    if not swapped:
        return None
    return Finding(
        detector=SYNONYM_SWAP,
        evidence=f"{len(swapped)} of {turn.rewrites} rewrites retrieved the same chunks at the "
        "same scores",
        attempt=swapped[0],
        facts={"swaps": len(swapped), "rewrites": turn.rewrites},
    )


def rewrite_drift(turn: Turn) -> Finding | None:
    """Find a turn whose rewrites no longer ask its question.

    The rewrite that is least like the question decides. Where no similarity was measured nothing
    is found.
    """
    measured = [r for r in turn.retrievals if r.attempt >= 1 and r.similarity is not None]
    if not measured:
        return None
    worst = min(measured, key=lambda r: r.similarity if r.similarity is not None else 1.0)
    if worst.similarity is None or worst.similarity >= DRIFT_THRESHOLD:
        return None
    return Finding(
        detector=REWRITE_DRIFT,
        evidence=f"rewrite {worst.attempt} is {worst.similarity:.2f} like the question, "
        f"below {DRIFT_THRESHOLD}",
        attempt=worst.attempt,
        facts={"similarity": worst.similarity},
    )
