from __future__ import annotations

import re

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from agent.golden import GOLDEN_FILE, GoldenSet, load_golden
from agent.retrieval.corpus import Corpus, read_corpus
from agent.retrieval.tfidf import TfidfRetriever
from agent.retrieval.tokens import tokenize

IDS = {
    *("plans", "annual", "trial", "refunds", "cancel", "export", "invoices", "payments"),
    *("upgrade", "sizing", "reboot", "backups", "snapshots", "migration", "domains"),
    *("certificates", "firewall", "access", "sla", "incidents", "maintenance", "support"),
    *("regions", "company"),
}
ABSENT_SUBJECTS = re.compile(
    r"discount|student|coupon|education|weather|\bGPUs?\b|graphics|resell|affiliate|mobile|\bapps?\b",
    re.IGNORECASE,
)
ABSENT_WORDS = {
    "outage question": {"happens", "goes", "down", "unavailable"},
    "student question": {"offer", "student", "discount"},
    "weather question": {"weather", "like", "today"},
    "money question": {"reimbursed"},
}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return read_corpus()


@pytest.fixture(scope="module")
def retriever(corpus: Corpus) -> TfidfRetriever:
    return TfidfRetriever.from_chunks(corpus.chunks)


@pytest.fixture(scope="module")
def golden(corpus: Corpus) -> GoldenSet:
    return load_golden(GOLDEN_FILE, [chunk.id for chunk in corpus.chunks])


def top(retriever: TfidfRetriever, query: str) -> list[tuple[str, float]]:
    """Return id and score, to three decimals, of the two chunks found."""
    return [(str(d.id), round(d.metadata["score"], 3)) for d in retriever.invoke(query)]


def test_the_chunk_ids_are_those_of_the_contract(corpus: Corpus) -> None:
    assert {chunk.id for chunk in corpus.chunks} == IDS
    assert len(corpus.chunks) == len(IDS)
    assert corpus.skipped == []


def test_every_chunk_is_a_heading_and_one_passage_of_60_to_180_words(corpus: Corpus) -> None:
    lengths = {chunk.id: len(chunk.text.split()) for chunk in corpus.chunks}

    assert {id_: n for id_, n in lengths.items() if not 60 <= n <= 180} == {}
    assert {chunk.id for chunk in corpus.chunks if chunk.text.count("\n") != 2} == set()


def test_nothing_is_said_about_the_subjects_that_the_handbook_leaves_out(corpus: Corpus) -> None:
    found = {chunk.id: ABSENT_SUBJECTS.findall(chunk.text) for chunk in corpus.chunks}

    assert {id_: words for id_, words in found.items() if words} == {}


@pytest.mark.parametrize(
    "words", [pytest.param(words, id=name) for name, words in ABSENT_WORDS.items()]
)
def test_words_that_the_golden_questions_must_not_find_are_absent(
    corpus: Corpus, words: set[str]
) -> None:
    vocabulary = {token for chunk in corpus.chunks for token in tokenize(chunk.text)}

    assert words & vocabulary == set()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param(
            "What happens if my server goes down?",
            [("reboot", 0.416), ("sizing", 0.389)],
            id="outage-question",
        ),
        pytest.param(
            "What happens when my server is unavailable?",
            [("reboot", 0.416), ("sizing", 0.389)],
            id="its-first-rewrite-swaps-a-synonym",
        ),
        pytest.param(
            "Larkspur outage availability guarantee and incident updates",
            [("sla", 0.470), ("incidents", 0.253)],
            id="its-second-rewrite-has-the-handbook's-words",
        ),
        pytest.param(
            "Do you offer a student discount?",
            [("access", 0.0), ("annual", 0.0)],
            id="student-question-matches-nothing-and-ties-go-by-id",
        ),
    ],
)
def test_the_published_scores(
    retriever: TfidfRetriever, query: str, expected: list[tuple[str, float]]
) -> None:
    assert top(retriever, query) == expected, "run: python benchmarks/fit_handbook.py"


def test_the_published_scores_are_scikit_learns(corpus: Corpus, retriever: TfidfRetriever) -> None:
    vectorizer = TfidfVectorizer(analyzer=tokenize)
    rows = vectorizer.fit_transform([chunk.text for chunk in corpus.chunks])
    query = "Larkspur outage availability guarantee and incident updates"
    scores = (vectorizer.transform([query]) @ rows.T).toarray()[0]

    ours = {document.id: document.metadata["score"] for document in retriever.invoke(query)}
    theirs = {c.id: s for c, s in zip(corpus.chunks, scores, strict=True) if c.id in ours}
    assert ours == pytest.approx(theirs, abs=1e-12)


def test_the_synonym_swap_changes_no_score_at_all(retriever: TfidfRetriever) -> None:
    first, second = (
        [(d.id, d.metadata["score"]) for d in retriever.invoke(query)]
        for query in (
            "What happens if my server goes down?",
            "What happens when my server is unavailable?",
        )
    )

    assert first == second


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        pytest.param("Can I export my data after I cancel my plan?", [2], id="export-2-of-2"),
        pytest.param(
            "Do you offer a student discount?", [0, 0, 0, 0, 0, 0], id="student-never-answered"
        ),
        pytest.param("What happens if my server goes down?", [0, 0, 1], id="outage-at-rewrite-2"),
        pytest.param(
            "What's the weather like today?", [0, 0, 0, 0, 0, 0], id="weather-never-answered"
        ),
        pytest.param(
            "Do I get reimbursed when I close my account?", [0, 1], id="money-back-at-rewrite-1"
        ),
    ],
)
def test_passing_chunks_of_a_golden_question_by_retrieval(
    retriever: TfidfRetriever, golden: GoldenSet, question: str, expected: list[int]
) -> None:
    entry = golden.find(question)
    passing = [
        sum(document.id in entry.answers for document in retriever.invoke(query))
        for query in entry.queries[: len(expected)]
    ]

    assert passing == expected


def test_every_rewrite_of_an_answerable_question_finds_something(
    retriever: TfidfRetriever, golden: GoldenSet
) -> None:
    empty = [
        rewrite
        for entry in golden
        for rewrite in entry.rewrites
        if entry.answers and top(retriever, rewrite)[0][1] == 0
    ]

    assert empty == []
