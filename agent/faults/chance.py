"""Which calls a fault strikes: a share of them, and the same ones in every run."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from agent.errors import FaultError

_SCALE: Final = 2**64


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """Decides by what a call is about, not by when it comes: order and concurrency change nothing.

    A text that is struck once is struck every time, so a share holds over many different texts.

    Raises:
        FaultError: `share` is not above 0 and at most 1.
    """

    share: float = 1.0
    """Share of the texts that are struck, above 0 to 1."""
    seed: int = 0
    """Another seed strikes other texts."""

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise FaultError(
                f"share got {self.share!r}, expected more than 0 and at most 1",
                "Write it after the name, as in silent-rejection:0.4.",
            )

    def strikes(self, text: str) -> bool:
        """Return whether a call about `text` goes wrong."""
        return self.number(text) < self.share * _SCALE

    def number(self, text: str) -> int:
        """Return the text's number, 0 to 2^64 - 1, for a choice that must be the same each time."""
        digest = hashlib.sha256(f"{self.seed}\0{text}".encode(errors="surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big")
