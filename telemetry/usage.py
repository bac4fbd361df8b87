"""Tokens of one model call, each counted once, whatever way the provider reports them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from langchain_core.outputs import LLMResult

from telemetry import names

_INPUT_KEYS: Final = ("input_tokens", "prompt_tokens")
_OUTPUT_KEYS: Final = ("output_tokens", "completion_tokens")
_TOO_MANY: Final = 2**63
"""More than a span attribute or a column of the records can hold."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call; None where nothing was reported, which is not 0."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    reasoning_tokens: int | None = None

    def attributes(self) -> dict[str, int]:
        """Return the span attributes of what was reported."""
        values = {
            names.USAGE_INPUT_TOKENS: self.input_tokens,
            names.USAGE_OUTPUT_TOKENS: self.output_tokens,
            names.USAGE_CACHE_READ_TOKENS: self.cache_read_tokens,
            names.USAGE_REASONING_TOKENS: self.reasoning_tokens,
        }
        return {key: value for key, value in values.items() if value is not None}


class StreamedUsage:
    """Watches the usage in the chunks of a stream.

    LangChain adds the chunks' usage up. That is right for a provider that reports what is new,
    and too much for one that reports the total so far. A total never falls, and repeats the input.
    """

    def __init__(self) -> None:
        self._reports: list[tuple[int, int]] = []

    def add(self, chunk: Any) -> None:
        """Take the usage of a chunk, when it carries one."""
        usage = getattr(getattr(chunk, "message", None), "usage_metadata", None)
        if usage:
            self._reports.append(
                (_tokens(usage.get("input_tokens")) or 0, _tokens(usage.get("output_tokens")) or 0)
            )

    @property
    def total(self) -> tuple[int, int] | None:
        """The last report, when the reports are totals; None when they are to be added."""
        reports = self._reports
        if len(reports) < 2 or not all(r[0] for r in reports):
            return None
        rising = all(a[0] <= b[0] and a[1] <= b[1] for a, b in pairwise(reports))
        return reports[-1] if rising else None


def usage_of(
    response: LLMResult, message: Any, streamed: StreamedUsage | None = None
) -> Usage | None:
    """Return the tokens of a finished call, None when the model reported none.

    Args:
        response: What the model replied.
        message: Its first message.
        streamed: What the chunks of a stream reported.
    """
    usage = getattr(message, "usage_metadata", None)
    if not usage:
        return _from_provider(response.llm_output) if response.llm_output else None
    total = streamed.total if streamed is not None else None
    found = Usage(
        input_tokens=total[0] if total else _tokens(usage.get("input_tokens")),
        output_tokens=total[1] if total else _tokens(usage.get("output_tokens")),
        cache_read_tokens=_tokens((usage.get("input_token_details") or {}).get("cache_read")),
        reasoning_tokens=_tokens((usage.get("output_token_details") or {}).get("reasoning")),
    )
    return None if found == Usage() else found


def _tokens(count: Any) -> int | None:
    """Return a number of tokens; None for what is none, as nobody checks what a model reports."""
    if type(count) is int and 0 <= count < _TOO_MANY:
        return count
    return int(count) if isinstance(count, float) and 0 <= count < _TOO_MANY else None


def _from_provider(output: dict[str, Any]) -> Usage | None:
    """Read the older form, which some integrations put beside the message."""
    usage = output.get("token_usage") or output.get("usage") or {}
    if not isinstance(usage, dict):
        return None
    counts = [
        next((count for key in keys if (count := _tokens(usage.get(key))) is not None), None)
        for keys in (_INPUT_KEYS, _OUTPUT_KEYS)
    ]
    return None if counts == [None, None] else Usage(counts[0], counts[1])
