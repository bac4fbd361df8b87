"""Who looks: the caller of a browser, known by a cookie that was given for a key of the API."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from http.cookies import CookieError, SimpleCookie
from typing import Final

from agent.http.callers import ANONYMOUS, Callers

COOKIE: Final = "loopscope_console"
MAX_SESSIONS: Final = 1_000
"""Browsers remembered; chosen by us. The oldest has to show its key again."""
HOURS: Final = 12
"""Life of a cookie; chosen by us: a working day."""


class Sessions:
    """The browsers that have shown a key.

    Args:
        callers: Who has which key.
    """

    def __init__(self, callers: Callers) -> None:
        self._callers = callers
        self._sessions: OrderedDict[str, str] = OrderedDict()

    def open(self, key: str) -> str:
        """Return a new session's token for a key.

        Raises:
            UnauthorizedError: It is none of the callers'.
        """
        caller = self._callers.named(f"Bearer {key}")
        token = secrets.token_urlsafe(32)
        self._sessions[token] = caller
        if len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return token

    def caller(self, cookie_header: str) -> str | None:
        """Return the caller of a request by its cookies; None when it has to show a key."""
        if not self._callers.are_known:
            return ANONYMOUS
        try:
            morsel = SimpleCookie(cookie_header).get(COOKIE)
        except CookieError:
            return None
        return None if morsel is None else self._sessions.get(morsel.value)
