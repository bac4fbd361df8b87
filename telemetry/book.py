"""The book of one turn: what its nodes did, kept while it runs, closed into a `Turn` at its end.

It belongs to one run and is found through the run's context, never through a thread id. Nodes of
one superstep write to it from several threads: every entry is one append. It holds small
immutable copies, never a part of the graph's state.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from telemetry import names
from telemetry.detectors import rewrite_effect
from telemetry.facts import Chunks, Ending, Grades, Verdict
from telemetry.turn import Retrieval, Turn

if TYPE_CHECKING:
    from telemetry.probe import Probe

_PRECEDENCE: Final = tuple(names.TERMINAL_OUTCOMES)
"""Of two terminal roles that ran in the same superstep, the later one in this list counts."""


@dataclass(slots=True)
class _Page:
    """A retrieval and what the graders said of it so far."""

    retrieval: Retrieval
    grades: dict[str, bool | None] = field(default_factory=dict)

    def closed(self) -> Retrieval:
        if not self.grades:
            return self.retrieval
        grades = tuple(self.grades.get(id_) for id_ in self.retrieval.chunk_ids)
        return replace(self.retrieval, grades=grades)


@dataclass(slots=True)
class _Rewrite:
    similarity: float | None = None
    is_judged: bool = False


class Book:
    """What is known of a running turn.

    Args:
        probe: The instrumented graph that owns the turn.
    """

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.thread_id: str | None = None
        """LangGraph's thread id, when the caller gave one."""
        self.question: str | None = None
        """As it was asked, then as the graph made it standalone; None when it was not found."""
        self.max_rewrites: int | None = None
        self.recursion_limit: int | None = None
        self.last_node: str | None = None
        self.is_paused = False
        self.llm_calls: list[str] = []
        """Role of the node that made each call."""
        self.tokens: list[tuple[int, int]] = []
        """(input, output) of each call that reported them."""
        self._started_at = time.time()
        self._started = time.perf_counter()
        self._pages: list[_Page] = []
        self._rewrites: list[_Rewrite] = []
        self._terminals: list[tuple[int, str]] = []
        self._verdict: Verdict | None = None
        self._outcome: str | None = None
        self._reason: str | None = None
        self._reply: str | None = None
        self._cited: tuple[str, ...] = ()
        self._failures: list[tuple[str, str]] = []

    @property
    def attempt(self) -> int:
        """Rewrites made so far."""
        return len(self._rewrites)

    @property
    def chunk_ids(self) -> tuple[str, ...]:
        """Ids of the latest retrieval that came back."""
        page = self._latest_page()
        return page.retrieval.chunk_ids if page else ()

    def retrieved(self, chunks: Chunks) -> Retrieval:
        """Note a retrieval, and judge the rewrite before it when it is the first since."""
        attempt = self.attempt
        rewrite = self._rewrites[-1] if attempt else None
        after = Retrieval(
            attempt=attempt,
            query=chunks.query,
            chunk_ids=chunks.ids,
            scores=chunks.scores,
            is_remote=chunks.is_remote,
            similarity=rewrite.similarity if rewrite else None,
        )
        before = self._latest_page()
        if rewrite is not None and not rewrite.is_judged:
            rewrite.is_judged = True
            if before is not None:
                after = replace(after, effect=rewrite_effect(before.retrieval, after))
        self._pages.append(_Page(after))
        return after

    def retrieval_failed(self) -> None:
        """Note a retrieval that raised."""
        self._pages.append(_Page(Retrieval(attempt=self.attempt, failed=True)))

    def graded(self, grades: Grades) -> tuple[bool | None, ...]:
        """Note verdicts on the latest retrieval; return them in the order of its chunks."""
        page = self._latest_page()
        if page is None:
            return ()
        page.grades.update(grades.passed)
        return tuple(page.grades.get(id_) for id_ in page.retrieval.chunk_ids)

    def rewrote(self, query: str | None) -> float | None:
        """Note a rewrite; return how near it is to the question, when that is measured."""
        rewrite = _Rewrite()
        self._rewrites.append(rewrite)
        self._terminals.clear()  # a draft that is searched for again was not the end
        measure = self.probe.similarity
        if measure is not None and query and self.question:
            rewrite.similarity = measure(self.question, query)
        return rewrite.similarity

    def checked(self, verdict: Verdict) -> None:
        """Note the topic verdict."""
        self._verdict = verdict

    def ended_by(self, step: int, role: str) -> None:
        """Note that a node of a terminal role ran."""
        self._terminals.append((step, role))

    def stated(self, ending: Ending) -> None:
        """Note what a node said about the end; a later node overrules it."""
        self._outcome = ending.outcome
        self._reason = ending.reason
        self._reply = ending.reply or self._reply
        self._cited = ending.cited or self._cited

    def failed_judgements(self, failures: list[tuple[str, str]]) -> None:
        """Note the (role, reason) pairs of the turn so far."""
        if len(failures) >= len(self._failures):
            self._failures = failures

    def close(self, end: End) -> Turn:
        """Return the finished turn."""
        retrievals = tuple(page.closed() for page in self._pages)
        turn = Turn(
            graph=self.probe.graph,
            version=self.probe.version,
            outcome=end.outcome or names.ANSWERED,
            reason=end.reason or self._reason,
            classification=self._verdict.classification if self._verdict else None,
            confidence=self._verdict.confidence if self._verdict else None,
            question=self.question,
            reply=self._reply,
            retrievals=retrievals,
            rewrites=len(self._rewrites),
            max_rewrites=self.max_rewrites,
            answered_from=self._cited,
            llm_calls=len(self.llm_calls),
            input_tokens=sum(t[0] for t in self.tokens) if self.tokens else None,
            output_tokens=sum(t[1] for t in self.tokens) if self.tokens else None,
            recursion_limit=self.recursion_limit,
            error_type=end.error_type,
            conversation_id=self.thread_id,
            trace_id=end.trace_id,
            started_at=self._started_at,
            duration_seconds=time.perf_counter() - self._started,
            terminal_roles=tuple(role for _, role in self._terminals),
            judgement_failures=tuple(self._failures),
            last_node=self.last_node,
        )
        return turn if end.outcome else replace(turn, outcome=self._own_outcome(turn))

    def _own_outcome(self, turn: Turn) -> str:
        """Say how a turn ended that nothing stopped.

        What the graph states wins, then the terminal role that ran last. A graph that did neither
        gave up when its last grading passed nothing, and otherwise answered.
        """
        if self._outcome is not None:
            return self._outcome
        if self._terminals:
            last = max(self._terminals, key=lambda t: (t[0], _PRECEDENCE.index(t[1])))
            return names.TERMINAL_OUTCOMES[last[1]]
        return names.GAVE_UP if turn.last_grade == names.FAIL else names.ANSWERED

    def _latest_page(self) -> _Page | None:
        return next((p for p in reversed(self._pages) if not p.retrieval.failed), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """What ended a run, as its wrapper saw it."""

    outcome: str | None = None
    """None when the graph came to its own end."""
    reason: str | None = None
    error_type: str | None = None
    trace_id: str | None = None
