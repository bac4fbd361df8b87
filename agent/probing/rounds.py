"""Rounds: every known question once, one after another, again and again on a schedule."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent.probing.asking import Result
from agent.probing.known import KnownQuestion

Ask = Callable[[KnownQuestion], Awaitable[Result]]


class Books(Protocol):
    """Counts probes: `telemetry.probe_metrics.ProbeMetrics`."""

    def asked(self, question_id: str, got: str, seconds: float, in_a_row: int) -> None:
        """Count one probe."""

    def round_ended(self) -> None:
        """Note that every question was asked once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What came of every question, once."""

    number: int
    """1 for the first."""
    results: tuple[Result, ...]
    in_a_row: dict[str, int]
    """Id of a question -> rounds in a row up to this one in which it came out unlike expected."""
    seconds: float

    @property
    def unexpected(self) -> tuple[Result, ...]:
        """What came out unlike expected."""
        return tuple(result for result in self.results if not result.is_expected)

    def told(self) -> str:
        """Return the round as a line."""
        right = len(self.results) - len(self.unexpected)
        said = f"round {self.number}: {right} of {len(self.results)} as expected"
        return "; ".join([f"{said}, {self.seconds:.2f} s", *self._differences(), *self._failures()])

    def as_json(self) -> dict[str, Any]:
        """Return built-ins only."""
        return {
            "round": self.number,
            "expected": not self.unexpected,
            "seconds": self.seconds,
            "questions": [
                {
                    "question_id": result.question.id,
                    "question": result.question.question,
                    "expected": result.question.expected,
                    "got": result.got,
                    "unexpected_in_a_row": self.in_a_row[result.question.id],
                    "seconds": result.seconds,
                    "problem": result.problem,
                    "trace_id": result.trace_id,
                }
                for result in self.results
            ],
        }

    def _differences(self) -> Iterator[str]:
        """Say of each question that came out otherwise what it should have been."""
        for result in self.unexpected:
            if result.problem is None:
                id_ = result.question.id
                row = self.in_a_row[id_]
                again = f", {row} rounds in a row" if row > 1 else ""
                yield f"question {id_}: {result.got}, not {result.question.expected}{again}"

    def _failures(self) -> Iterator[str]:
        """Say what kept questions from an answer, each reason once."""
        by_problem: dict[str, list[str]] = {}
        for result in self.results:
            if result.problem is not None:
                by_problem.setdefault(result.problem, []).append(result.question.id)
        for problem, ids in by_problem.items():
            yield f"question{'s' * (len(ids) > 1)} {', '.join(ids)}: no answer, {problem}"


async def rounds(
    questions: Sequence[KnownQuestion],
    ask: Ask,
    books: Books,
    *,
    every_seconds: float,
    wait: Callable[[float], Awaitable[object]] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> AsyncGenerator[Round, None]:
    """Ask all questions, and again, until the caller reads no further.

    Args:
        questions: What is asked, in this order; the service is never asked two at once.
        ask: Asks one.
        books: Count what came of it.
        every_seconds: From the beginning of a round to that of the next one, which begins at once
            when the round took longer.
        wait: Waits some seconds.
        clock: Seconds, monotonic.
    """
    in_a_row: Counter[str] = Counter()
    number = 0
    while True:
        number += 1
        began = clock()
        results = []
        for question in questions:
            result = await ask(question)
            results.append(result)
            row = 0 if result.is_expected else in_a_row[question.id] + 1
            in_a_row[question.id] = row
            books.asked(question.id, result.got, result.seconds, row)
        books.round_ended()
        took = clock() - began
        yield Round(number=number, results=tuple(results), in_a_row=dict(in_a_row), seconds=took)
        await wait(max(0.0, began + every_seconds - clock()))
