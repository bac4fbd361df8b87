from __future__ import annotations

import pytest

from telemetry.passages import Passages
from telemetry.phrasing import read
from telemetry.spaces import read_documents

DOCUMENTS = [
    "Refunds are paid within ten days of the order.",
    "Backups run every night and are kept for two weeks.",
    "Pay by bank transfer or by card.",
]
PASSAGES = Passages(read_documents(DOCUMENTS))


@pytest.mark.parametrize(
    ("text", "best"),
    [
        pytest.param("backups", 1, id="its-word"),
        pytest.param("my money back please", 0, id="another-word-for-it"),
        pytest.param("how do I pay with a card", 2, id="several-words"),
    ],
)
def test_the_document_that_has_most_of_a_text(text: str, best: int) -> None:
    assert PASSAGES.shares(read(text)).argmax() == best


def test_shares_are_of_the_whole_text() -> None:
    (whole,) = Passages([read("nightly flugelhorn")]).shares(read("flugelhorn"))
    (half,) = Passages([read("nightly flugelhorn")]).shares(read("flugelhorn marmalade"))

    assert whole == pytest.approx(1)
    assert 0 < half < 0.5  # an unknown word counts more than one that every document has


@pytest.mark.parametrize("documents", [[], [""], ["?!"]], ids=["none", "empty", "no-word"])
def test_documents_that_say_nothing(documents: list[str]) -> None:
    passages = Passages(read_documents(documents))

    assert passages.shares(read("backups")).tolist() == [0]
    assert not passages.have(read("backups").items[0])


def test_a_phrase_is_had_whole_or_by_its_words() -> None:
    (phrase,) = read("bank transfer").items
    (other,) = read("wire transfer").items

    assert PASSAGES.have(phrase)
    assert Passages([read("Transfer it to another bank.")]).have(phrase)
    assert not PASSAGES.have(other)
