"""Measure the drift verdict on the held-out turns, beside two plain measures, and its speed.

    python benchmarks/drift.py

The plain measures get the threshold that suits them best on the training turns. Figures are for
the verdict "this turn's rewrites drifted": the rewrite least like its question decides.
"""

from __future__ import annotations

import re
import time

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.drift_turns import (
    HELD_OUT,
    TRAINING,
    LabelledTurn,
    Similarity,
    least_alike,
    load_documents,
    load_turns,
    right_by_kind,
    score,
)
from telemetry.detectors import DRIFT_THRESHOLD
from telemetry.drift import DriftModel

DOCUMENTS = load_documents()


def word_overlap(_corpus: str, question: str, query: str) -> float:
    """Return the Jaccard index of the words; it needs no documents."""
    left, right = (set(re.findall(r"\w+", text.lower())) for text in (question, query))
    return len(left & right) / max(1, len(left | right))


def tfidf_cosine() -> Similarity:
    vectorizers = {name: TfidfVectorizer().fit(texts) for name, texts in DOCUMENTS.items()}

    def similarity(corpus: str, question: str, query: str) -> float:
        left, right = vectorizers[corpus].transform([question, query])
        return float((left @ right.T)[0, 0])

    return similarity


def ours() -> Similarity:
    models = {name: DriftModel.fit(texts) for name, texts in DOCUMENTS.items()}

    def similarity(corpus: str, question: str, query: str) -> float:
        value = models[corpus].similarity(question, query)
        return 1.0 if value is None else value

    return similarity


def best_threshold(turns: list[LabelledTurn], similarity: Similarity) -> float:
    values = [least_alike(turn, similarity) for turn in turns]
    labels = [turn.is_drifted for turn in turns]
    return max(
        np.arange(0.0, 1.0, 0.02),
        key=lambda edge: score(labels, [value < edge for value in values]).f1,
    )


def main() -> None:
    training, held_out = load_turns(TRAINING), load_turns(HELD_OUT)
    labels = [turn.is_drifted for turn in held_out]
    print(f"{len(held_out)} held-out turns, {sum(labels)} of them drifted")
    print(f"{'measure':<16} {'threshold':>9} {'P':>6} {'R':>6} {'F1':>6}")
    verdicts: list[bool] = []
    for name, similarity in (
        ("always drifted", lambda *_: 0.0),
        ("word overlap", word_overlap),
        ("TF-IDF cosine", tfidf_cosine()),
        ("ours", ours()),
    ):
        edge = DRIFT_THRESHOLD if name == "ours" else best_threshold(training, similarity)
        verdicts = [least_alike(turn, similarity) < edge for turn in held_out]
        found = score(labels, verdicts)
        line = f"{found.precision:>6.3f} {found.recall:>6.3f} {found.f1:>6.3f}"
        print(f"{name:<16} {edge:>9.2f} {line}")
    for kind, (right, total) in right_by_kind(held_out, verdicts).items():
        print(f"  {kind:<24} {right:>3} of {total} right")
    print_speed(held_out)


def print_speed(turns: list[LabelledTurn]) -> None:
    started = time.perf_counter()
    model = DriftModel.fit(DOCUMENTS["hosting"])
    print(f"fit on the handbook, intents known: {(time.perf_counter() - started) * 1e3:.0f} ms")
    pairs = [(turn.question, rewrite) for turn in turns for rewrite in turn.rewrites]
    for question, _ in pairs:
        model.similarity(question, "warm up")
    for name in ("new query", "seen query"):
        times = []
        for question, query in pairs:
            started = time.perf_counter()
            model.similarity(question, query)
            times.append(time.perf_counter() - started)
        middle, high = np.percentile(times, [50, 99]) * 1e6
        print(f"{name}: median {middle:.0f} us, p99 {high:.0f} us")


if __name__ == "__main__":
    main()
