"""The rows of the matrix: each fault, the service it is put into, and the failure it must show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

HEALTHY: Final = "healthy"
"""Job of the service that stays sound: nothing may be told of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One service. Its name is the label `job`."""

    fault: str | None
    """Name of the fault; None for the sound service."""
    failure: str | None
    """Slug of the failure that must be told."""
    cause: str | None = None
    """The cause that must be told with it."""
    max_rewrites: int = 2
    load: float = 1.0
    """Questions for one of the other services."""

    @property
    def job(self) -> str:
        """Value of the label `job`."""
        return self.fault or HEALTHY


CASES: Final = (
    Case(fault=None, failure=None),
    Case(fault="silent-rejection", failure="silent_rejection"),
    Case(fault="runaway-loop", failure="runaway_loop"),
    # What the local model finds at all it finds at the first rewrite: the bound is there.
    Case(fault="budget-first", failure="budget_checked_first", max_rewrites=1),
    Case(fault="synonym-swap", failure="synonym_swap"),
    # Only second rewrites count, and few turns make one.
    Case(fault="drift", failure="rewrite_drift", load=2.0),
    Case(fault="index-regression", failure="no_results_jump", cause="index"),
    Case(fault="grader-regression", failure="no_results_jump", cause="grader"),
    Case(fault="model-outage", failure="model_errors"),
    Case(fault="retriever-outage", failure="retriever_errors"),
    Case(fault="slow-model", failure="latency_objective"),
    Case(fault="metrics-gone", failure="metrics_absent"),
    Case(fault="traffic-stopped", failure="traffic_stopped"),
    Case(fault="collector-down", failure="spans_dropped"),
)
"""All rows, the sound service first, the others in the order of the guide."""
