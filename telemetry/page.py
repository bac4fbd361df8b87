"""A retrieval of a turn under way: what came back, and what the graders said of it so far."""

from __future__ import annotations

from typing import Final

from telemetry.facts import Chunks
from telemetry.turn import Retrieval

_NO_CHUNKS: Final = Chunks()


class Page:
    """One retrieval.

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
