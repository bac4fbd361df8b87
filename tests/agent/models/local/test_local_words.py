from __future__ import annotations

import pytest

from agent.models.local.words import is_content, stem, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("What’s the price?", ["what", "the", "price"], id="a-clitic-is-dropped"),
        pytest.param("I can't pay", ["i", "can", "not", "pay"], id="a-contraction-is-spelled-out"),
        pytest.param("it doesnt work", ["it", "does", "not", "work"], id="also-without-apostrophe"),
        pytest.param("e-mail", ["email"], id="e-mail-is-one-word"),
        pytest.param("money-back 24/7", ["money", "back", "24", "7"], id="joints-part-words"),
        pytest.param("99.95 %", ["99.95"], id="a-decimal-number-stays-whole"),
        pytest.param("pls help u", ["please", "help", "you"], id="chat-spelling-is-read"),
        pytest.param("密码", ["密", "码", "密码"], id="a-script-without-blanks"),
        pytest.param("\ud800 \x00", [], id="what-is-no-text-gives-nothing"),
        pytest.param("", [], id="nothing-gives-nothing"),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    "forms",
    [
        pytest.param(("refund", "refunds", "refunded", "refundable"), id="refund"),
        pytest.param(("migrate", "migrating", "migration", "migrates"), id="migrate"),
        pytest.param(("cancel", "cancelled", "cancelling", "cancellation"), id="cancel"),
        pytest.param(("copy", "copies"), id="copy"),
        pytest.param(("restart", "restarting", "restarts"), id="restart"),
        pytest.param(("guarantee", "guaranteed"), id="guarantee"),
        pytest.param(("address", "addresses"), id="address"),
        pytest.param(("renew", "renewal", "renewed"), id="renew"),
    ],
)
def test_forms_of_a_word_share_a_stem(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param("trial", "try", id="trial-is-not-try"),
        pytest.param("edition", "edit", id="edition-is-not-edit"),
        pytest.param("server", "serve", id="server-is-not-serve"),
        pytest.param("availability", "available", id="the-guarantee-is-not-what-is-in-stock"),
    ],
)
def test_other_words_keep_stems_apart(left: str, right: str) -> None:
    assert stem(left) != stem(right)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("refund", True, id="a-thing"),
        pytest.param("down", True, id="a-direction"),
        pytest.param("the", False, id="an-article"),
        pytest.param("not", False, id="a-negation"),
    ],
)
def test_is_content(word: str, expected: bool) -> None:
    assert is_content(word) is expected
