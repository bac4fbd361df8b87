"""The series of a finished turn: every child is made beforehand, so each starts at 0.

A child's `inc` costs about a microsecond, finding it by its label values several times that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from prometheus_client import Counter, Gauge, Histogram

from telemetry import names
from telemetry.families import MetricSet
from telemetry.revising import loop_end
from telemetry.turn import Retrieval, Turn

Exemplar = dict[str, str] | None
"""Trace and span id of a sampled turn, None for any other."""


class TurnMetrics:
    """Counts the finished turns of one graph.

    Args:
        families: The registry's metric set.
        graph: Value of the label `graph`.
        version: Value of the label `version`.
        roles: Roles that nodes of the graph have. A graph that grades has no scores of `none`:
            a chunk whose grading never came is not in `rag_chunk_score`.
        max_rewrites: The bound, where it is known; similarities of attempts beyond it have no
            series until one comes.
    """

    def __init__(
        self,
        families: MetricSet,
        *,
        graph: str,
        version: str,
        roles: Collection[str],
        max_rewrites: int | None = None,
    ) -> None:
        self.families = families
        self._graph = graph
        self._version = version
        self._limits: dict[str, int] = {}
        """Gauges of what is allowed, which another graph of this name may have set since."""
        self._gauges: dict[str, Gauge] = {}
        versioned = (graph, version)
        counters, histograms, gauges = families.counters, families.histograms, families.gauges
        revise = (graph, names.REVISE) if names.CRITIQUE in roles else None
        ends = (*names.TURN_ENDS, *(names.REVISE_ENDS if revise else ()))
        self._turns = self._children(names.TURNS, versioned, ends)
        self._topic_checks = self._children(
            names.TOPIC_CHECKS, (graph,), _pairs(names.CLASSIFICATIONS, names.CONFIDENCES)
        )
        self._retrievals = self._children(
            names.RETRIEVALS, versioned, _pairs(names.RETRIEVAL_RESULTS, names.ATTEMPTS)
        )
        self._grades = self._children(
            names.GRADES_GIVEN, versioned, _pairs(names.GRADES, names.ATTEMPTS)
        )
        self._rewrites = self._children(
            names.REWRITES, versioned, _pairs(names.EFFECTS, names.REWRITE_ATTEMPTS)
        )
        judges = tuple(role for role in names.JUDGING_ROLES if role in roles)
        self._failures = self._children(
            names.JUDGEMENT_FAILURES, (graph,), _pairs(judges, names.FAILURE_REASONS)
        )
        self._loop_ends = self._children(names.LOOP_ENDS_TOTAL, revise, _each(names.LOOP_ENDS))
        self._revisions = self._children(names.REVISIONS, revise, _each(names.REVISION_EFFECTS))
        self._answered_after_drift = counters[names.ANSWERED_AFTER_DRIFT].labels(graph)
        self._recursion_errors = counters[names.RECURSION_ERRORS].labels(graph)
        self._conflicts = counters[names.TERMINAL_CONFLICTS].labels(graph)
        self._similarities: dict[str, Histogram] = {}
        for attempt in _reachable(max_rewrites):
            self._similarity(attempt)
        self._scores = {
            grade: histograms[names.CHUNK_SCORE].labels(*versioned, grade)
            for grade in (names.GRADES if names.GRADE in roles else (names.NONE,))
        }
        self._per_turn = {
            group: tuple(
                histograms[name].labels(graph, group)
                for name in (
                    names.TURN_DURATION,
                    names.REWRITES_PER_TURN,
                    names.LLM_CALLS_PER_TURN,
                )
            )
            for group in names.OUTCOME_GROUPS
        }
        self._open = gauges[names.OPEN_TURNS].labels(graph)
        self._synthetic = counters[names.PROBE_TURNS].labels(graph)

    def opened(self) -> None:
        """Note that a turn began."""
        self._open.inc()

    def closed_apart(self) -> None:
        """Count a finished turn that was none of a user, and nothing of what happened in it."""
        self._synthetic.inc()

    def closed(self, turn: Turn, *, drifted: bool = False, exemplar: Exemplar = None) -> None:
        """Count a finished turn, itself first, then what happened in it."""
        retrieved = names.YES if turn.retrievals else names.NO
        self._turn(turn.outcome, retrieved, turn.last_grade).inc(1, exemplar)
        self._open.dec()
        group = turn.outcome if turn.outcome in self._per_turn else names.OTHER
        duration, rewrites, calls = self._per_turn[group]
        duration.observe(turn.duration_seconds, exemplar)
        rewrites.observe(turn.rewrites)
        calls.observe(turn.llm_calls)
        self._count_verdicts(turn)
        if turn.outcome == names.RECURSION_LIMIT:
            self._recursion_errors.inc(1, exemplar)
        if drifted and turn.outcome == names.ANSWERED:
            self._answered_after_drift.inc(1, exemplar)
        if turn.is_conflict:
            self._conflicts.inc(1, exemplar)
        for retrieval in turn.retrievals:
            self._count_retrieval(retrieval, exemplar)
        if turn.drafts and self._loop_ends:
            self._count_loop(turn, exemplar)
        if turn.recursion_limit is not None:
            self._limits[names.RECURSION_LIMIT_GAUGE] = turn.recursion_limit
        self._show_limits()

    def loop_bound(self, budget: int, steps_needed: int | None) -> None:
        """Set the gauges of the rewrites allowed a turn and of the supersteps they need."""
        self._limits[names.REWRITE_BUDGET] = budget
        if steps_needed is not None:
            self._limits[names.RECURSION_STEPS_NEEDED] = steps_needed
        self._show_limits()
        for attempt in _reachable(budget):
            self._similarity(attempt)

    def _show_limits(self) -> None:
        for name, limit in tuple(self._limits.items()):
            gauge = self._gauges.get(name)
            if gauge is None:
                gauge = self._gauges[name] = self.families.gauges[name].labels(self._graph)
            gauge.set(limit)

    def build_info(self, labels: Mapping[str, str]) -> None:
        """State what is running: values of `index`, `prompt`, `grader` and `model`."""
        self.families.gauges[names.BUILD_INFO].labels(
            graph=self._graph, version=self._version, **labels
        ).set(1)

    def _count_verdicts(self, turn: Turn) -> None:
        check = self._topic_checks.get((turn.classification or "", turn.confidence or ""))
        if check is not None:
            check.inc()
        for failure in turn.judgement_failures:
            role, reason = known = _known_failure(failure)
            child = self._failures.get(known)
            if child is None:
                child = self._failures[known] = self.families.counters[
                    names.JUDGEMENT_FAILURES
                ].labels(self._graph, role, reason)
            child.inc()

    def _count_retrieval(self, retrieval: Retrieval, exemplar: Exemplar) -> None:
        attempt = names.ATTEMPTS[min(retrieval.attempt, 3)]
        if retrieval.failed:
            self._retrievals[names.ERROR, attempt].inc()
            return
        result = names.HIT if retrieval.chunk_ids else names.EMPTY
        self._retrievals[result, attempt].inc()
        if retrieval.attempt > 0 and retrieval.effect is not None:
            is_swap = retrieval.effect == names.SAME_CHUNKS_AND_SCORES
            self._rewrites[retrieval.effect, attempt].inc(1, exemplar if is_swap else None)
        if retrieval.attempt > 0 and retrieval.similarity is not None:
            self._similarity(attempt).observe(retrieval.similarity)
        for verdict, grade in ((True, names.PASS), (False, names.FAIL)):
            if count := retrieval.grades.count(verdict):
                self._grades[grade, attempt].inc(count)
        grades = retrieval.grades or (None,) * len(retrieval.scores)
        for score, passed in zip(retrieval.scores, grades, strict=False):
            grade = names.NONE if passed is None else names.PASS if passed else names.FAIL
            if score is not None and grade in self._scores:
                self._scores[grade].observe(score)

    def _count_loop(self, turn: Turn, exemplar: Exemplar) -> None:
        end = loop_end(turn)
        if end is not None:
            self._loop_ends[(end,)].inc(1, exemplar if end == names.AT_CAP else None)
        for effect in (round_.effect for round_ in turn.rounds):
            if effect is not None:
                self._revisions[(effect,)].inc(1, exemplar if effect != names.SCORE_ROSE else None)

    def _turn(self, *end: str) -> Counter:
        """Return the series of an end; one that no sound graph reaches is made when it comes."""
        child = self._turns.get(end)
        if child is None:
            child = self._turns[end] = self.families.counters[names.TURNS].labels(
                self._graph, self._version, *end
            )
        return child

    def _similarity(self, attempt: str) -> Histogram:
        """Return the histogram of an attempt; one beyond the bound is made when it comes."""
        child = self._similarities.get(attempt)
        if child is None:
            family = self.families.histograms[names.REWRITE_SIMILARITY]
            child = self._similarities[attempt] = family.labels(self._graph, attempt)
        return child

    def _children(
        self, name: str, fixed: tuple[str, ...] | None, ends: tuple[tuple[str, ...], ...]
    ) -> dict[tuple[str, ...], Counter]:
        """Return the series of all ends, each at 0; none for a graph without what they count."""
        if fixed is None:
            return {}
        family = self.families.counters[name]
        return {end: family.labels(*fixed, *end) for end in ends}


def _reachable(max_rewrites: int | None) -> tuple[str, ...]:
    """Return the attempts of rewrites within a bound; all when it is not known.

    A histogram has twelve series for each, and no alert waits for one that was 0 before.
    """
    is_known = max_rewrites is not None and max_rewrites < len(names.REWRITE_ATTEMPTS)
    return names.REWRITE_ATTEMPTS[:-1] if is_known else names.REWRITE_ATTEMPTS


def _known_failure(failure: tuple[str, str]) -> tuple[str, str]:
    """Return a (role, reason) of the closed sets: a graph may write anything into its state."""
    role, reason = failure
    return (
        role if role in names.ROLES else names.OTHER,
        reason if reason in names.FAILURE_REASONS else names.OTHER,
    )


def _each(values: tuple[str, ...]) -> tuple[tuple[str], ...]:
    return tuple((value,) for value in values)


def _pairs(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((one, two) for one in first for two in second)
