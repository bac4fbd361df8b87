"""The labelled turns of the drift measure, their documents, and how verdicts are scored."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
TRAINING = ROOT / "tests" / "data" / "rewrites_train.yaml"
HELD_OUT = ROOT / "tests" / "data" / "rewrites_heldout.yaml"
OTHER_DOCUMENTS = ROOT / "tests" / "data" / "other_documents.yaml"
HANDBOOK = ROOT / "agent" / "data" / "handbook"

Similarity = Callable[[str, str, str], float]
"""(corpus, question, query) -> similarity, higher is more alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledTurn:
    question: str
    rewrites: tuple[str, ...]
    is_drifted: bool
    first_drifted: int | None
    """Number of the first drifted rewrite, counted from 1; None when none drifted, or where only
    the whole turn is labelled."""
    kind: str
    corpus: str

    def pairs(self) -> Iterator[tuple[str, bool]]:
        """Yield every rewrite and whether it had drifted."""
        for number, rewrite in enumerate(self.rewrites, 1):
            yield rewrite, self.first_drifted is not None and number >= self.first_drifted


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    precision: float
    recall: float

    @property
    def f1(self) -> float:
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def load_turns(path: Path) -> list[LabelledTurn]:
    return [
        LabelledTurn(
            question=turn["q"],
            rewrites=tuple(turn["r"]),
            is_drifted=turn["drifted"],
            first_drifted=turn.get("from"),
            kind=turn["kind"],
            corpus=turn.get("corpus", "hosting"),
        )
        for turn in yaml.safe_load(path.read_text(encoding="utf-8"))["turns"]
    ]


def load_documents() -> dict[str, list[str]]:
    """Return the documents of every corpus: the handbook, a heading each, and the other trades."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(HANDBOOK.glob("*.md")))
    handbook = [part for part in re.split(r"(?m)^(?=## )", text) if part.strip()]
    others = yaml.safe_load(OTHER_DOCUMENTS.read_text(encoding="utf-8"))
    return {"hosting": handbook, **others}


def least_alike(turn: LabelledTurn, similarity: Similarity) -> float:
    """Return the similarity of the turn's rewrite that is least like the question."""
    return min(similarity(turn.corpus, turn.question, rewrite) for rewrite in turn.rewrites)


def score(labels: Sequence[bool], verdicts: Sequence[bool]) -> Score:
    """Score the verdicts "this turn's rewrites drifted"."""
    right = sum(label and verdict for label, verdict in zip(labels, verdicts, strict=True))
    return Score(precision=right / max(1, sum(verdicts)), recall=right / max(1, sum(labels)))


def right_by_kind(
    turns: Sequence[LabelledTurn], verdicts: Sequence[bool]
) -> dict[str, tuple[int, int]]:
    """Return for every kind of turn how many verdicts were right, and how many turns there are."""
    found: dict[str, list[bool]] = defaultdict(list)
    for turn, verdict in zip(turns, verdicts, strict=True):
        found[turn.kind].append(verdict == turn.is_drifted)
    return {kind: (sum(right), len(right)) for kind, right in sorted(found.items())}
