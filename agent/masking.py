"""Settings as they may be shown: secrets hidden, URLs without their passwords."""

from __future__ import annotations

import re
from typing import Any, Final

from pydantic import SecretStr

from agent.settings import Settings

MASKED: Final = "********"
SECRETS: Final = frozenset(
    name for name, field in Settings.model_fields.items() if "SecretStr" in str(field.annotation)
)
"""Fields that are never shown."""
_USER: Final = re.compile(r"(?<=://)([^/?#@:]*):([^/?#]*)@")
_QUERY: Final = re.compile(r"(?i)([?&](?:password|passwd|pwd|token|api_?key|secret)=)[^&#]*")


def shown(value: Any) -> Any:
    """Return a setting's value as JSON, without what nobody may read."""
    if isinstance(value, SecretStr):
        return MASKED
    if isinstance(value, bool | int | float | None):
        return value
    return _QUERY.sub(rf"\1{MASKED}", _USER.sub(rf"\1:{MASKED}@", str(value)))
