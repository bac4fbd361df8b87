"""The book of one turn: what its nodes did, kept while it runs, closed into a `Turn` at its end.

It belongs to one run and is found through the run's context, never through a thread id. Nodes of
one superstep write to it from several threads: every entry is one append. It holds small
immutable copies, never a part of the graph's state.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from telemetry import names
from telemetry.content import reason_code
from telemetry.detectors import rewrite_effect
from telemetry.facts import Chunks, Grades, Statement, Verdict, finite
from telemetry.turn import Retrieval, Turn

if TYPE_CHECKING:
    from telemetry.probe import Probe

_PRECEDENCE: Final = tuple(names.TERMINAL_OUTCOMES)
"""Of two terminal roles that ran in the same superstep, the later one in this list counts."""


class _Page:
    """A retrieval, and what the graders said of it so far.

    Args:
        attempt: Rewrites made before it.
        step: Superstep in which it ran.
        chunks: What came back; None when it raised.
        similarity: Likeness of the rewrite before it, where that is measured.
    """

    __slots__ = (
        "attempt", "chunk_ids", "effect", "failed", "grades", "is_remote", "query", "scores",
        "similarity", "step",
    )  # fmt: skip

    def __init__(
        self, attempt: int, step: int, chunks: Chunks | None, similarity: float | None
    ) -> None:
        self.attempt = attempt
        self.step = step
        self.failed = chunks is None
        found = chunks or _NO_CHUNKS
        self.query, self.is_remote = found.query, found.is_remote
        self.chunk_ids, self.scores = found.ids, found.scores
        self.similarity = similarity
        self.effect: str | None = None
        self.grades: dict[str, bool | None] = {}

    @property
    def passed(self) -> tuple[bool | None, ...]:
        """The verdicts in the order of the chunks; empty when there are none."""
        return tuple(map(self.grades.get, self.chunk_ids)) if self.grades else ()

    def retrieval(self) -> Retrieval:
        """Return the retrieval as the finished turn shows it."""
        if self.failed:
            return Retrieval(attempt=self.attempt, step=self.step, failed=True)
        return Retrieval(
            attempt=self.attempt,
            step=self.step,
            query=self.query,
            chunk_ids=self.chunk_ids,
            scores=self.scores,
            grades=self.passed,
            is_remote=self.is_remote,
            similarity=self.similarity,
            effect=self.effect,
        )


_NO_CHUNKS: Final = Chunks()


class Book:
    """What is known of a running turn.

    Args:
        probe: The instrumented graph that owns the turn.
    """

    thread_id: str | None = None
    """LangGraph's thread id, when the caller gave one."""
    question: str | None = None
    """As it was asked, then as the graph made it standalone; None when it was not found."""
    max_rewrites: int | None = None
    is_paused = False
    recursion_limit: int | None = None
    """Supersteps allowed, as the first node saw it."""
    last_node: str | None = None
    """The node that started last."""
    _verdict: Verdict | None = None
    _statement: Statement | None = None
    _failures: tuple[tuple[str, str], ...] = ()
    _judged = 0
    """Rewrites whose effect is known."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.tokens: list[tuple[int, int]] = []
        """(input, output) of each call that reported them."""
        self._pages: list[_Page] = []
        self._similarities: list[float | None] = []
        """One a rewrite."""
        self._terminals: list[tuple[int, str]] = []
        self._started_at = time.time()
        self._started = time.perf_counter()

    @property
    def attempt(self) -> int:
        """Rewrites made so far."""
        return len(self._similarities)

    @property
    def chunk_ids(self) -> tuple[str, ...]:
        """Ids of the latest retrieval that came back."""
        page = self._latest_page()
        return page.chunk_ids if page is not None else ()

    def retrieved(self, chunks: Chunks) -> str | None:
        """Note a retrieval; return what the rewrite before it did, when it is the first since."""
        attempt = self.attempt
        page = _Page(attempt, chunks, self._similarities[-1] if attempt else None)
        if self._judged < attempt:
            self._judged = attempt
            before = self._latest_page()
            if before is not None:
                page.effect = rewrite_effect(before, page)
        self._pages.append(page)
        return page.effect

    def retrieval_failed(self) -> None:
        """Note a retrieval that raised."""
        self._pages.append(_Page(self.attempt, None, None))

    @property
    def passed(self) -> tuple[bool | None, ...]:
        """Verdicts on the latest retrieval, in the order of its chunks."""
        page = self._latest_page()
        return page.passed if page is not None else ()

    def graded(self, grades: Grades) -> None:
        """Note verdicts on the latest retrieval."""
        page = self._latest_page()
        if page is not None:
            page.grades.update(grades.passed)

    def rewrote(self, query: str | None) -> float | None:
        """Note a rewrite; return how near it is to the question, when that is measured."""
        self._similarities.append(None)
        self._terminals.clear()  # a draft that is searched for again was not the end
        measure = self.probe.similarity
        if measure is not None and query and self.question:
            self._similarities[-1] = finite(measure(self.question, query))
        return self._similarities[-1]

    def checked(self, verdict: Verdict) -> None:
        """Note the topic verdict."""
        self._verdict = verdict

    def ended_by(self, step: int, role: str) -> None:
        """Note that a node of a terminal role ran."""
        self._terminals.append((step, role))

    def not_ended_by(self, role: str) -> None:
        """Note that what a node of a terminal role said was a draft after all."""
        self._terminals = [end for end in self._terminals if end[1] != role]

    def stated(self, statement: Statement) -> None:
        """Note what a node said about the turn; a later node overrules it where it says more."""
        before = self._statement
        self._statement = statement if before is None else statement.after(before)
        if len(statement.failures) > len(self._failures):
            self._failures = statement.failures
        bound = statement.max_rewrites
        if bound is not None and bound != self.max_rewrites:
            self.max_rewrites = bound
            self.probe.bound(bound)

    def close(
        self, *, outcome: str | None, llm_calls: int, error_type: str | None, trace_id: str | None
    ) -> Turn:
        """Return the finished turn.

        Args:
            outcome: How the run ended, None when the graph came to its own end.
            llm_calls: Model calls made.
            error_type: Name of the error that ended it.
            trace_id: 32 hex digits, None when the turn's span is not recorded.
        """
        duration = time.perf_counter() - self._started
        said, verdict, tokens = self._statement, self._verdict, self.tokens
        retrievals = tuple([page.retrieval() for page in self._pages])
        return Turn(
            graph=self.probe.graph,
            version=self.probe.version,
            outcome=outcome or self._own_outcome(),
            reason=reason_code(said.reason) if said else None,
            classification=verdict.classification if verdict else None,
            confidence=verdict.confidence if verdict else None,
            question=self.question,
            reply=said.reply if said else None,
            retrievals=retrievals,
            rewrites=self.attempt,
            max_rewrites=self.max_rewrites,
            answered_from=said.cited if said else (),
            llm_calls=llm_calls,
            input_tokens=sum(t[0] for t in tokens) if tokens else None,
            output_tokens=sum(t[1] for t in tokens) if tokens else None,
            recursion_limit=self.recursion_limit,
            error_type=error_type,
            conversation_id=self.thread_id,
            trace_id=trace_id,
            started_at=self._started_at,
            duration_seconds=duration,
            terminal_roles=tuple([role for _, role in self._terminals]),
            judgement_failures=self._failures,
            last_node=self.last_node,
        )

    def _own_outcome(self) -> str:
        """Say how a turn ended that nothing stopped.

        What the graph states wins, then the terminal role that ran last. A graph that did neither
        gave up when its last grading passed nothing, and otherwise answered.
        """
        stated = self._statement.outcome if self._statement is not None else None
        if stated in names.OUTCOMES:  # a reader of the host's may read any word
            return stated
        if self._terminals:
            last = max(self._terminals, key=lambda t: (t[0], _PRECEDENCE.index(t[1])))
            return names.TERMINAL_OUTCOMES[last[1]]
        graded = next((p.passed for p in reversed(self._pages) if p.grades), ())
        return names.GAVE_UP if False in graded and True not in graded else names.ANSWERED

    def _latest_page(self) -> _Page | None:
        for page in reversed(self._pages):
            if not page.failed:
                return page
        return None
