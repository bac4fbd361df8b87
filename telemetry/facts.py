"""What a reader finds in the update that a node returned: small immutable values, safe to keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, TypeVar

from telemetry.attributes import ID_CHARS, MARKER, cut

_T = TypeVar("_T")


class WrongKindError(TypeError):
    """A reader or detector of the host's returned something else than it may."""

    def __init__(self, got: object, expected: type) -> None:
        super().__init__(
            f"a reader or detector returned {type(got).__name__}, expected "
            f"{expected.__name__} or None"
        )


def only(kind: type[_T], found: Any) -> _T | None:
    """Return what a reader or a detector found, which may be one of the host's.

    Raises:
        WrongKindError: It is something else.
    """
    if found is None or isinstance(found, kind):
        return found
    raise WrongKindError(found, kind)


@dataclass(frozen=True, slots=True)
class Chunks:
    """What a retrieve node found.

    A reader may give ids and scores as its store has them, NumPy's for example: they are kept as
    str and float, a long id is cut, and a score that is no finite number is None.
    """

    ids: tuple[str, ...] = ()
    """In rank order."""
    scores: tuple[float | None, ...] = ()
    """As long as `ids`; None where the retriever gave no score."""
    query: str | None = None
    is_remote: bool = False

    def __post_init__(self) -> None:
        """Make the values plain; a reader that already gives plain ones pays two loops."""
        ids, scores = self.ids, self.scores
        if type(ids) is not tuple or not _are_short_texts(ids):
            short = [id_ if _are_short_texts((id_,)) else cut(str(id_), ID_CHARS) for id_ in ids]
            object.__setattr__(self, "ids", tuple(short))
        if type(scores) is not tuple or not _are_finite(scores):
            object.__setattr__(self, "scores", tuple([finite(score) for score in scores]))


@dataclass(frozen=True, slots=True)
class Grades:
    """What a grade node said of the latest retrieval: chunk id -> passed; None for no verdict."""

    passed: Mapping[str, bool | None]

    def __post_init__(self) -> None:
        """Make the verdicts plain: NumPy's booleans are none of Python's."""
        if not {*map(type, self.passed.values())} <= {bool, type(None)}:
            plain = {id_: None if p is None else bool(p) for id_, p in self.passed.items()}
            object.__setattr__(self, "passed", plain)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a guard node said of the question."""

    classification: str
    """`relevant` or `irrelevant`."""
    confidence: str
    """`high`, `medium` or `low`."""


@dataclass(frozen=True, slots=True)
class Critique:
    """What a critique node said of a draft. Its texts are compared and never exported."""

    score: float | None
    """None when the critic gave no verdict."""
    note: str | None = None
    """What to change; None when the node wrote no critique, so that an older one stands."""
    draft: str | None = None
    """The draft that was judged."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What a node said about the turn itself."""

    outcome: str | None = None
    """How the turn ends, one of `names.OUTCOMES`."""
    reason: str | None = None
    reply: str | None = None
    cited: tuple[str, ...] = ()
    """Ids of the chunks that the reply cites."""
    max_rewrites: int | None = None
    """The bound that the graph gives itself."""
    max_drafts: int | None = None
    """The bound of its revise loop."""
    failures: tuple[tuple[str, str], ...] = ()
    """(role, reason) of all model replies of the turn so far that were no judgement."""

    def after(self, before: Statement) -> Statement:
        """Return this statement, with what it leaves unsaid taken from an earlier one.

        A reason belongs to its outcome, and citations to their reply.
        """
        ends, replies = self.outcome is not None, self.reply is not None
        return Statement(
            outcome=self.outcome or before.outcome,
            reason=self.reason if ends or self.reason else before.reason,
            reply=self.reply if replies else before.reply,
            cited=self.cited if replies or self.cited else before.cited,
        )


MAX_ID: Final = ID_CHARS + len(MARKER)
"""Characters of an id that was cut."""

Update = Mapping[str, Any]
"""What a node returned, as one mapping. A reader keeps and changes nothing of it."""
State = Any
"""What the node was given: a mapping or the graph's own state class, as it is after the node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readers:
    """One reader a kind of fact, each given what a node returned and what it was given.

    A reader returns None when it finds no such fact, and takes copies of what it finds. Replace
    single ones with `dataclasses.replace(DEFAULT_READERS, chunks=my_reader)`.
    """

    chunks: Callable[[Update, State], Chunks | None]
    """Of a node with the role retrieve."""
    grades: Callable[[Update, State, Sequence[str]], Grades | None]
    """Of a node with the role grade; also given the ids of the latest retrieval, in rank order."""
    verdict: Callable[[Update, State], Verdict | None]
    """Of a node with the role guard."""
    critique: Callable[[Update, State], Critique | None]
    """Of a node with the role critique."""
    query: Callable[[Update, State], str | None]
    """Of a node with the role rewrite: the new search words."""
    question: Callable[[Update, State], str | None]
    """Of the turn's input, and of a node with the role enhance: the standalone question."""
    statement: Callable[[Update, State], Statement | None]
    """Of every node and of the turn's input."""


def _are_short_texts(ids: tuple[Any, ...]) -> bool:
    for id_ in ids:  # noqa: SIM110 - lists are short, and a generator costs more than it saves
        if type(id_) is not str or len(id_) > MAX_ID:
            return False
    return True


def _are_finite(scores: tuple[Any, ...]) -> bool:
    for score in scores:  # noqa: SIM110 - as above
        if type(score) is not float or not isfinite(score):
            return False
    return True


def finite(value: Any) -> float | None:
    """Return a number of any kind as a float; None for what is no number, NaN and infinities."""
    if type(value) is not float:
        if value is None or isinstance(value, str | bool):
            return None
        try:
            value = float(value)
        except (TypeError, ValueError, OverflowError):
            return None
    return value if isfinite(value) else None
