"""What is compared: the measures, their direction, and which size of change matters, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal["rate", "mean", "time"]

NO_RESULTS: Final = "no_results"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One thing that is measured on both sides."""

    name: str
    label: str
    """As a reader sees it."""
    unit: str
    """What one observation is, in the plural: the denominator of a rate."""
    kind: Kind
    """`rate`: share of the units; `mean`: number a unit, mean; `time`: seconds, median."""
    worse: Literal["up", "down"] = "up"
    matters: float
    """Size of change that the data should be able to show, else they are not enough: points of a
    share (0 to 1), or a share of the value before for the other kinds. Chosen by us; for rates the
    ticket margin of the alerts."""
    negligible: float
    """A smaller change is never called worse, however sure it is. Same unit. Chosen by us: with
    100,000 turns a side everything differs for sure."""
    least: float = 0.0
    """Neither of the two is below this, in the measure's unit: from 0.01 to 0.02 rewrites is
    doubled, and nothing."""
    is_headline: bool = False
    """Not enough data for this one is not enough for the whole comparison."""

    def sizes(self, before: float) -> tuple[float, float]:
        """Return what matters and what is negligible, in the unit of the difference.

        Args:
            before: The value before.
        """
        scale = 1.0 if self.kind == "rate" else abs(before)
        return max(self.matters * scale, self.least), max(self.negligible * scale, self.least)


def _rate(
    name: str, label: str, unit: str, *, matters: float = 0.10, is_headline: bool = False,
    worse: Literal["up", "down"] = "up", negligible: float = 0.01,
) -> Measure:  # fmt: skip
    return Measure(
        name=name, label=label, unit=unit, kind="rate", worse=worse, matters=matters,
        negligible=negligible, is_headline=is_headline,
    )  # fmt: skip


def _mean(name: str, label: str, unit: str, *, least: float) -> Measure:
    return Measure(
        name=name, label=label, unit=unit, kind="mean", matters=0.25, negligible=0.05, least=least
    )


MEASURES: Final = (
    _rate(NO_RESULTS, "no results", "turns that searched", is_headline=True),
    _rate("off_topic", "refused as off topic", "turns", is_headline=True),
    _rate("off_topic_unsure", "refused with low confidence", "turns"),
    _rate("failed", "error, gave up or recursion limit", "turns", is_headline=True, negligible=0.0),
    _rate("answered", "answered", "turns", worse="down"),
    _rate("empty_search", "first search found nothing", "turns that searched"),
    _rate("first_pass", "first search passed grading", "turns graded", worse="down"),
    _rate("synonym_swap", "first rewrite changed nothing", "turns that rewrote"),
    _rate(
        "answered_after_drift", "answered after drift", "turns answered", matters=0.05,
        negligible=0.0,
    ),
    _mean("rewrites", "rewrites", "turns that searched", least=0.05),
    _mean("retrievals", "retrievals", "turns", least=0.05),
    _mean("llm_calls", "model calls", "turns", least=0.1),
    _mean("tokens", "tokens", "turns with a token count", least=10),
    Measure(
        name="duration", label="duration, seconds", unit="turns", kind="time", matters=0.25,
        negligible=0.10, least=0.05,
    ),
)  # fmt: skip
"""In the order they are shown."""
BY_NAME: Final = {measure.name: measure for measure in MEASURES}
