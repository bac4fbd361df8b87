from __future__ import annotations

from importlib import resources

import pytest

from telemetry import lexicon

CONCEPTS = {*lexicon.SUBJECTS, *lexicon.ACTIONS, *lexicon.FACETS}
INTENTS = resources.files("telemetry").joinpath("data/intents.txt").read_text(encoding="utf-8")
LINES = [line for line in INTENTS.splitlines() if line and not line.startswith("#")]
NAMES = {line.split(":")[0] for line in LINES if line[0] not in "=+"}


@pytest.mark.parametrize("name", ["refund", "outage", "domain"])
def test_a_concept_has_words(name: str) -> None:
    assert len(lexicon.SUBJECTS[name]) > 5


def test_a_concept_is_of_one_table() -> None:
    sizes = (len(lexicon.SUBJECTS), len(lexicon.ACTIONS), len(lexicon.FACETS))

    assert len(CONCEPTS) == sum(sizes)


def test_relations_name_concepts_that_there_are() -> None:
    related = {*lexicon.RELATED, *(name for names in lexicon.RELATED.values() for name in names)}
    opposite = {name for pair in lexicon.OPPOSITES for name in pair}

    assert (related | opposite | lexicon.SETTINGS) <= CONCEPTS


def test_a_word_is_listed_once_under_a_concept() -> None:
    tables = (lexicon.SUBJECTS, lexicon.ACTIONS, lexicon.FACETS)
    twice = [name for t in tables for name, words in t.items() if len(set(words)) < len(words)]

    assert twice == []


def test_word_lists_and_groups_of_intents_name_intents_that_there_are() -> None:
    words = {line[1:].split(":")[0] for line in LINES if line.startswith("=")}
    groups = [line.split(":")[1].split() for line in LINES if line.startswith("+")]

    assert words <= NAMES
    assert {name for group in groups for name in group} <= NAMES


def test_an_intent_has_one_line_of_sentences() -> None:
    assert len(NAMES) == sum(line[0] not in "=+" for line in LINES)
