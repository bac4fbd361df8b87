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
PROBER: Final = "probe:"
"""The caller with the probe key; no other's name holds a colon."""
_NAME: Final = re.compile(r"[A-Za-z0-9._@-]{1,64}")


class Callers:
    """The callers of a service and their keys.

    Only hashes of the keys are kept, all of equal length, and every one of them is compared with
    what was given, so that the time tells nothing about the keys.

    Args:
        keys: Key -> caller; empty for a service that everyone may ask.
        probe_key: Key of `PROBER`, which nobody needs who is not he.
    """

    def __init__(self, keys: Mapping[str, str], probe_key: str | None = None) -> None:
        self._callers = [(_hash(key), caller) for key, caller in keys.items()]
        self._probe_key = _hash(probe_key) if probe_key is not None else None

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
        scheme, _, key = (authorization or "").strip().partition(" ")
        is_bearer, given, found = scheme.lower() == "bearer", _hash(key.strip()), None
        if is_bearer and self._probe_key and hmac.compare_digest(given, self._probe_key):
            return PROBER
        if not self._callers:
            return ANONYMOUS
        if authorization is None:
            raise UnauthorizedError("no Authorization header")
        if not is_bearer:
            raise UnauthorizedError("an Authorization header of another scheme")
        for known, caller in self._callers:
            if hmac.compare_digest(given, known):
                found = caller
        if found is None:
            raise UnauthorizedError("a key that is not one of its callers'")
        return found


EVERYONE: Final = Callers({})
"""The one anonymous caller."""


def read_callers(setting: str | None, probe_key: str | None = None) -> Callers:
    """Return the callers of a setting.

    Args:
        setting: `caller:key`, several with commas between; or, without a colon in it, the path of
            a file with one `caller:key` a line, in which empty lines and lines that begin with
            `#` are passed over. None for none.
        probe_key: Key of `PROBER`; None for a service that takes no probes.

    Raises:
        ValueError: An entry is wrong, or the file cannot be read; never shows a key.
    """
    if setting is None:
        return Callers({}, probe_key)
    if ":" in setting:
        return _with_probe(_keys(enumerate(setting.split(","), 1), "entry"), probe_key)
    try:
        lines = Path(setting).expanduser().read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or "it is no UTF-8"
        raise ValueError(
            f"`caller:key,...`, or the path of a file of them that can be read ({problem})"
        ) from None
    told = ((n, line) for n, line in enumerate(lines, 1) if line.strip()[:1] not in ("", "#"))
    return _with_probe(_keys(told, "line"), probe_key)


def is_key(text: str) -> bool:
    """Return whether a text can be a key: ASCII characters that show, without blanks."""
    return bool(text) and text.isascii() and text.isprintable() and " " not in text


def _with_probe(keys: dict[str, str], probe_key: str | None) -> Callers:
    if probe_key in keys:
        raise ValueError("other keys than LOOPSCOPE_PROBE_KEY, since that hides turns")
    return Callers(keys, probe_key)


def _keys(entries: Iterable[tuple[int, str]], what: str) -> dict[str, str]:
    keys: dict[str, str] = {}
    for number, entry in entries:
        caller, separator, key = (part.strip() for part in entry.partition(":"))
        if not separator or not _NAME.fullmatch(caller):
            raise ValueError(
                f"`caller:key` in {what} {number}, the caller 1 to 64 letters, digits or . _ @ -"
            )
        if not is_key(key):
            raise ValueError(f"a key of ASCII characters without blanks in {what} {number}")
        if keys.setdefault(key, caller) != caller:
            raise ValueError(f"a key of its own for each caller; {what} {number} repeats another's")
    if not keys:
        raise ValueError("at least one `caller:key`")
    return keys


def _hash(key: str) -> bytes:
    return sha256(key.encode("utf-8", "surrogateescape")).digest()
