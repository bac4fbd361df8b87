from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from telemetry.canary.counts import Blocks
from telemetry.canary.evidence import Claim, bound, evidence, growth
from telemetry.compare.rates import Rate

ENOUGH = math.log(20)
UNKNOWN = Rate(0, 0)


def blocks(*counted: tuple[int, int, int, int], before: Rate = UNKNOWN) -> Blocks:
    """Return blocks of (stable hits, stable total, canary hits, canary total)."""
    table = np.array(counted, dtype=float).reshape(-1, 2, 2)
    return Blocks(
        before=before,
        hits=table[:, :, 0],
        totals=table[:, :, 1],
        ends=np.arange(1, len(table) + 1),
    )


def drawn(seed: int, stable: float, canary: float, number: int, sizes: tuple[int, int]) -> Blocks:
    chance = np.random.default_rng(seed)
    totals = np.tile(np.array(sizes, dtype=float), (number, 1))
    hits = chance.binomial(sizes, [stable, canary], size=(number, 2)).astype(float)
    return Blocks(before=Rate(0, 0), hits=hits, totals=totals, ends=np.arange(1, number + 1))


ABOVE_0 = Claim(direction="above", edge=0.0, guess=0.1)
ABOVE = Claim(direction="above", edge=0.01, guess=0.05)
BELOW = Claim(direction="below", edge=0.05, guess=0.0)


def test_a_claim_without_edge_has_a_closed_form() -> None:
    """The nearest equal shares are the mean of both, weighted by the turns."""
    (found,) = evidence(blocks((1, 6, 2, 2), before=Rate(19, 99)), ABOVE_0)
    stable = 19.5 / 100
    canary = stable + 0.1
    both = (6 * stable + 2 * canary) / 8
    expected = (
        math.log(stable / both)
        + 5 * math.log((1 - stable) / (1 - both))
        + 2 * math.log(canary / both)
    )

    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("claim", [ABOVE_0, ABOVE, BELOW], ids=["above-0", "above", "below"])
@pytest.mark.parametrize("sizes", [(1, 1), (7, 1), (2, 5)], ids=str)
@pytest.mark.parametrize("before", [Rate(0, 0), Rate(30, 100)], ids=["unknown", "known"])
def test_under_any_two_shares_against_the_claim_the_mean_is_at_most_one(
    claim: Claim, sizes: tuple[int, int], before: Rate
) -> None:
    """Exact: the sum over everything that two blocks can hold; shares move between them."""
    outcomes = list(product(range(sizes[0] + 1), range(sizes[1] + 1)))

    def value(*both: tuple[int, int]) -> float:
        seen = blocks(*((s, sizes[0], c, sizes[1]) for s, c in both), before=before)
        return math.exp(evidence(seen, claim)[-1])

    values = np.array([[value(first, second) for second in outcomes] for first in outcomes])
    against = [
        (stable, canary)
        for stable, canary in product(np.linspace(0, 1, 11), np.linspace(0, 1, 11))
        if (canary - stable <= claim.edge + 1e-12) == (claim.direction == "above")
    ]
    stable_hits, canary_hits = np.array(outcomes).T
    chances = np.array(
        [
            binom.pmf(stable_hits, sizes[0], p) * binom.pmf(canary_hits, sizes[1], q)
            for p, q in against
        ]
    )

    assert len(against) > 40
    assert (chances @ values @ chances.T).max() <= 1 + 1e-9


@pytest.mark.parametrize(
    ("stable", "canary", "claim"),
    [
        pytest.param(0.1, 0.1, ABOVE_0, id="the-same-is-not-worse"),
        pytest.param(0.2, 0.21, ABOVE, id="a-point-is-negligible"),
        pytest.param(0.1, 0.15, BELOW, id="worse-by-the-margin-is-not-fine"),
    ],
)
def test_looking_after_every_block_seldom_shows_what_is_not_so(
    stable: float, canary: float, claim: Claim
) -> None:
    shown = [
        evidence(drawn(seed, stable, canary, 400, (9, 1)), claim).max() >= ENOUGH
        for seed in range(300)
    ]

    assert np.mean(shown) <= 0.05


def test_ever_more_traffic_at_a_bad_hour_is_no_evidence() -> None:
    """From 5 % to 50 % while the share without results triples for everybody: nothing changed."""
    chance = np.random.default_rng(3)
    shown = 0
    for _ in range(100):
        totals = np.array([[19.0, 1.0]] * 150 + [[10.0, 10.0]] * 150)
        shares = np.array([[0.1]] * 150 + [[0.3]] * 150)
        hits = chance.binomial(totals.astype(int), shares).astype(float)
        seen = Blocks(before=Rate(60, 600), hits=hits, totals=totals, ends=np.arange(1, 301))
        shown += bool(evidence(seen, ABOVE_0).max() >= ENOUGH)
        pooled = hits.sum(axis=0) / totals.sum(axis=0)
        assert pooled[1] - pooled[0] > 0.03  # a comparison of sums is fooled

    assert shown <= 5


@pytest.mark.parametrize("sizes", [(19, 1), (3, 3)], ids=str)
def test_what_is_so_is_shown(sizes: tuple[int, int]) -> None:
    number = 1_200 // sizes[1]
    doubled = [evidence(drawn(s, 0.1, 0.2, number, sizes), ABOVE).max() for s in range(60)]
    same = [evidence(drawn(s, 0.1, 0.1, number, sizes), BELOW).max() for s in range(60)]

    assert np.mean(np.array(doubled) >= ENOUGH) >= 0.95
    assert np.mean(np.array(same) >= ENOUGH) >= 0.8


def test_growth_is_what_the_evidence_gains_a_turn_of_the_canary() -> None:
    steady = blocks(*[(10, 100, 20, 100)] * 200)
    path = evidence(steady, ABOVE)

    assert growth(steady, ABOVE) == pytest.approx((path[-1] - path[-11]) / 1_000, rel=0.02)
    assert growth(steady, BELOW) == 0.0
    assert growth(blocks(), ABOVE) == 0.0


def test_bounds_agree_with_the_claims() -> None:
    seen = drawn(1, 0.1, 0.2, 300, (19, 2))
    low = bound(seen, "above", 0.05, 0.05)
    high = bound(seen, "below", 0.0, 0.05)

    assert 0.01 < low < 0.1 < high < 0.3
    for edge, direction, guess in ((low, "above", 0.05), (high, "below", 0.0)):
        assert evidence(seen, Claim(direction=direction, edge=edge, guess=guess))[
            -1
        ] == pytest.approx(ENOUGH, abs=0.05)


def test_bounds_hold_at_all_looks() -> None:
    """Both ends at three looks in each run: wrong at any of them in at most a tenth."""
    missed = 0
    for seed in range(25):
        seen = drawn(seed, 0.15, 0.2, 200, (9, 1))
        for until in (30, 100, 200):
            part = Blocks(
                before=seen.before,
                hits=seen.hits[:until],
                totals=seen.totals[:until],
                ends=seen.ends[:until],
            )
            if not bound(part, "above", 0.05, 0.05) <= 0.05 <= bound(part, "below", 0.0, 0.05):
                missed += 1
                break

    assert missed <= 3


def test_one_hit_after_hundreds_without_any_does_not_end_the_bet() -> None:
    """The stable side has a tenth: by the difference alone the canary would never have a hit."""
    path = evidence(blocks(*[(1, 10, 0, 1)] * 300, (1, 10, 1, 1)), BELOW)

    assert path[-2] > 20
    assert path[-1] - path[-2] > -6


def test_without_turns_nothing_is_known() -> None:
    assert (bound(blocks(), "above", 0.05, 0.05), bound(blocks(), "below", 0.0, 0.05)) == (-1, 1)
    assert len(evidence(blocks(), ABOVE)) == 0


@pytest.mark.parametrize("counted", [(0, 50, 0, 50), (50, 50, 50, 50), (0, 50, 50, 50)], ids=str)
def test_shares_of_none_and_all_stay_finite(counted: tuple[int, int, int, int]) -> None:
    seen = blocks(*[counted] * 20)
    for claim in (ABOVE, BELOW):
        assert np.isfinite(evidence(seen, claim)).all()
    assert -1 <= bound(seen, "above", 0.05, 0.05) <= bound(seen, "below", 0.0, 0.05) <= 1
