"""The tokenizer: what one word is in support text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.retrieval.tokens import FUNCTION_WORDS, MAX_TOKEN_CHARS, tokenize

NAMES_A_THING_AN_ACTION_OR_A_DIRECTION = (
    "system bill call fire interest amount back name part move empty down on off up out over "
    "not no never without nothing none us help"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "What happens if my server goes down?", ["happens", "server", "goes", "down"],
            id="question-words-and-auxiliaries-go",
        ),
        pytest.param(
            "What happens when my server is unavailable?", ["happens", "server", "unavailable"],
            id="only-content-words-of-a-rewrite-stay",
        ),
        pytest.param("The bill is not down", ["bill", "not", "down"], id="negation-stays"),
        pytest.param("I can't, won't, don't", ["not"] * 3, id="short-negations-stay"),
        pytest.param("cannot don’t dont", ["not"] * 3, id="negation-in-any-spelling"),
        pytest.param("what's the server's IP", ["server", "ip"], id="apostrophe-endings-go"),
        pytest.param("C++ and C#", ["c++", "c#"], id="languages-are-not-the-letter-c"),
        pytest.param("node.js.", ["node.js", "node", "js"], id="dotted-name-whole-and-in-parts"),
        pytest.param("e-mail email", ["email", "e", "mail", "email"], id="hyphen-in-a-word"),
        pytest.param("TLS1.3", ["tls1.3", "tls", "1.3"], id="name-with-version"),
        pytest.param(
            "ubuntu-22.04", ["ubuntu-22.04", "ubuntu", "22.04"], id="version-number-is-one-part"
        ),
        pytest.param(".htaccess", [".htaccess", "htaccess"], id="name-with-a-leading-dot"),
        pytest.param(
            "ERR_SSL_42", ["err_ssl_42", "err", "ssl", "42"], id="error-code-with-underscores"
        ),
        pytest.param(
            "E1234-5", ["e1234-5", "e1234", "1234", "5"], id="error-code-with-a-hyphen"
        ),
        pytest.param("a1b2c3d4", ["a1b2c3d4"], id="random-code-stays-whole"),
        pytest.param("plan S", ["plan", "s"], id="one-letter-plan"),
        pytest.param("is Plan A a plan", ["plan", "plan", "a"], id="capital-a-names-a-plan"),
        pytest.param("A DNS A record", ["dns", "record", "a"], id="capital-a-names-a-record"),
        pytest.param("CAN I ADD A DOMAIN", ["add", "domain"], id="capitals-name-nothing"),
        pytest.param("$1,200.50 or 99.9%", ["1200.50", "99.9"], id="numbers-stay-whole"),
        pytest.param("24/7", ["24/7", "24", "7"], id="round-the-clock"),
        pytest.param("8GB", ["8gb", "8", "gb"], id="number-with-a-unit"),
        pytest.param("TCP/IP", ["tcp", "ip"], id="slash-separates-words"),
        pytest.param("ＰＡＳＳＷＯＲＤ １２", ["password", "12"], id="full-width-is-normalised"),
        pytest.param("cafe\u0301 STRASSE straße", ["café", "strasse", "strasse"], id="case-folded"),
        pytest.param("pass\u00adword no\u200bspace", ["password", "no", "space"], id="unseen"),
        pytest.param("पासवर्ड रीसेट", ["पासवर्ड", "रीसेट"], id="hindi-words-keep-their-vowel-signs"),
        pytest.param("密码", ["密", "码", "密码"], id="chinese-characters-and-pairs"),
        pytest.param("重置VPN", ["重", "置", "重置", "vpn"], id="scripts-part-without-a-blank"),
        pytest.param("パスワ", ["パス", "スワ"], id="japanese-pairs"),
        pytest.param("รหัส", ["รหั", "หัส"], id="thai-pairs-keep-their-marks"),
        pytest.param("票", ["票"], id="single-character-word"),
        pytest.param("\ud83d server \udc00", ["server"], id="lone-surrogates-separate"),
        pytest.param("x" * (MAX_TOKEN_CHARS + 1), [], id="encoded-data-is-dropped"),
        pytest.param("?! … 🙂", [], id="no-word-no-token"),
        pytest.param("", [], id="empty-text"),
    ],
)  # fmt: skip
def test_tokens_of_support_text(text: str, expected: list[str]) -> None:
    assert tokenize(text) == expected


@pytest.mark.parametrize("word", NAMES_A_THING_AN_ACTION_OR_A_DIRECTION.split())
def test_words_that_name_something_are_kept(word: str) -> None:
    assert tokenize(word) == [word]


@pytest.mark.parametrize("word", sorted(FUNCTION_WORDS))
def test_function_words_vanish(word: str) -> None:
    assert tokenize(f"server {word} server") == ["server", "server"]


@given(st.text())
def test_any_text_gives_short_folded_tokens(text: str) -> None:
    tokens = tokenize(text)

    assert tokens == tokenize(text)
    assert all(0 < len(token) <= MAX_TOKEN_CHARS for token in tokens)
    assert not any(token.isspace() or "\ud800" <= token <= "\udfff" for token in tokens)


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_ascii_text_and_unicode_text_are_cut_alike(text: str) -> None:
    assert tokenize(f"{text} é")[: len(tokenize(text))].count("é") == 0
    assert sorted([*tokenize(text), "é"]) == sorted(tokenize(f"{text} é"))
