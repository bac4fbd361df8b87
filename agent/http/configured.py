"""What the settings say of the service: its limits and its callers."""

from __future__ import annotations

from agent.errors import SettingsError
from agent.http.callers import Callers, is_key, read_callers
from agent.http.limits import Limits
from agent.masking import MASKED
from agent.settings import Settings


def limits_of(settings: Settings) -> Limits:
    """Return the limits that are set."""
    return Limits(
        max_body_bytes=settings.max_body_bytes,
        rate_per_minute=settings.rate_per_minute,
        max_turns=settings.max_turns,
        max_waiting=settings.max_waiting,
        turn_timeout_seconds=settings.turn_timeout_seconds,
    )


def callers_of(settings: Settings) -> Callers:
    """Return the callers that are set.

    Raises:
        SettingsError: An entry is wrong, or the file cannot be read; never shows a key.
    """
    keys = settings.api_keys.get_secret_value() if settings.api_keys else None
    probe_key = settings.probe_key.get_secret_value() if settings.probe_key else None
    if probe_key is not None and not is_key(probe_key):
        expected = "a key of ASCII characters without blanks"
        raise SettingsError([f"probe_key got {MASKED!r}, expected: {expected}"])
    try:
        return read_callers(keys, probe_key)
    except ValueError as error:
        raise SettingsError([f"api_keys got {MASKED!r}, expected: {error}"]) from None
