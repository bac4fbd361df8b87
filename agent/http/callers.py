"""Who asks: a caller named by the key of the request, or everyone as one anonymous caller."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from agent.http.errors import UnauthorizedError

ANONYMOUS: Final = ""
"""The caller of a service without keys; see `agent.memory.thread.Thread.caller`."""
_NAME: Final = re.compile(r"[A-Za-z0-9._@-]{1,64}")


class Callers:
    """The callers of a service and their keys.

    Only hashes of the keys are kept, all of equal length, and every one of them is compared with
    what was given, so that the time tells nothing about the keys.

    Args:
        keys: Key -> caller; empty for a service that everyone may ask.
    """

    def __init__(self, keys: Mapping[str, str]) -> None:
        self._callers = [(_hash(key), caller) for key, caller in keys.items()]

    @property
    def are_known(self) -> bool:
        """Whether a key is needed."""
        return bool(self._callers)

    def named(self, authorization: str | None) -> str:
        """Return the caller of a request.

        Args:
            authorization: Its header of that name.

        Raises:
            UnauthorizedError: A key is needed and this is none.
        """
        if not self._callers:
            return ANONYMOUS
        if authorization is None:
            raise UnauthorizedError("no Authorization header")
        scheme, _, key = authorization.strip().partition(" ")
        if scheme.lower() != "bearer":
            raise UnauthorizedError("an Authorization header of another scheme")
        given, found = _hash(key.strip()), None
        for known, caller in self._callers:
            if hmac.compare_digest(given, known):
                found = caller
        if found is None:
            raise UnauthorizedError("a key that is not one of its callers'")
        return found


EVERYONE: Final = Callers({})
"""The one anonymous caller."""


def read_callers(setting: str | None) -> Callers:
    """Return the callers of a setting.

    Args:
        setting: `caller:key`, several with commas between; or, without a colon in it, the path of
            a file with one `caller:key` a line, in which empty lines and lines that begin with
            `#` are passed over. None for none.

    Raises:
        ValueError: An entry is wrong, or the file cannot be read; never shows a key.
    """
    if setting is None:
        return EVERYONE
    if ":" in setting:
        return Callers(_keys(enumerate(setting.split(","), 1), "entry"))
    try:
        lines = Path(setting).expanduser().read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or "it is no UTF-8"
        raise ValueError(
            f"`caller:key,...`, or the path of a file of them that can be read ({problem})"
        ) from None
    told = ((n, line) for n, line in enumerate(lines, 1) if line.strip()[:1] not in ("", "#"))
    return Callers(_keys(told, "line"))


def _keys(entries: Iterable[tuple[int, str]], what: str) -> dict[str, str]:
    keys: dict[str, str] = {}
    for number, entry in entries:
        caller, separator, key = (part.strip() for part in entry.partition(":"))
        if not separator or not _NAME.fullmatch(caller):
            raise ValueError(
                f"`caller:key` in {what} {number}, the caller 1 to 64 letters, digits or . _ @ -"
            )
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise ValueError(f"a key of ASCII characters without blanks in {what} {number}")
        if keys.setdefault(key, caller) != caller:
            raise ValueError(f"a key of its own for each caller; {what} {number} repeats another's")
    if not keys:
        raise ValueError("at least one `caller:key`")
    return keys


def _hash(key: str) -> bytes:
    return sha256(key.encode("utf-8", "surrogateescape")).digest()
