from __future__ import annotations

import pytest

from agent.events import ReplyText, Token, Withdrawn


def sent(pieces: list[str | None], reply: str) -> list[str | None]:
    """Return the texts that go out for a model's pieces; None where they are withdrawn."""
    text = ReplyText()
    events = [event for piece in pieces for event in text.add(piece)]
    events += text.end(reply)
    return [event.text if isinstance(event, Token) else None for event in events]


@pytest.mark.parametrize(
    ("pieces", "reply", "expected"),
    [
        pytest.param([None, "It ", "is so", " [a]."], "It is so [a].", ["It", " is so", " [a]."],
                     id="pieces-go-out-as-they-come"),
        pytest.param([], "Nothing found.", ["Nothing found."], id="a-fixed-reply-is-one-piece"),
        pytest.param([None, "\n", " So.", " \n"], "So.", ["So."], id="blanks-at-the-ends-stay-in"),
        pytest.param([None, "<thi", "nk>It", " may</th", "ink>So", "."], "So.", ["So", "."],
                     id="thinking-stays-in"),
        pytest.param([None, "So. <think>", "hm</think> Yes"], "So.  Yes", ["So.", "  Yes"],
                     id="thinking-in-the-middle-stays-in"),
        pytest.param([None, "a < b", " and", " b > c"], "a < b and b > c",
                     ["a < b", " and", " b > c"], id="a-less-than-sign-is-text"),
        pytest.param([None, "Half a", None, "A whole."], "A whole.",
                     ["Half a", None, "A whole."], id="a-second-try-voids-the-first"),
        pytest.param([None, "", None, "A whole."], "A whole.", ["A whole."],
                     id="a-try-that-said-nothing-voids-nothing"),
        pytest.param([None, "It is"], "Sorry.", ["It is", None, "Sorry."],
                     id="another-reply-voids-what-was-sent"),
        pytest.param([None, "hm, so</think>Yes"], "Yes", ["Yes"],
                     id="a-closing-tag-alone-ends-thinking"),
        pytest.param([None, "hm", "</think>Yes"], "Yes", ["hm", None, "Yes"],
                     id="thinking-that-nobody-opened-is-voided-when-it-closes"),
        pytest.param([None, "It is [x]."], "It is [x]. (x is no source.)",
                     ["It is [x].", " (x is no source.)"], id="what-is-added-follows"),
    ],
)  # fmt: skip
def test_the_pieces_since_the_last_withdrawal_are_the_reply(
    pieces: list[str | None], reply: str, expected: list[str | None]
) -> None:
    told = sent(pieces, reply)
    last = max((n for n, text in enumerate(told) if text is None), default=-1)

    assert told == expected
    assert "".join(text or "" for text in told[last + 1 :]) == reply


def test_a_withdrawal_is_an_event_of_its_own() -> None:
    text = ReplyText()

    assert list(text.add("One")) == [Token(text="One")]
    assert list(text.end("Two")) == [Withdrawn(), Token(text="Two")]
