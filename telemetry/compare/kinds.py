"""Which kind of question each turn asks, told from what the records hold.

A kind must depend on the question alone, or a change of the agent would look like one of the
traffic. Questions asked on both sides are known by the hash of their first query and sorted by how
often they stay without results, mean of both sides: any sorting of questions is one of traffic.
The others are sorted by words when content was captured, else by the topic check's confidence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from telemetry import names
from telemetry.compare.observed import Observed

_EDGES: Final = (0.05, 0.35, 0.65, 0.95)
"""Of the share without results; chosen by us: never, seldom, half, often, always."""
CLUSTERS: Final = 8
"""Of questions by their words; chosen by us."""
FEW_WORDS: Final = 0.8
"""Share of questions whose text must be known for words to count; chosen by us."""


@dataclass(frozen=True, slots=True, eq=False)
class Kinds:
    """The kind of each turn, a number below `number`."""

    before: NDArray[np.int64]
    after: NDArray[np.int64]
    number: int
    repeated: tuple[float, float]
    """Share of the turns before and after whose question was asked on both sides."""
    by_words: bool
    """Whether the other questions were told apart by their words."""


def kinds_of(before: Sequence[Observed], after: Sequence[Observed]) -> Kinds:
    """Return the kinds of the turns of two sides, which all searched."""
    first, second = _unanswered(before), _unanswered(after)
    known = {
        key: int(np.searchsorted(_EDGES, (first[key] + second[key]) / 2))
        for key in first.keys() & second.keys()
    }
    turns = [*before, *after]
    others = [turn for turn in turns if turn.question_key not in known]
    other, by_words = _others(others)
    rest = iter(other)
    offset = len(_EDGES) + 1
    numbers = np.array(
        [
            known[turn.question_key] if turn.question_key in known else offset + next(rest)
            for turn in turns
        ],
        dtype=np.int64,
    )
    cut = len(before)
    return Kinds(
        before=numbers[:cut],
        after=numbers[cut:],
        number=offset + max(other, default=0) + 1,
        repeated=(_share(numbers[:cut] < offset), _share(numbers[cut:] < offset)),
        by_words=by_words,
    )


def _unanswered(turns: Sequence[Observed]) -> Mapping[str | None, float]:
    """Return the share without results of each question that has a hash."""
    ends: defaultdict[str | None, list[bool]] = defaultdict(list)
    for turn in turns:
        if turn.question_key is not None:
            ends[turn.question_key].append(turn.outcome == names.NO_RESULTS)
    return {key: sum(found) / len(found) for key, found in ends.items()}


def _others(turns: Sequence[Observed]) -> tuple[list[int], bool]:
    texts = [turn.question for turn in turns if turn.question]
    if len(turns) > CLUSTERS and len(texts) >= FEW_WORDS * len(turns):
        return _clusters([turn.question or "" for turn in turns]), True
    order = {name: place for place, name in enumerate(names.CONFIDENCES)}
    return [order.get(turn.confidence or "", len(order)) for turn in turns], False


def _clusters(texts: Sequence[str]) -> list[int]:
    """Return the cluster of each text, by the words they share."""
    from sklearn.cluster import KMeans
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        weights = TfidfVectorizer(sublinear_tf=True, max_features=5_000).fit_transform(texts)
    except ValueError:  # no word in any of them
        return [0] * len(texts)
    dimensions = min(50, weights.shape[1] - 1, len(texts) - 1)
    if dimensions < 1:
        return [0] * len(texts)
    points = TruncatedSVD(dimensions, random_state=0).fit_transform(weights)
    distinct = len(np.unique(points.round(9), axis=0))
    found = KMeans(min(CLUSTERS, distinct), n_init=3, random_state=0).fit_predict(points)
    return [int(number) for number in found]


def _share(found: NDArray[np.bool_]) -> float:
    return float(found.mean()) if len(found) else 0.0
