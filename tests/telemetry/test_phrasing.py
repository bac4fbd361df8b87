from __future__ import annotations

import pytest

from telemetry.phrasing import (
    ACTION,
    FACET,
    FILLER,
    MAX_CHARACTERS,
    SETTING,
    SUBJECT,
    UNKNOWN,
    read,
    stem,
    words,
)


@pytest.mark.parametrize(
    ("forms", "expected"),
    [
        pytest.param(
            "cancel cancels cancelled canceled cancelling cancellation", "cancel", id="ll"
        ),
        pytest.param("migrate migrates migrated migrating migration", "migr", id="ate"),
        pytest.param("refund refunds refunded refunding", "refund", id="regular"),
        pytest.param("go goes went gone going", "go", id="irregular"),
        pytest.param("stop stopping stopped", "stop", id="doubled-letter"),
        pytest.param("company companies", "company", id="y"),
        pytest.param("sla", "sla", id="three-letters-stay"),
        pytest.param("ipv6", "ipv6", id="digits-stay"),
        pytest.param("address addresses", "address", id="ss"),
    ],
)
def test_stem(forms: str, expected: str) -> None:
    assert {stem(form) for form in forms.split()} == {expected}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Don’t log-in!", ["don't", "log-in"], id="apostrophe-and-hyphen"),
        pytest.param("C++ and node.js", ["c++", "and", "node.js"], id="product-names"),
        pytest.param("ＳＳＬ ﬁle", ["ssl", "file"], id="compatibility-forms"),
        pytest.param("返金は", ["返金", "金は"], id="unspaced-script-in-pairs"),
        pytest.param("...", [], id="no-word"),
        pytest.param("a" * (MAX_CHARACTERS + 9), ["a" * MAX_CHARACTERS], id="capped"),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert list(words(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("How do I get my money back?", {"refund"}, id="a-phrase-round-a-pronoun"),
        pytest.param("my server goes down", {"server", "outage"}, id="a-phrase-in-another-form"),
        pytest.param("scaling down", {"downgrade"}, id="the-longest-phrase-wins"),
        pytest.param("reimbursement", {"refund", "expense"}, id="two-meanings"),
        pytest.param("how long", {"duration"}, id="a-facet"),
        pytest.param("flugelhorn", set(), id="an-unknown-word"),
    ],
)
def test_concepts(text: str, expected: set[str]) -> None:
    found = {concept for item in read(text).items for concept in item.concepts}

    assert found == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("refund", SUBJECT, id="subject"),
        pytest.param("server", SETTING, id="setting"),
        pytest.param("configure", ACTION, id="action"),
        pytest.param("how often", FACET, id="facet"),
        pytest.param("information", FILLER, id="filler"),
        pytest.param("flugelhorn", UNKNOWN, id="unknown"),
    ],
)
def test_kind(text: str, expected: str) -> None:
    assert [item.kind for item in read(text).items] == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("what is covered", False, id="plain"),
        pytest.param("what is not covered", True, id="once"),
        pytest.param("you cannot do without it", False, id="twice-is-no-negation"),
        pytest.param("my server does not respond", False, id="a-no-inside-a-phrase"),
    ],
)
def test_negation(text: str, expected: bool) -> None:
    assert read(text).is_negated is expected


def test_each_word_is_one_item_and_function_words_are_none() -> None:
    assert [item.stem for item in read("the refund, a refund and refunds").items] == ["refund"]
