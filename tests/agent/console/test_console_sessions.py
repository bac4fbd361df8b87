from __future__ import annotations

import pytest

from agent.console.sessions import COOKIE, Sessions
from agent.http.callers import Callers
from agent.http.errors import UnauthorizedError

KEYS = Callers({"k1": "alice", "k2": "bob"})


def test_without_keys_everyone_is_the_anonymous_caller() -> None:
    assert Sessions(Callers({})).caller("") == ""


def test_a_key_opens_a_session_of_its_caller() -> None:
    sessions = Sessions(KEYS)
    token = sessions.open("k2")

    assert sessions.caller(f"other=1; {COOKIE}={token}") == "bob"
    assert "k2" not in token


@pytest.mark.parametrize(
    "cookies",
    [
        pytest.param("", id="none"),
        pytest.param(f"{COOKIE}=guessed", id="a-guess"),
        pytest.param(f"{COOKIE}=k1", id="the-key-itself"),
        pytest.param("\x00;;=;", id="rubbish"),
    ],
)
def test_other_cookies_are_nobody(cookies: str) -> None:
    assert Sessions(KEYS).caller(cookies) is None


def test_a_wrong_key_opens_nothing() -> None:
    with pytest.raises(UnauthorizedError):
        Sessions(KEYS).open("k3")
