"""The confusion matrix, rows faults and columns alerts, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.demo.cases import Case
from agent.demo.guide import GuideAlert


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """An alert that fired for a service."""

    job: str
    alert: str
    seconds: float
    """After the faults were switched on; negative in the healthy stretch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What was told of one service."""

    case: Case
    fired: Mapping[str, float]
    """Alert -> seconds after the fault, the first time."""
    notified: frozenset[str]
    """Alerts that arrived at the webhook receiver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """All rows, judged by the guide."""

    rows: Sequence[Row]
    alerts: Sequence[GuideAlert]
    consequences: Mapping[str, Sequence[str]]
    """Slug of a failure -> slugs of those that may be told because of it."""
    strays: Sequence[Firing] = ()
    """What fired for none of the services."""

    def own(self, case: Case) -> list[GuideAlert]:
        """Return the alerts that tell of the fault itself."""
        return [
            alert
            for alert in self.alerts
            if alert.failure == case.failure
            and (case.cause is None or alert.cause in (None, case.cause, "change"))
        ]

    def needed(self, case: Case) -> list[GuideAlert]:
        """Return the alerts of which at least one must fire."""
        return [alert for alert in self.own(case) if alert.cause == case.cause]

    def allowed(self, case: Case) -> set[str]:
        """Return the names of the alerts that may fire: its own, and declared consequences.

        A consequence never names a cause, since that would send people to the wrong place.
        """
        followed = self.consequences.get(case.failure or "", ())
        return {
            *(alert.name for alert in self.own(case)),
            *(a.name for a in self.alerts if a.failure in followed and a.cause in (None, "change")),
        }

    def problems(self) -> list[str]:
        """Return what is wrong, one sentence each; empty when the matrix is right."""
        strays = [
            f"{stray.job or 'no service'}: {stray.alert} fired, which belongs to no row"
            for stray in self.strays
        ]
        return [*strays, *(problem for row in self.rows for problem in self._of(row))]

    def as_json(self) -> dict[str, Any]:
        """Return built-ins only."""
        return {
            "is_right": not self.problems(),
            "problems": self.problems(),
            "rows": [
                {
                    "job": row.case.job,
                    "failure": row.case.failure,
                    "cause": row.case.cause,
                    "fired": {name: round(s, 1) for name, s in sorted(row.fired.items())},
                    "notified": sorted(row.notified),
                    "own": [alert.name for alert in self.own(row.case)],
                    "allowed": sorted(self.allowed(row.case)),
                }
                for row in self.rows
            ],
        }

    def _of(self, row: Row) -> Iterable[str]:
        job = row.case.job
        for name, seconds in row.fired.items():
            if seconds < 0:
                yield f"{job}: {name} fired {-seconds:.0f} s before the fault"
            elif name not in self.allowed(row.case):
                yield f"{job}: {name} fired, which the guide does not expect"
        needed = {alert.name for alert in self.needed(row.case)}
        if not needed:
            return
        if not needed & set(row.fired):
            yield f"{job}: none of {', '.join(sorted(needed))} fired"
        elif not {alert.name for alert in self.own(row.case)} & row.notified:
            yield f"{job}: its alert fired and no notification of it arrived"


def rows_of(
    cases: Iterable[Case], firings: Iterable[Firing], notified: Iterable[tuple[str, str]]
) -> list[Row]:
    """Return the rows.

    Args:
        cases: The services.
        firings: Every alert that fired, also more than once.
        notified: (job, alert) of every notification of a firing alert.
    """
    first: dict[str, dict[str, float]] = {}
    for firing in firings:
        fired = first.setdefault(firing.job, {})
        fired[firing.alert] = min(firing.seconds, fired.get(firing.alert, firing.seconds))
    arrived = set(notified)
    return [
        Row(
            case=case,
            fired=dict(sorted(first.get(case.job, {}).items(), key=lambda item: item[1])),
            notified=frozenset(alert for job, alert in arrived if job == case.job),
        )
        for case in cases
    ]
