from __future__ import annotations

import pytest

from agent.models.local.chat import LocalChat
from agent.models.local.clarifier import clarified, clarifying_question
from agent.models.local.lexicon import load_lexicon

ASKED = "I am not sure what you mean. Is it about \u201cBackups\u201d? If not, please say so."


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param("the nightly ones", "How safe is it: the nightly ones", id="joined"),
        pytest.param("Yes, please.", "How safe is it (Backups)?", id="a-bare-yes-is-the-subject"),
        pytest.param(
            "Yes, the nightly ones", "How safe is it: Yes, the nightly ones",
            id="a-yes-with-more-is-joined",
        ),
        pytest.param(
            "How do I cancel my plan?", "How do I cancel my plan?", id="a-new-question-is-alone"
        ),
        pytest.param(
            "What about it?", "How safe is it: What about it?", id="a-follow-up-does-not"
        ),
    ],
)  # fmt: skip
def test_one_question_of_a_doubtful_one_and_its_reply(reply: str, expected: str) -> None:
    assert clarified("How safe is it?", ASKED, reply, load_lexicon()) == expected


def test_the_subject_is_that_of_the_likeliest_chunk(handbook_chat: LocalChat) -> None:
    view = handbook_chat.understanding.view("Do you keep old copies of it?")

    assert "\u201cBackups\u201d" in clarifying_question(view, handbook_chat.understanding)


def test_without_documents_it_asks_for_other_words() -> None:
    chat = LocalChat.fit([])
    view = chat.understanding.view("Is it warm?")

    assert clarifying_question(view, chat.understanding) == (
        "I am not sure what you mean. Please tell me in other words what it is about."
    )
