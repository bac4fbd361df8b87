"""What watching costs, in instructions that Python executes: a limit that no busy machine moves.

Times are in `docs`; these limits only keep them from creeping up. Set a little above what was
measured with Python 3.11 when they were written: 1.265 and 1.163 of the bare graph, and 1.03 times
what the minimal version adds.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.overhead import executed, variants, weigh


@pytest.fixture(scope="module")
def cost() -> dict[str, float]:
    return executed()


def test_a_recorded_turn(cost: dict[str, float]) -> None:
    assert cost["loopscope"] < 1.28
    assert (cost["loopscope"] - 1) / (cost["minimal"] - 1) < 1.1


def test_a_turn_that_is_not_sampled(cost: dict[str, float]) -> None:
    assert cost["loopscope, unsampled"] < 1.175


def test_the_spans_of_a_turn_and_their_size() -> None:
    ours = next(variant for variant in variants() if variant.name == "loopscope")
    spans, size = weigh(ours, lambda target, given: target.invoke(given))

    assert spans == 21  # the turn, eleven node executions, nine model calls
    assert size < 4000
