from __future__ import annotations

import re

import pytest

from agent.memory.errors import InvalidThreadError
from agent.memory.thread import MAX_ID_CHARS, Thread


@pytest.mark.parametrize(
    "id_",
    [
        pytest.param("0b7e6c9e-6a5f-4a52-9d0e-1f2a3b4c5d6e", id="a-uuid"),
        pytest.param("user.7_a~b:c-D", id="every-mark-that-is-allowed"),
        pytest.param("x" * MAX_ID_CHARS, id="the-longest"),
    ],
)
def test_an_id_of_letters_digits_and_a_few_marks_is_taken(id_: str) -> None:
    assert re.fullmatch("[0-9a-f]{64}", Thread(id=id_).key)


@pytest.mark.parametrize(
    ("id_", "problem"),
    [
        pytest.param("", "it is empty", id="empty"),
        pytest.param("x" * 300, "it has 300 characters", id="too-long"),
        pytest.param("a/../b", "it holds other characters", id="a-path"),
        pytest.param("a\n", "it holds other characters", id="a-line-break-at-the-end"),
        pytest.param(".", "it is no more than dots", id="a-dot-that-clients-take-out-of-a-path"),
        pytest.param("..", "it is no more than dots", id="two-dots-that-lead-to-another-path"),
        pytest.param("ä", "it holds other characters", id="a-letter-of-another-alphabet"),
    ],
)
def test_any_other_id_is_refused_without_being_repeated(id_: str, problem: str) -> None:
    with pytest.raises(InvalidThreadError) as refused:
        Thread(id=id_)

    assert str(refused.value) == (
        f"the thread id cannot be used: {problem}; expected 1 to 128 letters, digits or characters "
        "of '.', '_', '-', '~' and ':'. Leave it out to begin a conversation with an id of ours."
    )


def test_the_same_id_of_two_callers_names_two_conversations() -> None:
    threads = [Thread(id="1"), Thread(id="1", caller="u1"), Thread(id="1", caller="u2"),
               Thread(id="1u", caller="u"), Thread(id="u1", caller="")]  # fmt: skip

    assert len({thread.key for thread in threads}) == len(threads)


def test_the_same_id_of_the_same_caller_names_the_same_conversation() -> None:
    assert Thread(id="1", caller="u").key == Thread(id="1", caller="u").key


def test_new_threads_have_128_random_bits() -> None:
    ids = {Thread.new("u").id for _ in range(100)}

    assert len(ids) == 100
    assert all(re.fullmatch("[0-9a-f]{32}", id_) for id_ in ids)
