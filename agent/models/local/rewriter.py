"""The rewriter: asks again in the documents' own words, for chunks that were not found yet.

Search compares words exactly, so a synonym that the documents do not use retrieves the same chunks
as before. The rewriter therefore takes its words from the likeliest chunk that was not tried: those
that share a stem or a meaning with the question, then those of its heading. The question's words
that no document has stay at the end: search passes over them, and the rewrite still says what was
asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from agent.models.local.grading import rank
from agent.models.local.reading import read
from agent.models.local.understanding import Understanding, View
from agent.models.local.words import is_content, stem
from agent.retrieval.tfidf import TfidfIndex
from agent.retrieval.tokens import tokenize

TARGETS: Final = 8
"""Chunks that are tried as the aim of one rewrite, the likeliest first."""
MAX_WORDS: Final = 8
"""Words of a rewrite. Both chosen by us; more words only blur the aim."""
_FIRST: Final = 1


def rewrite(
    view: View,
    earlier: Sequence[str],
    tried: Collection[str],
    understanding: Understanding,
    index: TfidfIndex | None,
) -> str:
    """Return other search words for a question.

    Args:
        view: The question as it was asked.
        earlier: Queries that were searched already; the new one has other words.
        tried: Ids of the chunks that they found, none of which answers.
        understanding: The documents.
        index: The documents as search sees them; None when that is not known.
    """
    before = {frozenset(tokenize(query)) for query in earlier}
    kept = _unknown_words(view, index)
    for row in _targets(view, tried, understanding):
        linked = _linked_words(view, row, understanding)
        heading = [w for w in tokenize(_heading(row, understanding)) if w not in linked]
        query = _aimed(linked, heading, understanding.corpus.ids[row], index)
        if query and frozenset(tokenize(" ".join([query, *kept]))) not in before:
            return " ".join([query, *kept])
    return _plain_words(view) or view.question


def _targets(view: View, tried: Collection[str], understanding: Understanding) -> Iterator[int]:
    ids = understanding.corpus.ids
    untried = [row for row in rank(view) if ids[row] not in tried]
    yield from untried[:TARGETS]


def _heading(row: int, understanding: Understanding) -> str:
    corpus = understanding.corpus
    return corpus.sentences[int(corpus.starts[row])]


def _linked_words(view: View, row: int, understanding: Understanding) -> list[str]:
    """Return the chunk's words that mean what the question says, in the question's order."""
    lexicon, corpus = understanding.lexicon, understanding.corpus
    reading = read(corpus.texts[row], lexicon)
    by_stem: dict[str, Counter[str]] = {}
    by_concept: dict[str, Counter[str]] = {}
    for word, word_stem in zip(reading.words, reading.stems, strict=True):
        if is_content(word):
            by_stem.setdefault(word_stem, Counter())[word] += 1
    for unit in reading.units:
        for concept in unit.concepts:
            by_concept.setdefault(concept, Counter()).update(unit.words)
    found: dict[str, None] = {}
    for unit in view.match.reading.units:
        own = [by_stem[s] for s in unit.stems if s in by_stem]
        same = [by_concept[c] for c in sorted(unit.concepts) if c in by_concept]
        near = [
            by_concept[other]
            for concept in sorted(unit.concepts)
            for other in lexicon.related.get(concept, ())
            if other in by_concept
        ]
        for words in own or same or near:
            for word, _ in sorted(words.items(), key=lambda item: (-item[1], item[0]))[:2]:
                found.setdefault(word)
    return list(found)


def _aimed(
    linked: Sequence[str], heading: Sequence[str], target: str, index: TfidfIndex | None
) -> str:
    """Return linked words, and heading words as needed until search finds the target first."""
    chosen = list(linked[:MAX_WORDS])
    rest = list(heading)
    while rest and len(chosen) < MAX_WORDS and not (chosen and _finds(chosen, target, index)):
        chosen.append(rest.pop(0))
    return " ".join(chosen)


def _finds(words: Sequence[str], target: str, index: TfidfIndex | None) -> bool:
    if index is None:
        return len(words) > _FIRST
    return any(chunk.id == target for chunk, _ in index.search(" ".join(words), _FIRST))


def _unknown_words(view: View, index: TfidfIndex | None) -> list[str]:
    """Return the question's words that search knows nothing of."""
    if index is None:
        return []
    words = _plain_words(view).split()
    known = index.vocabulary
    return [word for word in words if not any(t in known for t in tokenize(word))][:MAX_WORDS]


def _plain_words(view: View) -> str:
    """Return what the question speaks of, without manners and function words."""
    return " ".join(word for unit in view.match.reading.units for word in unit.words)


def stems_of(query: str) -> set[str]:
    """Return the stems of a query's words."""
    return {stem(word) for word in tokenize(query)}
