from __future__ import annotations

import pytest

from agent.models.local.lexicon import Phrases, load_lexicon
from agent.models.local.reading import read
from agent.models.local.words import stem, words

PHRASES = Phrases(
    {
        "refund": ["money back", "refund"],
        "money": ["money"],
        "move": ["move domain"],
        "skipped words alone": ["the"],
    }
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("refunded", [(0, 1, {"refund"})], id="found-in-any-form"),
        pytest.param("get money back", [(1, 3, {"refund"})], id="the-longest-phrase-wins"),
        pytest.param("money", [(0, 1, {"money"})], id="a-part-alone-is-its-own-phrase"),
        pytest.param("move my domain", [(0, 3, {"move"})], id="a-possessive-does-not-part-it"),
        pytest.param("the domain", [], id="what-is-in-no-group"),
        pytest.param("", [], id="no-words"),
    ],
)
def test_find(text: str, expected: list[tuple[int, int, set[str]]]) -> None:
    spans = PHRASES.find([stem(word) for word in words(text)])

    assert [(span.start, span.end, set(span.groups)) for span in spans] == expected


def test_find_all_also_gives_phrases_within_longer_ones() -> None:
    assert PHRASES.find_all([stem("money"), "back"]) == {"refund", "money"}


def test_every_related_name_is_a_concept() -> None:
    lexicon = load_lexicon()

    concepts = {name for groups in lexicon.concepts.groups.values() for name in groups}

    named = {*lexicon.related, *(name for names in lexicon.related.values() for name in names)}
    assert named <= concepts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Hi, money back, please?", [("refund", ("money", "back"))], id="no-manners"),
        pytest.param("Thanks!", [], id="manners-alone-are-nothing"),
        pytest.param("invoice invoice", [("invoice", ("invoice",))], id="each-unit-once"),
    ],
)
def test_what_a_question_speaks_of(text: str, expected: list[tuple[str, tuple[str, ...]]]) -> None:
    units = read(text, load_lexicon()).units

    assert [(sorted(u.concepts)[0], u.words[-2:]) for u in units] == expected


def test_a_question_on_something_else_shows_it() -> None:
    signs = read("Will it rain in my garden?", load_lexicon()).signs

    assert {name for span in signs for name in span.groups} >= {"elsewhere:weather"}
