"""Fit the trees of the drift measure on the labelled training turns and print how good they are.

    python benchmarks/train_drift.py            cross-validate, fit, compare with the file
    python benchmarks/train_drift.py --write    the same, and write telemetry/data/drift.json

A row is one rewrite; it is drifted from the turn's first drifted rewrite on. Folds keep the
rewrites of one question together. Cross-validation flatters: the sentences in data/intents.txt
were extended while these turns were read. What fresh turns gave, each set measured once before
anything was learnt from it (then it became training data, and intents and features were extended):

    first held-out set: 2,000 sentences, logistic regression            F1 0.75
    second, the most roundabout questions: 3,100 sentences              F1 0.71
    third: 4,500 sentences                                              F1 0.77
    fourth: 4,500 sentences and 2,300 words                             F1 0.83
    fifth, by other authors: boosted trees                              F1 0.72 on the handbook,
                                                                        0.61 on four other trades
    what is held out now: swaps, sides and passages as evidence, too    see benchmarks/drift.py
"""

from __future__ import annotations

import json
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict

from benchmarks.drift_turns import TRAINING, LabelledTurn, load_documents, load_turns, score
from telemetry.drift import document_profiler, packaged_trees
from telemetry.likeness import EVIDENCE, likeness
from telemetry.trees import BoostedTrees, TreeNumbers

TREES = Path(__file__).parents[1] / "telemetry" / "data" / "drift.json"
FOLDS = 10
DEPTH = 3
DRIFTED_WEIGHT = 2.0
"""A drifted rewrite counts so many times: half of the training turns are easy ones that were kept,
and without it the fresh turns that drifted were found half as often as those that did not."""


def model() -> GradientBoostingClassifier:
    """Return the unfitted model; its settings are the best of some twenty in cross-validation."""
    return GradientBoostingClassifier(
        n_estimators=300, max_depth=DEPTH, learning_rate=0.05, subsample=0.6,
        min_samples_leaf=6, max_features=8, random_state=0,
    )  # fmt: skip


def rows(turns: list[LabelledTurn]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the evidence, whether the question was kept, and the turn, for every rewrite."""
    profilers = {name: document_profiler(texts) for name, texts in load_documents().items()}
    evidence, is_kept, number = [], [], []
    for n, turn in enumerate(turns):
        read = profilers[turn.corpus].profile
        question = read(turn.question)
        for rewrite, is_drifted in turn.pairs():
            evidence.append(likeness(question, read(rewrite)).values())
            is_kept.append(not is_drifted)
            number.append(n)
    return np.array(evidence), np.array(is_kept), np.array(number)


def cross_validate(turns: list[LabelledTurn]) -> None:
    evidence, is_kept, number = rows(turns)
    groups = [zlib.crc32(turns[n].question.encode()) for n in number]
    kept = cross_val_predict(
        model(), evidence, is_kept, groups=groups, cv=GroupKFold(FOLDS), method="predict_proba",
        params={"sample_weight": weights(is_kept)},
    )[:, 1]  # fmt: skip
    verdicts = [bool((kept[number == n] < 0.5).any()) for n in range(len(turns))]
    result = score([turn.is_drifted for turn in turns], verdicts)
    print(f"{len(turns)} turns, {len(kept)} rewrites, {FOLDS} folds by question")
    print(f"rewrites: area under the ROC curve {roc_auc_score(is_kept, kept):.3f}")
    print(f"turns: P {result.precision:.3f}  R {result.recall:.3f}  F1 {result.f1:.3f}")


def weights(is_kept: NDArray[Any]) -> NDArray[Any]:
    """Return how much each rewrite counts."""
    return np.where(is_kept, 1.0, DRIFTED_WEIGHT)


def numbers(fitted: GradientBoostingClassifier) -> TreeNumbers:
    """Write the fitted trees down, each filled up to a full tree of `DEPTH` levels."""
    result: TreeNumbers = {"start": 0.0, "features": [], "thresholds": [], "values": []}
    prior = fitted.init_.class_prior_[1]
    result["start"] = round(float(np.log(prior / (1 - prior))), 4)
    for (regressor,) in fitted.estimators_:
        tree = regressor.tree_
        nodes = [0]
        features: list[int] = []
        thresholds: list[float] = []
        for place in range(2**DEPTH - 1):
            node = nodes[place]
            is_leaf = tree.children_left[node] < 0
            features.append(0 if is_leaf else int(tree.feature[node]))
            thresholds.append(0.0 if is_leaf else round(float(tree.threshold[node]), 5))
            children = (node, node) if is_leaf else (
                int(tree.children_left[node]), int(tree.children_right[node]))  # fmt: skip
            nodes.extend(children)
        leaves = nodes[2**DEPTH - 1 :]
        result["features"].append(features)
        result["thresholds"].append(thresholds)
        result["values"].append(
            [round(float(fitted.learning_rate * tree.value[leaf, 0, 0]), 5) for leaf in leaves]
        )
    return result


def main() -> None:
    turns = load_turns(TRAINING)
    cross_validate(turns)
    evidence, is_kept, _ = rows(turns)
    fitted = numbers(model().fit(evidence, is_kept, sample_weight=weights(is_kept)))
    if "--write" in sys.argv[1:]:
        about = "Trees of telemetry.drift, written by benchmarks/train_drift.py. Do not edit."
        content = {"about": about, "evidence": list(EVIDENCE), "trees": fitted}
        TREES.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")
    fresh, packaged = BoostedTrees.read(fitted), packaged_trees()
    apart = max(abs(fresh.probability(row) - packaged.probability(row)) for row in evidence)
    print(f"{TREES.name}: at most {apart:.3f} apart from these trees on the training rewrites")


if __name__ == "__main__":
    main()
