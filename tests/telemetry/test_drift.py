from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings

from benchmarks.drift_turns import (
    HELD_OUT,
    LabelledTurn,
    load_documents,
    load_turns,
    right_by_kind,
    score,
)
from telemetry.detectors import DRIFT_THRESHOLD
from telemetry.drift import CACHED_TEXTS, DriftModel

OUTAGE = "What happens if my server goes down?"
DOCUMENTS = load_documents()


@pytest.fixture(scope="module")
def model() -> DriftModel:
    return DriftModel.fit(DOCUMENTS["hosting"])


@pytest.mark.parametrize(
    ("question", "query", "is_drifted"),
    [
        pytest.param(
            OUTAGE, "What happens when my server is unavailable?", False,
            id="the-published-first-rewrite-is-kept",
        ),
        pytest.param(
            OUTAGE, "Larkspur outage availability guarantee and incident updates", False,
            id="the-published-second-rewrite-shares-no-word-and-is-kept",
        ),
        pytest.param(
            "Do you offer a student discount?", "reduced prices for students", False,
            id="a-subject-that-the-documents-lack-is-kept",
        ),
        pytest.param(OUTAGE, "how to pay an invoice", True, id="another-subject"),
        pytest.param(
            "Can I get a refund for my plan?", "Can I get a refund for my domain?", True,
            id="another-thing-in-the-same-words",
        ),
        pytest.param(
            "How do I turn off backups?", "How do I turn on backups?", True, id="turned-round"
        ),
        pytest.param(
            "How do I cancel?", "best time of year to visit Portugal", True, id="off-topic"
        ),
    ],
)  # fmt: skip
def test_verdict_on_one_rewrite(
    model: DriftModel, question: str, query: str, is_drifted: bool
) -> None:
    similarity = model.similarity(question, query)

    assert similarity is not None
    assert (similarity < DRIFT_THRESHOLD) is is_drifted


def test_verdict_on_held_out_turns() -> None:
    models = {name: DriftModel.fit(texts) for name, texts in DOCUMENTS.items()}

    def drifted(turn: LabelledTurn) -> bool:
        values = [models[turn.corpus].similarity(turn.question, text) for text in turn.rewrites]
        return any(value is not None and value < DRIFT_THRESHOLD for value in values)

    turns = load_turns(HELD_OUT)
    verdicts = [drifted(turn) for turn in turns]
    found = score([turn.is_drifted for turn in turns], verdicts)

    print(found, found.f1, right_by_kind(turns, verdicts))  # noqa: T201 - the figure of the day
    assert len(turns) >= 80
    assert found.f1 >= 0.85


@pytest.mark.parametrize(
    ("question", "query", "expected"),
    [
        pytest.param("", "refund", None, id="no-question"),
        pytest.param("refund", "  ", None, id="blank-query"),
        pytest.param("?!", "refund", None, id="no-letter-and-no-digit"),
        pytest.param("Refund  policy", "refund policy", 1.0, id="the-same-but-for-case-and-blanks"),
    ],
)
def test_similarity_of_texts_that_need_no_model(
    model: DriftModel, question: str, query: str, expected: float | None
) -> None:
    assert model.similarity(question, query) == expected


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param([], id="none"),
        pytest.param([""], id="an-empty-one"),
        pytest.param(["Refunds are paid within ten days."], id="one"),
        pytest.param(["Refunds are paid.", "Refunds are paid."], id="two-equal-ones"),
        pytest.param(["Refunds.", "Backups.", "Domains."], id="three-of-one-word"),
        pytest.param(["返金は十日以内に支払われます。", "バックアップは毎晩です。"], id="japanese"),
    ],
)
def test_few_documents(texts: list[str]) -> None:
    model = DriftModel.fit(texts)
    alike = model.similarity("I want my money back", "refund policy")
    other = model.similarity("I want my money back", "how to register a domain")

    assert alike is not None
    assert other is not None
    assert 0 <= other < DRIFT_THRESHOLD < alike <= 1


def test_many_documents() -> None:
    numbers = np.random.default_rng(0).integers(0, 3_000, (10_000, 20))
    texts = [" ".join(f"word{number}" for number in row) for row in numbers]

    assert DriftModel.fit(texts).similarity(OUTAGE, "server outage") is not None


def test_same_documents_give_the_same_numbers(model: DriftModel) -> None:
    again = DriftModel.fit(DOCUMENTS["hosting"])
    queries = ["refund policy", "outage", "plan S memory", "weather in Rome"]

    assert [again.similarity(OUTAGE, query) for query in queries] == [
        model.similarity(OUTAGE, query) for query in queries
    ]


def test_threads_share_a_model() -> None:
    model, alone = DriftModel.fit(DOCUMENTS["hosting"]), DriftModel.fit(DOCUMENTS["hosting"])
    pairs = [(turn.question, turn.rewrites[0]) for turn in load_turns(HELD_OUT)] * 4
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda pair: model.similarity(*pair), pairs))

    assert together == [alone.similarity(*pair) for pair in pairs]


@given(question=st.text(max_size=200), query=st.text(max_size=200))
@settings(max_examples=150, deadline=None)
def test_any_text_gives_a_plain_number_or_none(
    model: DriftModel, question: str, query: str
) -> None:
    similarity = model.similarity(question, query)

    assert similarity is None or (type(similarity) is float and 0 <= similarity <= 1)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("outage " * 20_000, id="a-hundred-thousand-letters"),
        pytest.param("\ud800 outage", id="a-lone-surrogate"),
        pytest.param("ﬁrewall ＲＵＬＥＳ", id="compatibility-forms"),
    ],
)
def test_odd_texts(model: DriftModel, text: str) -> None:
    similarity = model.similarity(OUTAGE, text)

    assert similarity is not None
    assert math.isfinite(similarity)


class TableEmbeddings(Embeddings):
    """Vectors by text, and what was asked for."""

    def __init__(self, table: dict[str, list[float]]) -> None:
        self.table = table
        self.asked: list[str] = []

    def embed_query(self, text: str) -> list[float]:
        self.asked.append(text)
        return self.table.get(text, [1.0, 0.0])

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.table[text] for text in texts]


def at(degrees: float) -> list[float]:
    return [3 * math.cos(math.radians(degrees)), 3 * math.sin(math.radians(degrees))]


@pytest.mark.parametrize(
    ("documents", "degrees", "expected"),
    [
        pytest.param([], 60.0, 0.5, id="without-documents-the-cosine"),
        pytest.param([0.0], 60.0, 0.5, id="one-document-gives-no-level"),
        pytest.param([0.0, 60.0], 60.0, 0.0, id="as-alike-as-any-two-documents-is-0"),
        pytest.param([0.0, 60.0], 0.0, 1.0, id="the-same-direction-is-1"),
        pytest.param([0.0, 60.0], 180.0, -1.0, id="the-opposite-is-at-least-minus-1"),
        pytest.param([0.0, 0.0], 90.0, -1.0, id="equal-documents-leave-a-finite-number"),
    ],
)
def test_embeddings(documents: Sequence[float], degrees: float, expected: float) -> None:
    names = [f"document {n}" for n, _ in enumerate(documents)]
    table = {name: at(angle) for name, angle in zip(names, documents, strict=True)}
    embeddings = TableEmbeddings({**table, "question": at(0), "query": at(degrees)})
    model = DriftModel.fit(names, embeddings=embeddings)

    assert model.similarity("question", "query") == pytest.approx(expected)


def test_embeddings_of_a_text_are_asked_for_once_while_they_are_kept() -> None:
    embeddings = TableEmbeddings({})
    model = DriftModel.fit([], embeddings=embeddings)
    for _ in range(3):
        model.similarity("question", "query")
    asked_first = list(embeddings.asked)
    for n in range(CACHED_TEXTS):
        model.similarity("question", f"query {n}")
    model.similarity("question", "query")

    assert asked_first == ["question", "query"]
    assert embeddings.asked.count("query") == 2


def test_an_embedding_model_that_fails_says_so() -> None:
    class Failing(TableEmbeddings):
        def embed_query(self, text: str) -> list[float]:
            raise TimeoutError("no answer")

    with pytest.raises(TimeoutError, match=r"^no answer$"):
        DriftModel.fit([], embeddings=Failing({})).similarity("question", "query")
