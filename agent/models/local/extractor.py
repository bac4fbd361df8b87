"""The answer: the sentences of the passing chunks that answer the question, cited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from agent.models.local.answer_kinds import asked_kinds
from agent.models.local.corpus import Corpus, Floats, Passage
from agent.models.local.understanding import Understanding, View

MAX_SENTENCES: Final = 3
_SHARE_OF_BEST: Final = 0.7
"""A further sentence is quoted when it scores at least this share of the best one."""
_KIND_BONUS: Final = 0.35
_LEAD_BONUS: Final = 0.1
"""Worth of the asked kind of answer, and of opening the chunk, beside the share of the question
that a sentence covers. Chosen by us on the training questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    chunk: int
    place: int
    score: float
    text: str


def answer(view: View, passages: Sequence[Passage], understanding: Understanding) -> str:
    """Return the telling sentences of the passages in their order, each chunk cited as `[id]`.

    One to three sentences; more only when there are more passages, since each gives one.

    Nothing is said that is not quoted; without passages the reply is empty.
    """
    candidates = [
        candidate
        for number, passage in enumerate(passages)
        for candidate in _candidates(view, number, passage, understanding)
    ]
    if not candidates:
        return ""
    ranked = sorted(candidates, key=lambda c: (-c.score, c.chunk, c.place))
    floor = ranked[0].score * _SHARE_OF_BEST
    best_of_each = {candidate.chunk: candidate for candidate in reversed(ranked)}
    chosen = list(best_of_each.values())
    for candidate in ranked:
        is_new = candidate not in chosen and candidate.score >= floor
        if is_new and len(chosen) < MAX_SENTENCES:
            chosen.append(candidate)
    if len(chosen) == 1:
        chosen += _next_sentence(chosen[0], candidates)
    parts: list[str] = []
    for number, passage in enumerate(passages):
        quoted = sorted((c for c in chosen if c.chunk == number), key=lambda c: c.place)
        if quoted:
            parts.append(f"{' '.join(c.text for c in quoted)} [{passage.id}]")
    return " ".join(parts)


def _next_sentence(chosen: _Candidate, candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Return the sentence after a lonely one: it often holds the condition."""
    return [c for c in candidates if (c.chunk, c.place) == (chosen.chunk, chosen.place + 1)]


def _candidates(
    view: View, number: int, passage: Passage, understanding: Understanding
) -> list[_Candidate]:
    """Score the sentences of one passage, its heading left out."""
    corpus = Corpus([passage], understanding.lexicon)
    match = corpus.match(view.match.reading, view.match.weights)
    total = float(match.weights.sum()) or 1.0
    scores: Floats = match.weights @ match.sentences / total
    for kind in asked_kinds(view.question):
        scores = scores + _KIND_BONUS * corpus.holds[kind] * (scores > 0)
    lead = np.zeros_like(scores)
    lead[1:2] = _LEAD_BONUS
    return [
        _Candidate(chunk=number, place=place, score=float(score), text=text)
        for place, (score, text) in enumerate(zip(scores + lead, corpus.sentences, strict=True))
        if place
    ]
