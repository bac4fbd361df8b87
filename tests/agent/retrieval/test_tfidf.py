"""The TF-IDF retriever."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from agent.errors import DuplicateChunkError, EmptyCorpusError
from agent.retrieval.tfidf import CorpusChunk, TfidfIndex, TfidfRetriever
from agent.retrieval.tokens import tokenize

SUPPORT = [
    "Reset your password from the account page.",
    "The VPN client drops when the laptop sleeps.",
    "Change the billing plan from the invoice page.",
    "Contact the support team to reset the VPN token.",
    "Password rules: twelve characters and one digit.",
    "Invoices are sent on the first day of the month.",
]
SCRIPTS = ["重置密码的方法", "发票在每月第一天发送", "पासवर्ड रीसेट करें", "चालान महीने के पहले दिन"]


def make_chunks(*texts: str) -> list[CorpusChunk]:
    return [CorpusChunk(id=f"c{i:03}", text=text) for i, text in enumerate(texts)]


def scores(retriever: TfidfRetriever, query: str) -> dict[str, float]:
    return {str(d.id): d.metadata["score"] for d in retriever.invoke(query)}


def test_documents_carry_plain_values() -> None:
    chunk = CorpusChunk(id="refunds", text="Refunds\n\nMoney back.", title="Refunds", source="b.md")

    (document,) = TfidfRetriever.from_chunks([chunk]).invoke("money")

    assert document.page_content == "Refunds\n\nMoney back."
    assert document.id == "refunds"
    assert document.metadata == {
        "id": "refunds",
        "score": pytest.approx(1 / 3**0.5),
        "title": "Refunds",
        "source": "b.md",
    }
    assert type(document.metadata["score"]) is float
    json.dumps(document.metadata, allow_nan=False)


async def test_async_search_gives_the_same() -> None:
    retriever = TfidfRetriever.from_chunks(make_chunks(*SUPPORT))

    assert await retriever.ainvoke("reset VPN") == retriever.invoke("reset VPN")


def test_unknown_words_give_k_chunks_at_score_zero_in_id_order() -> None:
    retriever = TfidfRetriever.from_chunks(make_chunks(*SUPPORT))

    assert scores(retriever, "xyzzy plugh") == {"c000": 0.0, "c001": 0.0}


def test_one_match_is_filled_up_to_k() -> None:
    retriever = TfidfRetriever.from_chunks(make_chunks(*SUPPORT))

    first, second = retriever.invoke("invoices xyzzy")

    assert (first.id, second.id) == ("c005", "c000")
    assert first.metadata["score"] > second.metadata["score"] == 0.0


@pytest.mark.parametrize("query", ["", "???", "what is it", "\ud83d"])
def test_query_without_words_finds_the_first_ids(query: str) -> None:
    retriever = TfidfRetriever.from_chunks(make_chunks(*SUPPORT))

    assert scores(retriever, query) == {"c000": 0.0, "c001": 0.0}


def test_k_larger_than_the_corpus_gives_all() -> None:
    assert len(TfidfRetriever.from_chunks(make_chunks(*SUPPORT), k=50).invoke("VPN")) == 6


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("k", "expected"), [(1, ["a"]), (2, ["a", "b"])])
def test_equal_texts_come_in_id_order_whatever_the_input_order(
    reverse: bool, k: int, expected: list[str]
) -> None:
    chunks = [
        CorpusChunk(id="a", text="Reset the password"),
        CorpusChunk(id="b", text="Reset the password"),
        CorpusChunk(id="c", text="Invoices"),
    ]

    retriever = TfidfRetriever.from_chunks(chunks[::-1] if reverse else chunks, k=k)

    assert [d.id for d in retriever.invoke("password")] == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("bill", "c000", id="bill"),
        pytest.param("system down", "c001", id="system-down"),
        pytest.param("call back", "c000", id="call-back"),
    ],
)
def test_domain_words_of_english_stop_lists_are_found(query: str, expected: str) -> None:
    retriever = TfidfRetriever.from_chunks(
        make_chunks("Call back about the bill.", "The system is down."), k=1
    )

    found = scores(retriever, query)
    assert list(found) == [expected]
    assert found[expected] > 0


@pytest.mark.parametrize(("query", "expected"), [("密码", "c000"), ("पासवर्ड", "c002")])
def test_scripts_without_blanks_or_with_vowel_signs_are_found(query: str, expected: str) -> None:
    found = scores(TfidfRetriever.from_chunks(make_chunks(*SCRIPTS), k=4), query)

    assert max(found, key=lambda id_: found[id_]) == expected
    assert sorted(found.values())[:3] == [0.0] * 3
    assert found[expected] > 0


def test_rewrite_with_unknown_synonym_keeps_chunks_and_scores() -> None:
    retriever = TfidfRetriever.from_chunks(
        make_chunks("Restart your server from the panel.", "Choose a server size.", "Refunds.")
    )

    before = scores(retriever, "What happens if my server goes down?")
    after = scores(retriever, "What happens when my server is unavailable?")

    assert before == after
    assert set(before) == {"c000", "c001"}
    assert min(before.values()) > 0


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        pytest.param([], "0 chunks", id="no-chunk"),
        pytest.param([""], "1 chunks", id="empty-chunk"),
        pytest.param(["the and of"], "1 chunks", id="function-words-only"),
    ],
)
def test_corpus_without_a_word_is_one_clear_line(texts: list[str], problem: str) -> None:
    with pytest.raises(EmptyCorpusError) as caught:
        TfidfRetriever.from_chunks(make_chunks(*texts), source="/data/docs")

    assert str(caught.value) == (
        f"nothing to search in /data/docs: got {problem} without a word, expected at least one "
        "markdown or text file with a word that is not a function word. Add documents or choose "
        "another folder."
    )
    assert caught.value.code == "empty_corpus"


def test_one_document_is_a_corpus() -> None:
    retriever = TfidfRetriever.from_chunks(make_chunks("Reset your password."))

    assert list(scores(retriever, "password")) == ["c000"]


def test_an_id_used_twice_is_refused() -> None:
    chunks = [CorpusChunk(id="x", text="one", source="a.md"), CorpusChunk(id="x", text="two")]

    with pytest.raises(DuplicateChunkError, match=r"chunk id used twice: got 'x' in a\.md and in"):
        TfidfIndex.fit(chunks)


def test_k_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        TfidfRetriever.from_chunks(make_chunks("text"), k=0)


def test_fingerprint_changes_with_the_text_and_not_with_the_order() -> None:
    chunks = make_chunks("one", "two")

    assert TfidfIndex.fit(chunks).fingerprint == TfidfIndex.fit(chunks[::-1]).fingerprint
    assert TfidfIndex.fit(chunks).fingerprint != TfidfIndex.fit(make_chunks("one", "2")).fingerprint


def test_progress_counts_every_chunk() -> None:
    steps: list[tuple[int, int]] = []

    TfidfIndex.fit(make_chunks("one", "two"), on_chunk=lambda done, of: steps.append((done, of)))

    assert steps == [(1, 2), (2, 2)]


words = st.sampled_from("server down outage plan s refund 24/7 e-mail c++ not 密码 the of".split())  # noqa: SIM905 - as text
texts = st.lists(words, max_size=12).map(" ".join)


@given(st.lists(texts, min_size=1, max_size=20), texts)
def test_scores_equal_those_of_the_plain_vectorizer(corpus: list[str], query: str) -> None:
    vectorizer = TfidfVectorizer(analyzer=tokenize)
    corpus = [*corpus, "server"]
    matrix = vectorizer.fit(corpus).transform(corpus)

    plain = (vectorizer.transform([query]) @ matrix.T).toarray().ravel().tolist()

    chunks = make_chunks(*corpus)
    found = scores(TfidfRetriever.from_chunks(chunks, k=len(corpus)), query)
    assert [found[chunk.id] for chunk in chunks] == plain
