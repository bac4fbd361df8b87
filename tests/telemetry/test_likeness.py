from __future__ import annotations

from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from telemetry.drift import document_profiler
from telemetry.likeness import EVIDENCE, Likeness, likeness

DOCUMENTS = [
    "Refunds are paid within ten days of the order.",
    "Backups run every night and are kept for two weeks.",
    "The availability guarantee covers outages; incidents are posted on the status page.",
]
PROFILE = document_profiler(DOCUMENTS).profile


def compare(question: str, query: str) -> Likeness:
    return likeness(PROFILE(question), PROFILE(query))


@pytest.mark.parametrize(
    ("question", "query", "expected"),
    [
        pytest.param("turn on backups", "turn off backups", 1, id="an-action-turned-round"),
        pytest.param("upgrade my plan", "downgrade my plan", 1, id="a-subject-turned-round"),
        pytest.param(
            "what is covered by the guarantee", "what is not covered by the guarantee", 1,
            id="only-one-says-no",
        ),
        pytest.param(
            "from annual to monthly billing", "from monthly to annual billing", 1,
            id="both-in-the-other-order",
        ),
        pytest.param("turn on backups", "enable backups", 0, id="another-word-for-it"),
        pytest.param("my server does not respond", "reboot a server", 0, id="no-in-a-symptom"),
        pytest.param("upgrade or downgrade", "downgrade", 0, id="one-of-two-asked-for"),
    ],
)  # fmt: skip
def test_turned(question: str, query: str, expected: float) -> None:
    assert compare(question, query).turned == expected


@pytest.mark.parametrize(
    ("question", "better", "worse", "evidence"),
    [
        pytest.param("I want my cash back", "refund policy", "invoice copy", "intent", id="intent"),
        pytest.param(
            "I want my cash back",
            "refund policy",
            "refund and weather",
            "intent_shared",
            id="share-of-the-search",
        ),
        pytest.param(
            "flugelhorn outage guarantee",
            "incidents status page",
            "nightly backups",
            "topic",
            id="topic-of-the-documents",
        ),
        pytest.param("delete a snapshot", "erase snapshots", "erase users", "mutual", id="mutual"),
        pytest.param("delete a snapshot", "delete snapshot", "delete", "overlap", id="overlap"),
    ],
)
def test_more_alike_is_higher(question: str, better: str, worse: str, evidence: str) -> None:
    high, low = (asdict(compare(question, query))[evidence] for query in (better, worse))

    assert high > low


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("refund", 0.0, id="kept"),
        pytest.param("reimbursement", 0.1, id="kept-in-another-word"),
        pytest.param("cancel", 0.5, id="close-to-it"),
        pytest.param("weather", 1.0, id="dropped"),
    ],
)
def test_dropped_subject_weighs_what_is_missing(query: str, expected: float) -> None:
    share = compare("refund", query).dropped / compare("refund", "weather").dropped

    assert share == pytest.approx(expected)


def test_words_that_nobody_knows_are_strange_only_when_new() -> None:
    assert compare("flugelhorn refund", "flugelhorn").strange == 0
    assert compare("refund", "flugelhorn").strange > 0


@pytest.mark.parametrize(
    ("question", "query", "expected"),
    [
        pytest.param("how long is a refund", "refund price", "other_side", id="another-side"),
        pytest.param("can I have a refund", "refund price", "side_added", id="a-side-nobody-asked"),
        pytest.param("how long is a refund", "refund", "side_lost", id="its-side-left-out"),
        pytest.param("how long is a refund", "how to get a refund", "way_instead", id="the-way"),
        pytest.param("daily backups", "weekly backups", "things_swapped", id="another-of-its-kind"),
        pytest.param("block an address", "allow an address", "deeds_swapped", id="the-reverse"),
        pytest.param("refund", "refund for flugelhorns", "new_unknown", id="in-no-document"),
        pytest.param("refund", "refund and incidents", "new_known", id="in-the-documents"),
        pytest.param("refund for backups", "refund", "lost_known", id="dropped-a-known-word"),
    ],
)
def test_evidence_that_is_there_and_is_not_when_nothing_changed(
    question: str, query: str, expected: str
) -> None:
    assert asdict(compare(question, query))[expected] == 1
    assert asdict(compare(question, question))[expected] == 0


def test_two_texts_that_find_the_same_document_agree_on_the_documents() -> None:
    same = compare("money back after my order", "refunds within ten days")
    other = compare("money back after my order", "backups every night")

    assert same.passages > 0.5 > other.passages
    assert (same.passage_kept, same.passage_meant) == (1, 1)
    assert other.passage_kept < 0.5


@given(question=st.text(max_size=60), query=st.text(max_size=60))
@settings(max_examples=100, deadline=None)
def test_evidence_stays_in_its_range(question: str, query: str) -> None:
    found = asdict(compare(question, query))
    shares = (
        "intent", "intent_shared", "intent_kept", "mutual", "turned", "overlap", "other_side",
        "side_added", "side_lost", "sides_apart", "price_added", "time_added", "way_instead",
        "new_unknown_share", "new_known_share", "passage_kept", "passage_meant", "found",
        "query_found",
    )  # fmt: skip

    assert tuple(found) == EVIDENCE
    assert all(-1e-6 <= found[name] <= 1 + 1e-6 for name in shares)
    assert all(-1 - 1e-6 <= found[name] <= 1 + 1e-6 for name in ("topic", "passages"))
    assert all(found[name] >= 0 for name in ("clarity", "query_clarity", "dropped", "strange"))
