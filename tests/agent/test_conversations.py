from __future__ import annotations

from agent.answer import Answer
from agent.conversations import Conversations
from agent.state import HISTORY_MESSAGES


def answer(question: str) -> Answer:
    return Answer(question=question, outcome="answered", reason=None, reply=f"re {question}")


def said(conversations: Conversations, thread: str | None) -> list[str]:
    return [str(message.text) for message in conversations.history(thread)]


def test_a_question_on_its_own_leaves_nothing() -> None:
    conversations = Conversations()
    conversations.add(None, answer("one"))

    assert said(conversations, None) == []


def test_only_the_newest_messages_of_a_thread_are_kept() -> None:
    conversations = Conversations()
    for number in range(HISTORY_MESSAGES):
        conversations.add("a", answer(str(number)))

    assert len(said(conversations, "a")) == HISTORY_MESSAGES
    assert said(conversations, "a")[-1] == f"re {HISTORY_MESSAGES - 1}"


def test_the_conversation_that_was_silent_longest_is_forgotten() -> None:
    conversations = Conversations(limit=2)
    for thread in ("a", "b", "a", "c"):
        conversations.add(thread, answer(thread))

    assert [bool(said(conversations, thread)) for thread in "abc"] == [True, False, True]


def test_a_history_handed_out_does_not_change_later() -> None:
    conversations = Conversations()
    conversations.add("a", answer("one"))
    before = conversations.history("a")
    conversations.add("a", answer("two"))

    assert len(before) == 2
