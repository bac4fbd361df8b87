"""The gaps of the documents, read off the turns that ended without results."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agent.gaps.cluster import MAX_QUESTIONS, clusters
from agent.retrieval.tfidf import TfidfIndex
from agent.retrieval.tokens import tokenize
from telemetry.records import RecordReader, Selection, TurnRecord

MAX_READ: Final = 1_000
"""No-results turns that one look reads, the newest."""
DAY: Final = 86_400.0
TREND_DAYS: Final = 7
NEAREST: Final = 3
SHOWN_QUESTIONS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """One group of questions that found nothing."""

    questions: tuple[str, ...]
    """The most typical first, at most three; empty when no text was captured."""
    turns: int
    different: int
    """Different questions in it."""
    last_days: int
    """Turns of the last seven days."""
    days_before: int
    """Turns of the seven days before those."""
    last_at: float
    """Unix time of the newest turn, seconds."""
    nearest: tuple[tuple[str, float], ...]
    """Chunk ids with their scores, the nearest first."""
    missing_words: tuple[str, ...]
    """Words of the questions that no document has, the most frequent first."""
    turn_ids: tuple[str, ...]
    """The newest turns, at most three."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """All gaps, the most frequent first."""

    gaps: tuple[Gap, ...]
    turns: int
    """No-results turns that were read."""
    captured: int
    """Those of them whose question is known."""


def find_gaps(
    reader: RecordReader, index: TfidfIndex, *, since: float | None = None, now: float | None = None
) -> Gaps:
    """Return the gaps that the newest no-results turns show.

    Turns without text are grouped by the hash of their first search: equal questions only.

    Args:
        reader: Of the turn records.
        index: The documents, for words and nearest chunks.
        since: Unix time, seconds; only turns that began then or later.
        now: Unix time, seconds, for the trend; the clock when None.

    Raises:
        TelemetryError: The records cannot be read.
    """
    page = reader.list(Selection(outcome="no_results", since=since), limit=MAX_READ)
    moment = time.time() if now is None else now
    by_text: dict[str, list[TurnRecord]] = {}
    by_hash: dict[str, list[TurnRecord]] = {}
    for record in page.records:
        if record.question:
            by_text.setdefault(" ".join(record.question.split()), []).append(record)
        else:
            by_hash.setdefault(_first_hash(record), []).append(record)
    texts = list(by_text)[:MAX_QUESTIONS]
    gaps = [_worded([texts[p] for p in group], by_text, index, moment) for group in clusters(texts)]
    gaps += [_unworded(records, moment) for records in by_hash.values()]
    return Gaps(
        gaps=tuple(sorted(gaps, key=lambda gap: (-gap.turns, -gap.last_at))),
        turns=len(page.records),
        captured=sum(map(len, by_text.values())),
    )


def _worded(
    questions: Sequence[str],
    by_text: Mapping[str, Sequence[TurnRecord]],
    index: TfidfIndex,
    now: float,
) -> Gap:
    records = [record for question in questions for record in by_text[question]]
    found = index.search(" ".join(questions[:SHOWN_QUESTIONS]), NEAREST)
    return _gap(
        records,
        now,
        questions=tuple(questions[:SHOWN_QUESTIONS]),
        different=len(questions),
        nearest=tuple((chunk.id, score) for chunk, score in found if score > 0),
        missing=missing_words(questions, index),
    )


def missing_words(questions: Iterable[str], index: TfidfIndex) -> tuple[str, ...]:
    """Return the words of the questions that no document has, the most frequent first."""
    words = Counter(w for q in questions for w in dict.fromkeys(tokenize(q)))
    return tuple(word for word, _ in words.most_common() if word not in index.vocabulary)[:8]


def _unworded(records: Sequence[TurnRecord], now: float) -> Gap:
    best: dict[str, float] = {}
    for record in records:
        for attempt in record.attempts:
            for id_, score in zip(attempt.chunk_ids, attempt.scores, strict=False):
                best[id_] = max(best.get(id_, 0.0), score or 0.0)
    nearest = sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))[:NEAREST]
    return _gap(records, now, questions=(), different=1, nearest=tuple(nearest), missing=())


def _gap(
    records: Sequence[TurnRecord],
    now: float,
    *,
    questions: tuple[str, ...],
    different: int,
    nearest: tuple[tuple[str, float], ...],
    missing: tuple[str, ...],
) -> Gap:
    ages = [(now - record.started_at) / DAY for record in records]
    newest = sorted(records, key=lambda record: record.id, reverse=True)
    return Gap(
        questions=questions,
        turns=len(records),
        different=different,
        last_days=sum(age < TREND_DAYS for age in ages),
        days_before=sum(TREND_DAYS <= age < 2 * TREND_DAYS for age in ages),
        last_at=newest[0].started_at,
        nearest=nearest,
        missing_words=missing,
        turn_ids=tuple(record.id for record in newest[:SHOWN_QUESTIONS]),
    )


def _first_hash(record: TurnRecord) -> str:
    first = record.attempts[0].query_hash if record.attempts else None
    return first or record.id
