"""How sure it is that the canary's share differs from the stable one's, at every moment.

The evidence is an e-process: whoever bets against a claim that is true starts with 1 and reaches
1 / alpha, ever, with a chance of at most alpha (Ville's inequality). So it may be looked at after
every turn, and one may stop whenever one likes.

In each block of turns the bet is a likelihood ratio: the two shares that earlier blocks suggest,
over the two shares of the claim that are nearest to them in Kullback-Leibler divergence, weighted
by the turns of the sides. Under any two shares of a convex claim its mean is at most 1, for any
numbers of turns: the logarithm of that mean is concave in the shares, 0 at the nearest ones, and
falls from there into the claim. The shares may differ from block to block, so a busy evening, or
more traffic for the canary, proves nothing by itself.

Source:
    Turner, Ly and Gruenwald, Generic E-variables for exact sequential k-sample tests that allow
    for optional stopping, Journal of Statistical Planning and Inference 230 (2024).
    Turner and Gruenwald, Exact anytime-valid confidence intervals for contingency tables and
    beyond, Statistics & Probability Letters 198 (2023): claims on the difference, intervals.
    Ramdas, Gruenwald, Vovk and Shafer, Game-theoretic statistics and safe anytime-valid inference,
    Statistical Science 38 (2023): e-processes and Ville's inequality.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from telemetry.canary.counts import CANARY, STABLE, Blocks
from telemetry.compare.sample import Floats

Direction: TypeAlias = Literal["above", "below"]

GUESSED_TURNS: Final = 100.0
"""Turns that the guess counts for. Chosen by us: with 10 the first few turns lead to wild bets, and
a promotion takes a fifth longer; with 400 a roll-back takes a tenth longer."""
FORECAST_TURNS: Final = 10.0
"""Turns without a difference that a forecast adds to what was seen; chosen by us: two hits among
the first five turns are no trend."""
_LEAST: Final = 1e-6
"""Shares are kept this far from 0 and 1, so that no turn can take everything."""
_HALVINGS: Final = 20
"""The nearest shares are then known to a millionth of how far apart the given ones are."""
_BOUND_HALVINGS: Final = 14
"""An end is then known to a hundredth of a point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """That the canary's share minus the stable one's is above, or below, an edge."""

    direction: Direction
    edge: float
    """-1 to 1."""
    guess: float
    """Difference to bet on before the canary has shown its own, -1 to 1."""


def evidence(blocks: Blocks, claim: Claim) -> Floats:
    """Return the natural logarithm of the evidence for a claim after each block.

    The claim is shown with a chance of error of alpha where this reaches ln(1 / alpha).
    """
    shares = _learned(blocks, claim.guess, GUESSED_TURNS)[:-1]
    return np.cumsum(_gained(blocks.hits, blocks.totals, shares, claim))


def growth(blocks: Blocks, claim: Claim) -> float:
    """Return by how much the logarithm grows a turn of the canary, when the shares stay; 0 if not.

    Its mean is the divergence of the shares from the nearest ones that contradict the claim; of
    those that were seen, for a bet may be bold and a forecast may not.
    """
    if not len(blocks.totals):
        return 0.0
    shares = _learned(blocks, 0.0, FORECAST_TURNS)[-1:]
    totals = blocks.totals.sum(axis=0, keepdims=True)
    a_turn = totals / totals[:, CANARY]
    return float(_gained(shares * a_turn, a_turn, shares, claim)[0])


def difference(blocks: Blocks) -> float:
    """Return the canary's share minus the stable one's, compared within blocks alone.

    NaN without blocks.

    Source:
        Greenland and Robins, Estimation of a common effect parameter from sparse follow-up data,
        Biometrics 41 (1985): the differences of the blocks with the weights of Mantel and Haenszel.
    """
    weights, weighted = _differences(blocks)
    return float(weighted.sum() / weights.sum()) if len(weights) else math.nan


def bound(blocks: Blocks, direction: Direction, guess: float, alpha: float) -> float:
    """Return the end of an always-valid interval of the difference, -1 to 1.

    The difference is above (or below) it, at all looks together but a share of alpha.

    Args:
        blocks: What was seen.
        direction: `above` for the lower end, `below` for the upper one.
        guess: As in a claim.
        alpha: Chance of error of this end.
    """
    sign = 1.0 if direction == "above" else -1.0
    if not len(blocks.totals):
        return -sign
    # The evidence grows the farther the edge lies from what was seen.
    shown, open_ = -sign, difference(blocks)
    for _ in range(_BOUND_HALVINGS):
        edge = (shown + open_) / 2
        claim = Claim(direction=direction, edge=edge, guess=guess)
        if evidence(blocks, claim)[-1] >= math.log(1 / alpha):
            shown = edge
        else:
            open_ = edge
    return shown


def _learned(blocks: Blocks, guess: float, turns: float) -> Floats:
    """Return the shares to bet on before each block and after the last, shape (n_blocks + 1, 2).

    The stable side's from all that came before, with half a hit of each kind added (Krichevsky and
    Trofimov, The performance of universal encoding, IEEE Transactions on Information Theory 27,
    1981). The canary's is apart from it by the difference so far, drawn towards the guess, which
    counts for some turns.
    """
    hits = blocks.before.hits + _sums(blocks.hits[:, STABLE])
    stable = (hits + 0.5) / (blocks.before.total + _sums(blocks.totals[:, STABLE]) + 1.0)
    weights, weighted = _differences(blocks)
    apart = (_sums(weighted) + turns * guess) / (_sums(weights) + turns)
    # As sure as half a hit in all turns that it is built on: one hit more must not end the bet.
    least = 0.5 / (_sums(blocks.totals[:, CANARY]) + turns + 1.0)
    canary = np.clip(stable + apart, least, 1 - least)
    return np.clip(np.stack([stable, canary], axis=1), _LEAST, 1 - _LEAST)


def _differences(blocks: Blocks) -> tuple[Floats, Floats]:
    """Return the weight of each block, and the difference of its shares times that."""
    weights = blocks.totals.prod(axis=1) / blocks.totals.sum(axis=1)
    shares = blocks.hits / blocks.totals
    return weights, weights * (shares[:, CANARY] - shares[:, STABLE])


def _sums(values: Floats) -> Floats:
    """Return the sum before each value and after the last."""
    return np.concatenate([[0.0], np.cumsum(values)])


def _gained(hits: Floats, totals: Floats, shares: Floats, claim: Claim) -> Floats:
    """Return what the logarithm gains in each block; 0 where the shares speak against the claim."""
    beyond = shares[:, CANARY] - shares[:, STABLE] - claim.edge
    supports = beyond > 0 if claim.direction == "above" else beyond < 0
    nearest = _nearest(shares, totals, claim.edge)
    misses = totals - hits
    ratio = hits * np.log(shares / nearest) + misses * np.log((1 - shares) / (1 - nearest))
    return np.where(supports, ratio.sum(axis=1), 0.0)


def _nearest(shares: Floats, totals: Floats, edge: float) -> Floats:
    """Return the nearest shares that are `edge` apart, shape (n_blocks, 2).

    The divergence is convex in them: its slope is 0 at one place, found by halving.
    """
    edge = float(np.clip(edge, 4 * _LEAST - 1, 1 - 4 * _LEAST))
    apart = np.array([0.0, edge])
    least, most = max(0.0, -edge) + _LEAST / 2, min(1.0, 1.0 - edge) - _LEAST / 2
    ends = np.clip(shares - apart, least, most)
    low, high = ends.min(axis=1), ends.max(axis=1)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        both = middle[:, None] + apart
        slope = (totals * (both - shares) / (both * (1 - both))).sum(axis=1)
        low, high = np.where(slope < 0, middle, low), np.where(slope < 0, high, middle)
    return np.asarray(((low + high) / 2)[:, None] + apart)
