from __future__ import annotations

import pytest

from agent.models.local.followup import standalone
from agent.models.local.lexicon import load_lexicon

REFUND = "Can I get my money back?"
RESTART = "How do I restart my server?"


@pytest.mark.parametrize(
    ("history", "question", "expected"),
    [
        pytest.param(
            [REFUND],
            "What about annual plans?",
            "Can I get my money back for annual plans?",
            id="what-about",
        ),
        pytest.param(
            [RESTART], "And on Windows?", "How do I restart my server on Windows?", id="and-on"
        ),
        pytest.param(
            [REFUND],
            "How long does it take?",
            "Can I get my money back? How long does it take?",
            id="a-pronoun-points-back",
        ),
        pytest.param(
            [REFUND, "What about annual plans?"],
            "And for monthly ones?",
            "Can I get my money back for monthly ones?",
            id="a-chain-goes-back-to-the-last-question-that-stood-alone",
        ),
        pytest.param([REFUND], "Why?", "Can I get my money back? Why?", id="a-bare-question-word"),
        pytest.param(
            [REFUND], "Where are your servers?", "Where are your servers?", id="a-new-question"
        ),
        pytest.param(
            [REFUND],
            "And what is your phone number?",
            "And what is your phone number?",
            id="and-before-a-new-question",
        ),
        pytest.param(
            [RESTART],
            "My site is down, can you fix it?",
            "My site is down, can you fix it?",
            id="a-pronoun-with-its-own-noun",
        ),
        pytest.param(
            [REFUND],
            "Is it possible to pay by card?",
            "Is it possible to pay by card?",
            id="an-it-that-means-nothing",
        ),
        pytest.param([REFUND], "backup price", "backup price", id="keywords-are-a-new-question"),
        pytest.param([], "What about annual plans?", "What about annual plans?", id="no-history"),
        pytest.param(
            ["What about that?"], "And that?", "And that?", id="nothing-in-the-history-stands-alone"
        ),
    ],
)
def test_standalone(history: list[str], question: str, expected: str) -> None:
    assert standalone(question, history, load_lexicon()) == expected
