"""The book of one turn: what its nodes did, kept while it runs, closed into a `Turn` at its end.

It belongs to one run and is found through the run's context, never through a thread id. Nodes of
one superstep write to it from several threads: every entry is one append. It holds small
immutable copies, never a part of the graph's state.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from telemetry import names
from telemetry.content import reason_code
from telemetry.detectors import attempt_effect, attempt_effects, is_second_look
from telemetry.facts import Chunks, Grades, Statement, Verdict, finite
from telemetry.page import Page
from telemetry.revising import Revising
from telemetry.turn import NodeEnd, Turn

if TYPE_CHECKING:
    from telemetry.probe import Probe

_PRECEDENCE: Final = tuple(names.TERMINAL_OUTCOMES)
"""Of two terminal roles that ran in the same superstep, the later one in this list counts."""


class Book:
    """What is known of a running turn.

    Args:
        probe: The instrumented graph that owns the turn.
    """

    thread_id: str | None = None
    """LangGraph's thread id, when the caller gave one."""
    question: str | None = None
    """As it was asked, then as the graph made it standalone; None when it was not found."""
    is_paused = False
    recursion_limit: int | None = None
    """Supersteps allowed, as the first node saw it."""
    last_node: str | None = None
    """The node that started last."""
    _verdict: Verdict | None = None
    _statement: Statement | None = None
    _failures: tuple[tuple[str, str], ...] = ()

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.max_rewrites = probe.budget
        """Until the state says another."""
        self.tokens: list[tuple[int, int]] = []
        """(input, output) of each call that reported them."""
        self.revising = Revising()
        self._pages: list[Page] = []
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
        """Ids of the latest retrieval that came back, and of those that ran beside it."""
        return tuple([id_ for page in self._latest_pages() for id_ in page.chunk_ids])

    def retrieved(self, chunks: Chunks, step: int = 0) -> str | None:
        """Note a retrieval; return what the rewrite before it did, as far as that is known.

        It is known once as many retrievals came back as in the attempt before the rewrite.
        """
        attempt = self.attempt
        page = Page(attempt, step, chunks, self._similarities[-1] if attempt else None)
        self._pages.append(page)
        if attempt:
            before, after = self._compared()
            if not is_second_look(after, page) and 0 < len(before) <= len(after):
                page.effect = attempt_effect(before, after)
        return page.effect

    def retrieval_failed(self) -> None:
        """Note a retrieval that raised."""
        self._pages.append(Page(self.attempt, 0, None, None))

    @property
    def passed(self) -> tuple[bool | None, ...]:
        """Verdicts on the latest retrieval and those beside it, in the order of `chunk_ids`."""
        return tuple([verdict for page in self._latest_pages() for verdict in page.passed])

    def graded(self, grades: Grades) -> None:
        """Note verdicts on the latest retrieval and those beside it."""
        pages = self._latest_pages()
        for page in pages:
            if len(pages) == 1 or not grades.passed.keys().isdisjoint(page.chunk_ids):
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
        if statement.max_drafts is not None:
            self.revising.max_drafts = statement.max_drafts
        bound = statement.max_rewrites
        if bound is not None:
            self.max_rewrites = bound
            self.probe.bound(bound)

    def close(
        self,
        *,
        outcome: str | None,
        llm_calls: int,
        error_type: str | None,
        trace_id: str | None,
        span_id: str | None,
        failed_calls: int = 0,
        executions: Sequence[NodeEnd] = (),
        is_synthetic: bool = False,
    ) -> Turn:
        """Return the finished turn.

        Args:
            outcome: How the run ended, None when the graph came to its own end.
            llm_calls: Model calls made.
            error_type: Name of the error that ended it.
            trace_id: 32 hex digits, None when the turn's span is not recorded.
            span_id: 16 hex digits of that span, or None.
            failed_calls: Model calls that raised.
            executions: Of the nodes, in the order of their ends.
            is_synthetic: It was none of a user.
        """
        duration = time.perf_counter() - self._started
        said, verdict, tokens = self._statement, self._verdict, self.tokens
        if len(self._pages) > self.attempt + 1:
            self._judge_each_attempt_once()
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
            drafts=self.revising.drafts,
            max_drafts=self.revising.max_drafts,
            rounds=tuple(self.revising.rounds),
            max_rewrites=self.max_rewrites,
            answered_from=said.cited if said else (),
            llm_calls=llm_calls,
            input_tokens=sum(t[0] for t in tokens) if tokens else None,
            output_tokens=sum(t[1] for t in tokens) if tokens else None,
            recursion_limit=self.recursion_limit,
            error_type=error_type,
            conversation_id=self.thread_id,
            trace_id=trace_id,
            span_id=span_id,
            started_at=self._started_at,
            duration_seconds=duration,
            terminal_roles=tuple([role for _, role in self._terminals]),
            judgement_failures=self._failures,
            last_node=self.last_node,
            failed_calls=failed_calls,
            executions=executions,
            clock=self._started,
            build=self.probe.build,
            is_synthetic=is_synthetic,
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
        verdicts: list[bool | None] = []
        graded = [page for page in self._pages if page.grades]
        for page in graded:
            if (page.step, page.attempt) == (graded[-1].step, graded[-1].attempt):
                verdicts += page.passed
        return names.GAVE_UP if False in verdicts and True not in verdicts else names.ANSWERED

    def _latest_pages(self) -> list[Page]:
        """Return the retrieval that came back last and those of the same superstep, in order."""
        latest: list[Page] = []
        for page in reversed(self._pages):
            if latest and (page.step, page.attempt) != (latest[0].step, latest[0].attempt):
                break
            if not page.failed:
                latest.append(page)
        return latest[::-1]

    def _compared(self) -> tuple[list[Page], list[Page]]:
        """Return what came back of the latest earlier attempt, and of the present one."""
        before: list[Page] = []
        after: list[Page] = []
        for page in reversed(self._pages):
            if page.failed:
                continue
            if page.attempt == self.attempt:
                after.append(page)
            elif not before or page.attempt == before[0].attempt:
                before.append(page)
            else:
                break
        return before, after

    def _judge_each_attempt_once(self) -> None:
        """Let the first retrieval of an attempt alone say what its rewrite was and did."""
        effects = attempt_effects(self._pages)
        seen: set[int] = set()
        for page in self._pages:
            if page.failed:
                continue
            is_first = page.attempt not in seen
            seen.add(page.attempt)
            page.effect = effects.get(page.attempt) if is_first else None
            page.similarity = page.similarity if is_first else None
