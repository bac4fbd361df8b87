from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier

from benchmarks.train_drift import DEPTH, numbers
from telemetry.drift import packaged_trees
from telemetry.likeness import EVIDENCE
from telemetry.trees import BoostedTrees

STUMP = BoostedTrees.read(
    {"start": 0.0, "features": [[1]], "thresholds": [[0.5]], "values": [[-1.0, 1.0]]}
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(0.4, 0.268941, id="below-goes-left"),
        pytest.param(0.5, 0.268941, id="the-threshold-itself-goes-left"),
        pytest.param(0.6, 0.731059, id="above-goes-right"),
    ],
)
def test_probability_of_one_tree(value: float, expected: float) -> None:
    assert STUMP.probability([9.0, value]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("n_rows", [20, 400], ids=["some-leaves-are-shallow", "full-trees"])
def test_probability_equals_scikit_learn(n_rows: int) -> None:
    random = np.random.default_rng(1)
    rows = random.normal(size=(n_rows, 4))
    labels = rows[:, 0] * rows[:, 1] + 0.2 * random.normal(size=n_rows) > 0
    fitted = GradientBoostingClassifier(max_depth=DEPTH, random_state=0).fit(rows, labels)
    trees = BoostedTrees.read(numbers(fitted))
    ours = [trees.probability(row) for row in rows]

    assert ours == pytest.approx(fitted.predict_proba(rows)[:, 1], abs=0.002)


def test_packaged_trees_read_the_evidence_that_there_is() -> None:
    trees = packaged_trees()

    assert trees.features.max() < len(EVIDENCE)
    assert trees.values.shape == (len(trees.features), trees.features.shape[1] + 1)
