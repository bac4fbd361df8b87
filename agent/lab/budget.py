"""What the worst request costs in both loops, and the largest bounds within a token budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from agent.models.requests import request
from agent.settings import MAX_DRAFTS, MIN_DRAFTS
from agent.state import Role

CHARS_PER_TOKEN: Final = 4
"""Of English text. Source: OpenAI's rule of thumb; other languages take more tokens."""
REPLY_TOKENS: Final[Mapping[Role, int]] = {"guard": 30, "grade": 15, "rewrite": 30, "answer": 250}
"""Tokens of a reply. Chosen by us: the verdicts are short JSON, an answer a few sentences."""
MOST_REWRITES: Final = 20
"""As the setting allows."""


class Text(Protocol):
    """A chunk of the documents."""

    @property
    def id(self) -> str:
        """What a citation names."""

    @property
    def text(self) -> str:
        """What a model reads of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What one request may cost, and what its parts cost.

    Token counts are estimates from the real instructions, the longest question and the longest
    chunks; retries, which at most double them, and enhancement of follow-ups are left out.
    """

    tokens: int
    """Tokens that one request may take."""
    price: float | None
    """Money for a million tokens; None leaves money out."""
    k: int
    tokens_per_draft: int
    per_call: Mapping[Role, int]
    """Tokens of one call, request and reply."""

    def rows(self) -> list[dict[str, Any]]:
        """Return the largest bounds of each loop alone and of both together."""
        alone = self._largest(0)
        drafts = min(MAX_DRAFTS, self.tokens // self.tokens_per_draft)
        return [
            self._row("rewrite", rewrites=alone, drafts=0),
            self._row("revise", rewrites=None, drafts=drafts if drafts >= MIN_DRAFTS else None),
            *(
                self._row("both", rewrites=self._largest(count), drafts=count)
                for count in range(MIN_DRAFTS, MAX_DRAFTS + 1)
            ),
        ]

    def _largest(self, drafts: int) -> int | None:
        """Return the largest bound on rewrites that fits beside so many drafts; None for none."""
        fitting = [
            bound
            for bound in range(MOST_REWRITES + 1)
            if self._tokens(bound, drafts) <= self.tokens
        ]
        return max(fitting, default=None)

    def _calls(self, rewrites: int | None, drafts: int) -> int:
        search = 0 if rewrites is None else 1 + self.k * (rewrites + 1) + rewrites
        return search + (2 * drafts if drafts else 1)

    def _tokens(self, rewrites: int | None, drafts: int) -> int:
        one, answer = self.per_call, self.per_call["answer"]
        search = 0
        if rewrites is not None:
            grades = self.k * (rewrites + 1) * one["grade"]
            search = one["guard"] + grades + rewrites * one["rewrite"]
        return search + (drafts * self.tokens_per_draft if drafts else answer)

    def _row(self, loop: str, *, rewrites: int | None, drafts: int | None) -> dict[str, Any]:
        fits = drafts is not None and (loop == "revise" or rewrites is not None)
        tokens = self._tokens(rewrites, drafts or 0) if fits else None
        row: dict[str, Any] = {
            "loop": loop,
            "budget_tokens": self.tokens,
            "largest_rewrites": rewrites,
            "largest_drafts": drafts,
            "worst_case_calls": self._calls(rewrites, drafts or 0) if fits else None,
            "worst_case_tokens": tokens,
        }
        if self.price is not None:
            row["worst_case_money"] = None if tokens is None else tokens * self.price / 1e6
        return row


def tokens_per_call(
    questions: Sequence[str], chunks: Sequence[Text], *, k: int, subjects: str
) -> dict[Role, int]:
    """Return the tokens of the largest call of each role in the rewrite loop.

    Args:
        questions: What may be asked; the longest counts.
        chunks: What may be found; the longest count.
        k: Chunks a retrieval.
        subjects: What the documents are about, as the instructions say it.
    """
    question = max(questions, key=len)
    longest = sorted(chunks, key=lambda chunk: -len(chunk.text))[:k]
    shown = [{"id": chunk.id, "text": chunk.text} for chunk in longest]
    tried = [{"query": question, "chunk_ids": [chunk.id for chunk in longest]}]
    data: dict[Role, dict[str, Any]] = {
        "guard": {"question": question},
        "grade": {"question": question, "chunk": shown[0]},
        "rewrite": {"question": question, "query": question, "attempts": tried},
        "answer": {"question": question, "chunks": shown},
    }
    return {
        role: REPLY_TOKENS[role] + _tokens(request(role, given, subjects=subjects))
        for role, given in data.items()
    }


def _tokens(messages: Sequence[Any]) -> int:
    return math.ceil(sum(len(message.text) for message in messages) / CHARS_PER_TOKEN)
