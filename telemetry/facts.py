"""What a reader finds in the update that a node returned: small immutable values, safe to keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Seen:
    """What a reader may look at. Nothing of it may be kept or changed: take copies."""

    update: Mapping[str, Any]
    """What the node returned."""
    state: Any
    """What the node was given: a mapping or the graph's own state class, as it is now."""
    chunk_ids: Sequence[str] = ()
    """Ids of the turn's latest retrieval, in rank order."""

    def get(self, *keys: str) -> Any:
        """Return the first of the keys that the update has, else that the state has, else None."""
        for key in keys:
            if (value := self.update.get(key)) is not None:
                return value
        return self.before(*keys)

    def before(self, *keys: str) -> Any:
        """Return the first of the keys that the state has, else None."""
        state = self.state
        for key in keys:
            value = state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)
            if value is not None:
                return value
        return None


@dataclass(frozen=True, slots=True)
class Chunks:
    """What a retrieve node found."""

    ids: tuple[str, ...] = ()
    """In rank order."""
    scores: tuple[float | None, ...] = ()
    """As long as `ids`; None where the retriever gave no score."""
    query: str | None = None
    is_remote: bool = False


@dataclass(frozen=True, slots=True)
class Grades:
    """What a grade node said of the latest retrieval: chunk id -> passed; None for no verdict."""

    passed: Mapping[str, bool | None]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a guard node said of the question."""

    classification: str
    """`relevant` or `irrelevant`."""
    confidence: str
    """`high`, `medium` or `low`."""


@dataclass(frozen=True, slots=True)
class Ending:
    """What a node said about the end of the turn."""

    outcome: str | None = None
    reason: str | None = None
    reply: str | None = None
    cited: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Readers:
    """One reader a kind of fact. A reader returns None when the update holds no such fact.

    Replace single ones with `dataclasses.replace(DEFAULT_READERS, chunks=my_reader)`.
    """

    chunks: Callable[[Seen], Chunks | None]
    """Of a node with the role retrieve."""
    grades: Callable[[Seen], Grades | None]
    """Of a node with the role grade."""
    verdict: Callable[[Seen], Verdict | None]
    """Of a node with the role guard."""
    query: Callable[[Seen], str | None]
    """Of a node with the role rewrite: the new search words."""
    question: Callable[[Seen], str | None]
    """Of the turn's input, and of a node with the role enhance: the standalone question."""
    ending: Callable[[Seen], Ending | None]
    """Of every node."""
    max_rewrites: Callable[[Seen], int | None]
    """Of the first nodes: the bound that the graph gives itself."""
    judgement_failures: Callable[[Seen], Sequence[tuple[str, str]] | None]
    """Of every node: all (role, reason) so far in the turn."""
