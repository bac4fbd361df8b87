from __future__ import annotations

import numpy as np
import pytest
from foreign_documents import BICYCLE_SHOP
from sklearn.feature_extraction.text import TfidfVectorizer

from agent.models.local.corpus import CONCEPT_MATCH, Corpus
from agent.models.local.lexicon import load_lexicon
from agent.models.local.reading import read, terms_of
from agent.retrieval.tfidf import CorpusChunk

CORPUS = Corpus(BICYCLE_SHOP, load_lexicon())


def strengths(question: str) -> dict[str, float]:
    """Return how the question's first unit matches each chunk, where it matches at all."""
    match = CORPUS.match(read(question, load_lexicon()))
    return {id_: s for id_, s in zip(CORPUS.ids, match.chunks[0].tolist(), strict=True) if s}


@pytest.mark.parametrize(
    ("question", "chunk", "expected"),
    [
        pytest.param("helmet", "rental", 1.0, id="the-word-itself"),
        pytest.param("deposits", "rental", 1.0, id="another-form-of-the-word"),
        pytest.param("hire", "rental", CONCEPT_MATCH, id="a-word-of-the-same-meaning"),
        pytest.param("helmet", "opening", None, id="no-match"),
    ],
)
def test_strength_of_a_match(question: str, chunk: str, expected: float | None) -> None:
    assert strengths(question).get(chunk) == expected


def test_a_rare_word_weighs_more_than_a_frequent_one() -> None:
    assert CORPUS.weight("helmet") > CORPUS.weight("bicycl") > 0


def test_cosines_are_those_of_scikit_learn() -> None:
    texts = ["wear brake pads helmet", "deposit helmet lock", "closed on Sundays"]
    corpus = Corpus(
        [CorpusChunk(id=str(n), text=text) for n, text in enumerate(texts)], load_lexicon()
    )

    def terms(text: str) -> list[str]:
        return sorted(terms_of(read(text, load_lexicon())))

    vectorizer = TfidfVectorizer(analyzer=terms, sublinear_tf=True)
    rows = vectorizer.fit_transform(texts)
    plain = (vectorizer.transform(["helmet and lock"]) @ rows.T).toarray()[0]

    assert corpus.cosine(read("helmet and lock", load_lexicon())) == pytest.approx(plain)


def test_an_empty_corpus_matches_nothing() -> None:
    corpus = Corpus([], load_lexicon())

    match = corpus.match(read("refund", load_lexicon()))

    assert (match.chunks.shape, corpus.cosine(match.reading).shape) == ((1, 0), (0,))
    assert np.all(match.weights == 1.0)
