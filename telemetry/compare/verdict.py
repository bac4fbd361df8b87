"""Two sides in, one finding a measure out: how sure, how large, and what it is called."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from telemetry.compare import means, power, ranks, rates
from telemetry.compare.holm import holm
from telemetry.compare.measures import MEASURES, Measure
from telemetry.compare.rates import Interval, Rate
from telemetry.compare.sample import Sample
from telemetry.compare.side import Side

Verdict: TypeAlias = Literal["worse", "better", "no difference shown", "not enough data"]

ALPHA: Final = 0.05
"""Chance of any false alarm over all measures of a comparison."""
FEWEST: Final = 10
"""Observations a side below which nothing is said. Source: the alerts' guard; questions of one
customer in a row are not independent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """One measure on one side."""

    n: int
    value: float
    """Share, mean or median; NaN of nothing."""
    interval: Interval
    hits: int | None = None
    """Of a rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One measure on both sides."""

    measure: Measure
    before: Estimate
    after: Estimate
    difference: float
    """`after` minus `before`: points, units, or seconds of shift (Hodges-Lehmann)."""
    interval: Interval
    """95 % interval of the difference."""
    p_value: float
    p_adjusted: float
    """Corrected for the number of measures."""
    detectable: float
    """Smallest difference that would have been found with a chance of 80 %."""
    verdict: Verdict
    more_before: int = 0
    """Observations that are missing on the side before; 0 when there are enough."""
    more_after: int = 0


def findings(
    before: Side, after: Side, measures: Sequence[Measure] = MEASURES
) -> tuple[Finding, ...]:
    """Compare every measure that both sides have, corrected for their number."""
    pairs = [
        (measure, first, second)
        for measure in measures
        if (first := before.measured.get(measure.name)) is not None
        and (second := after.measured.get(measure.name)) is not None
    ]
    # What was never seen on a side is no test, and takes nothing from the others.
    tested = [_tests(first, second) for _, first, second in pairs]
    p_values = [_METHODS[pair[0].kind].p_value(*pair[1:]) for pair in pairs]
    corrected = iter(holm([p for p, is_test in zip(p_values, tested, strict=True) if is_test]))
    adjusted = [next(corrected) if is_test else 1.0 for is_test in tested]
    alpha = ALPHA / max(sum(tested), 1)
    return tuple(
        _finding(pair, alpha, p_value=p_value, p_adjusted=p_adjusted)
        for pair, p_value, p_adjusted in zip(pairs, p_values, adjusted, strict=True)
    )


_Pair: TypeAlias = tuple[Measure, Rate | Sample, Rate | Sample]


def _tests(before: Rate | Sample, after: Rate | Sample) -> bool:
    return min(before.total, after.total) >= FEWEST


@dataclass(frozen=True, slots=True)
class _Method:
    """How one kind of measure is compared."""

    p_value: Callable[..., float]
    estimate: Callable[..., Estimate]
    difference: Callable[..., float]
    interval: Callable[..., Interval]
    detectable: Callable[..., float]
    needed: Callable[..., int]


def _finding(
    pair: _Pair,
    alpha: float,
    *,
    p_value: float,
    p_adjusted: float,
) -> Finding:
    measure, first, second = pair
    method = _METHODS[measure.kind]
    before, after = method.estimate(first), method.estimate(second)
    difference, interval = method.difference(first, second), method.interval(first, second)
    detectable = method.detectable(first, second, alpha)
    matters, negligible = measure.sizes(before.value)
    verdict: Verdict = "not enough data"
    if min(before.n, after.n) >= FEWEST:
        if p_adjusted <= ALPHA and abs(difference) > negligible:
            verdict = "worse" if (difference > 0) == (measure.worse == "up") else "better"
        elif detectable <= matters:
            verdict = "no difference shown"
    is_short = verdict == "not enough data"
    needed = max(FEWEST, method.needed(first, second, matters, alpha)) if is_short else 0
    return Finding(
        measure=measure,
        before=before,
        after=after,
        difference=difference,
        interval=interval,
        p_value=p_value,
        p_adjusted=p_adjusted,
        detectable=detectable,
        verdict=verdict,
        more_before=max(needed - before.n, 0),
        more_after=max(needed - after.n, 0),
    )


def _rate_estimate(rate: Rate) -> Estimate:
    return Estimate(n=rate.total, value=rate.share, interval=rates.wilson(rate), hits=rate.hits)


def _mean_estimate(sample: Sample) -> Estimate:
    return Estimate(n=sample.total, value=sample.mean, interval=means.mean_interval(sample))


def _time_estimate(sample: Sample) -> Estimate:
    return Estimate(
        n=sample.total, value=sample.quantile(0.5), interval=ranks.median_interval(sample)
    )


def _smoothed(rate: Rate) -> float:
    """Return the rarer of both shares, never 0: none of ten is no proof of none (Agresti-Coull).

    A change away from the rarer share is the one that varies more, and so the harder to show.
    """
    return (min(rate.hits, rate.total - rate.hits) + 2) / (rate.total + 4)


def _detectable_share(before: Rate, after: Rate, alpha: float) -> float:
    return power.detectable_rise(_smoothed(before), before.total, after.total, alpha)


def _turns_for_share(before: Rate, after: Rate, wanted: float, alpha: float) -> int:
    del after
    return power.turns_for_rise(_smoothed(before), wanted, alpha)


def _detectable_mean(before: Sample, after: Sample, alpha: float) -> float:
    if min(before.total, after.total) < 2:
        return math.inf
    return power.detectable_shift(means.standard_error(before, after), alpha)


def _detectable_time(before: Sample, after: Sample, alpha: float) -> float:
    interval = ranks.shift_interval(before, after)
    width = interval.high - interval.low
    return power.detectable_shift(width / 2 / rates.critical(), alpha)


def _turns_by(detectable: Callable[..., float]) -> Callable[..., int]:
    def needed(before: Sample, after: Sample, wanted: float, alpha: float) -> int:
        if not before.total or not after.total:
            return FEWEST
        found = detectable(before, after, alpha)
        return power.turns_for_shift(found, wanted, before.total, after.total)

    return needed


_METHODS: Final = {
    "rate": _Method(
        rates.p_value, _rate_estimate, lambda first, second: second.share - first.share,
        rates.newcombe, _detectable_share, _turns_for_share,
    ),
    "mean": _Method(
        means.p_value, _mean_estimate, lambda first, second: second.mean - first.mean,
        means.difference_interval, _detectable_mean, _turns_by(_detectable_mean),
    ),
    "time": _Method(
        ranks.p_value, _time_estimate, ranks.shift, ranks.shift_interval, _detectable_time,
        _turns_by(_detectable_time),
    ),
}  # fmt: skip
