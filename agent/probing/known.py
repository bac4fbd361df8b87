"""What a probe asks and what it expects: the golden set, each question under its number."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from agent.golden import GoldenQuestion, GoldenSet
from agent.state import OUTCOMES as ALL_OUTCOMES
from agent.state import Outcome

WRONG_CHUNK: Final = "wrong_chunk"
"""Answered, but none of the cited chunks is one of those that hold the answer."""
NO_ANSWER: Final = "error"
"""A turn that failed, and whatever is no answer of our service: none, late, refused, nonsense."""
OUTCOMES: Final = tuple(outcome for outcome in ALL_OUTCOMES if outcome != NO_ANSWER)
"""Outcomes that a reply may tell, `error` aside. A pause for a person does not come over HTTP."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownQuestion:
    """A golden question as it is asked of a service."""

    id: str
    """Its place in the golden file, 1 for the first: in metrics, where its text must not be."""
    question: str
    history: tuple[tuple[str, str], ...] = ()
    """(question, reply) of the turns before it, oldest first."""
    expected: Outcome
    chunks: frozenset[str] = frozenset()
    """Ids of the chunks that answer it; empty when it has no answer."""

    @classmethod
    def of(cls, place: int, golden: GoldenQuestion) -> KnownQuestion:
        """Return a golden question by its place, 1 for the first."""
        return cls(
            id=str(place),
            question=golden.question,
            history=tuple((turn.question, turn.reply) for turn in golden.history),
            expected=golden.expected_outcome,
            chunks=frozenset(golden.answers),
        )

    @property
    def reachable(self) -> tuple[str, ...]:
        """Everything that may come of it."""
        wrong = (WRONG_CHUNK,) if self.chunks else ()
        return (*OUTCOMES, *wrong, NO_ANSWER)

    def got(self, outcome: str, citations: Collection[str]) -> str:
        """Return what came of it, `expected` when it was right.

        An answer is right when it cites at least one of the chunks that hold it.
        """
        if outcome == "answered" and self.chunks and self.chunks.isdisjoint(citations):
            return WRONG_CHUNK
        return outcome


def known_questions(golden: GoldenSet) -> tuple[KnownQuestion, ...]:
    """Return the questions of a golden set in the file's order."""
    return tuple(KnownQuestion.of(place, each) for place, each in enumerate(golden, 1))
