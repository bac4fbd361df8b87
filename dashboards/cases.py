"""What a promtool case is: traffic, and which alerts fire when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from dashboards.traffic import HEALTHY, IDLE, NOT_OURS, Phase, Rates, Replica

Kind = Literal["fires", "healthy", "low", "reset", "absent", "more"]
NEEDED: Final[tuple[Kind, ...]] = ("fires", "healthy", "low", "reset", "absent")
"""The cases that every failure must have."""

Firing = Mapping[int, tuple[str, ...]]
"""Minute -> names of the alerts that fire then; no other may."""

WARM_UP: Final = 60
"""Healthy minutes before a fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One promtool test."""

    kind: Kind
    title: str
    """A sentence, said of the service."""
    replicas: tuple[Replica, ...]
    firing: Firing
    step_minutes: int = 1
    """Minutes between samples and between evaluations; more for cases of many days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A failure as its signals show it, and the cases that prove its alerts."""

    fault: Rates
    """The rates while the failure is there."""
    firing: Firing
    """Minutes after its beginning -> alerts; the first entry is 'not yet'."""
    few: Rates = field(default_factory=dict)
    """Events of a quiet service with the failure, all in one minute of an hour."""
    few_firing: tuple[str, ...] = ()
    """What fires all the same: alerts of which one event is proof."""
    also: tuple[str, ...] = ()
    """Alerts of other failures that fire in the last minute, with every rule loaded."""
    phases: tuple[Phase, ...] = ()
    """Instead of `fault`, for a failure that is no rate; after the warm-up."""
    more: tuple[Case, ...] = ()

    def cases(self) -> list[Case]:
        """Return every case of the failure."""
        if self.phases:
            return [_fires(self), *self.more]
        return [_fires(self), _healthy(), _low(self), *_resets(self), *_absent(), *self.more]


def _fires(scenario: Scenario) -> Case:
    return Case(
        kind="fires",
        title="the failure begins after a healthy hour",
        replicas=(Replica(phases=(Phase(minutes=WARM_UP), *fault_phases(scenario))),),
        firing={
            WARM_UP: (),
            **{WARM_UP + minute: alerts for minute, alerts in scenario.firing.items()},
        },
    )


def fault_phases(scenario: Scenario) -> tuple[Phase, ...]:
    """Return the stretch with the failure, as long as something is expected of it."""
    return scenario.phases or (Phase(minutes=max(scenario.firing), rates=scenario.fault),)


def _healthy() -> Case:
    return Case(
        kind="healthy",
        title="ten turns a minute for two hours, and a restart",
        replicas=(Replica(phases=(Phase(minutes=90), Phase(minutes=30, restarts=True))),),
        firing={60: (), 91: (), 100: (), 120: ()},
    )


def _low(scenario: Scenario) -> Case:
    return Case(
        kind="low",
        title="a handful of turns in an hour, all with the failure",
        replicas=(
            Replica(
                phases=(
                    Phase(minutes=10, rates=IDLE),
                    Phase(minutes=1, rates={**IDLE, **scenario.few}),
                    Phase(minutes=34, rates=IDLE),
                )
            ),
        ),
        firing={10: (), 20: scenario.few_firing, 45: scenario.few_firing},
    )


def _resets(scenario: Scenario) -> list[Case]:
    """A restart alone is quiet; one in the middle of an incident does not hide it."""
    end = max(scenario.firing)
    half = max(1, end // 2)
    return [
        Case(
            kind="reset",
            title="the service restarts three times, healthy",
            replicas=(
                Replica(
                    phases=(
                        Phase(minutes=20),
                        *(Phase(minutes=10, restarts=True) for _ in range(3)),
                    )
                ),
            ),
            firing={21: (), 31: (), 41: (), 50: ()},
        ),
        Case(
            kind="reset",
            title="the service restarts in the middle of the failure",
            replicas=(
                Replica(
                    age_minutes=1024,
                    phases=(
                        Phase(minutes=WARM_UP),
                        Phase(minutes=half, rates=scenario.fault),
                        Phase(minutes=end - half, rates=scenario.fault, restarts=True),
                    ),
                ),
            ),
            firing={WARM_UP + end: scenario.firing[end]},
        ),
    ]


def _absent() -> list[Case]:
    """Missing data is the business of one rule only."""
    return [
        Case(
            kind="absent",
            title="the service is not there at all",
            replicas=(Replica(phases=(Phase(minutes=30, rates={}, gauges={NOT_OURS: 0}),)),),
            firing={30: ()},
        ),
        Case(
            kind="absent",
            title="the service vanishes",
            replicas=(
                Replica(phases=(Phase(minutes=30, rates=HEALTHY), Phase(minutes=30, is_gone=True))),
            ),
            firing={31: (), 45: (), 60: ()},
        ),
    ]
