"""The labelled question sets: shape, counts, labels, and that neither repeats the other."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SETS: dict[str, list[dict[str, Any]]] = {
    name: yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))
    for name, path in {
        "training": "agent/data/local/training.yaml",
        "heldout": "tests/data/questions_heldout.yaml",
    }.items()
}
CHUNK_IDS = frozenset(
    (
        "plans", "annual", "trial", "refunds", "cancel", "export", "invoices", "payments",
        "upgrade", "sizing", "reboot", "backups", "snapshots", "migration", "domains",
        "certificates", "firewall", "access", "sla", "incidents", "maintenance", "support",
        "regions", "company",
    )
)  # fmt: skip
PHRASINGS = frozenset(
    (
        "plain", "short", "keywords", "caps", "typo", "colloquial", "complaint", "advice",
        "greeting", "what_if", "long", "non_native",
    )
)  # fmt: skip
OFF_TOPIC_KINDS = frozenset(
    (
        "hard", "smalltalk", "other_company", "programming", "general_tech", "injection",
        "other_language", "noise",
    )
)  # fmt: skip
GOOD_ENTRY = {
    "question": "Where is my bill?",
    "topic": "on",
    "answers": ["invoices"],
    "style": "plain",
}
MAX_WORD_OVERLAP = 0.65
"""Shared words of two questions over all their words; chosen by us. What is above it is in practice
the same question with a word changed; "How do I cancel my plan?" and "How do I cancel my gym
contract?" have 0.625."""


def words(question: str) -> frozenset[str]:
    return frozenset(re.findall(r"[^\W_]+", question.casefold()))


def kind(entry: dict[str, Any]) -> str:
    if entry["topic"] == "off":
        return "off"
    return "answerable" if entry["answers"] else "unanswerable"


def flaws(entry: dict[str, Any]) -> list[str]:
    if list(entry) != ["question", "topic", "answers", "style"]:
        return ["fields"]
    on_topic, answers = entry["topic"] == "on", entry["answers"]
    asked = entry["question"]
    rules = {
        "question": isinstance(asked, str) and asked.split() != [] and asked == asked.strip(),
        "topic": entry["topic"] in {"on", "off"},
        "answers": set(answers) <= CHUNK_IDS and len(set(answers)) == len(answers),
        "answers of an off-topic question": on_topic or answers == [],
        "style": entry["style"] in (PHRASINGS if on_topic else PHRASINGS | OFF_TOPIC_KINDS),
    }
    return [rule for rule, holds in rules.items() if not holds]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, [], id="a-good-entry-has-none"),
        pytest.param({"topic": "off", "answers": [], "style": "hard"}, [], id="good-off-topic"),
        pytest.param({"answers": []}, [], id="good-unanswerable"),
        pytest.param({"note": ""}, ["fields"], id="a-field-too-many"),
        pytest.param({"question": " "}, ["question"], id="blank"),
        pytest.param({"answers": ["prices"]}, ["answers"], id="unknown-chunk"),
        pytest.param({"answers": ["plans", "plans"]}, ["answers"], id="chunk-twice"),
        pytest.param({"topic": "off"}, ["answers of an off-topic question"], id="off-and-answered"),
        pytest.param({"style": "hard"}, ["style"], id="off-topic-kind-on-topic"),
        pytest.param({"topic": True, "answers": []}, ["topic"], id="bare-on-is-a-truth-value"),
    ],
)
def test_flaws_of_an_entry(changes: dict[str, Any], expected: list[str]) -> None:
    assert flaws({**GOOD_ENTRY, **changes}) == expected


@pytest.mark.parametrize("name", SETS)
def test_no_entry_has_a_flaw(name: str) -> None:
    assert [(entry, flaws(entry)) for entry in SETS[name] if flaws(entry)] == []


def test_the_chunk_ids_are_the_headings_of_the_handbook() -> None:
    pages = (ROOT / "agent/data/handbook").glob("*.md")

    ids = [found for page in pages for found in re.findall(r"\{#(\w+)\}", page.read_text("utf-8"))]

    assert sorted(ids) == sorted(CHUNK_IDS)


@pytest.mark.parametrize(
    ("name", "of_kind", "at_least"),
    [
        pytest.param("training", "answerable", 260, id="training-answerable"),
        pytest.param("training", "unanswerable", 80, id="training-unanswerable"),
        pytest.param("training", "off", 220, id="training-off-topic"),
        pytest.param("heldout", "answerable", 120, id="heldout-answerable"),
        pytest.param("heldout", "unanswerable", 50, id="heldout-unanswerable"),
        pytest.param("heldout", "off", 110, id="heldout-off-topic"),
    ],
)
def test_a_set_holds_enough_questions_of_each_kind(name: str, of_kind: str, at_least: int) -> None:
    assert sum(kind(entry) == of_kind for entry in SETS[name]) >= at_least


@pytest.mark.parametrize(("name", "at_least"), [("training", 10), ("heldout", 5)])
def test_every_chunk_answers_enough_questions(name: str, at_least: int) -> None:
    counts = Counter(chunk for entry in SETS[name] for chunk in entry["answers"])

    assert {chunk for chunk in CHUNK_IDS if counts[chunk] < at_least} == set()


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("topic", ["on", "off"])
def test_every_phrasing_is_found_on_and_off_topic(name: str, topic: str) -> None:
    styles = {entry["style"] for entry in SETS[name] if entry["topic"] == topic}

    assert PHRASINGS - {"short"} - styles == set()


@pytest.mark.parametrize("name", SETS)
def test_no_set_asks_the_same_words_twice(name: str) -> None:
    counts = Counter(words(entry["question"]) for entry in SETS[name])

    assert [set(asked) for asked, count in counts.items() if asked and count > 1] == []


def test_no_heldout_question_is_a_training_question_in_other_clothes() -> None:
    training = [(entry["question"], words(entry["question"])) for entry in SETS["training"]]
    alike = []
    for entry in SETS["heldout"]:
        asked = words(entry["question"])
        for question, known in training:
            if len(asked & known) > MAX_WORD_OVERLAP * len(asked | known):
                alike.append((entry["question"], question))

    assert alike == []
