"""The course of the demo: a healthy stretch, then every fault at once, then the judgement."""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from agent.demo.cases import HEALTHY, Case
from agent.demo.guide import ALERTS, CONSEQUENCES
from agent.demo.matrix import Firing, Matrix, rows_of
from agent.demo.stage import Stage
from agent.demo.watch import Prometheus
from agent.traffic.tally import Tally

HEALTHY_WINDOWS: Final = 1.7
"""Healthy stretch in middle windows: longer than one, so that every share has been measured."""
LEAST_WINDOWS: Final = 1.8
MOST_WINDOWS: Final = 3.5
"""Stretch with faults in middle windows: at least long enough for a wrong alert to fire as well, at
most until what is rare has been counted often enough."""
BUSY_SECONDS: Final = 2.0
"""A healthy turn takes 0.1 s. When 1 in 100 takes longer than this, or questions go out this late,
the machine has too little left for the demo, and alerts about that are right."""
POLL_SECONDS: Final = 1.0

Tell = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How it went."""

    matrix: Matrix
    problems: list[str]
    """What is wrong, one sentence each; empty when everything is as the guide says."""
    tallies: dict[str, Tally]
    seconds: float
    """From the first question to the judgement."""

    def as_json(self) -> dict[str, Any]:
        """Return the object of `demo --json`."""
        return {
            **self.matrix.as_json(),
            "is_right": not self.problems,
            "problems": self.problems,
            "seconds": round(self.seconds, 1),
            "traffic": {job: tally.total.as_json() for job, tally in self.tallies.items()},
        }


class Show:
    """One showing on a stage that is up.

    Args:
        stage: What runs.
        tell: Gets each line for the terminal.
    """

    def __init__(self, stage: Stage, tell: Tell) -> None:
        self._stage = stage
        self._tell = tell
        self._began = time.time()
        self._switched: float | None = None
        self._seen: dict[str, dict[str, float]] = {case.job: {} for case in stage.plan.cases}
        self._strays: dict[str, float] = {}

    async def run(self) -> Result:
        """Show both stretches and judge what was told."""
        window = self._stage.guide.window_seconds
        healthy, least, most = (
            round(windows * window) for windows in (HEALTHY_WINDOWS, LEAST_WINDOWS, MOST_WINDOWS)
        )
        async with Prometheus(self._stage.addresses["Prometheus"]) as prometheus:
            await prometheus.scrapes(set(self._seen))
            self._began = time.time()
            self._tell(f"healthy for {healthy} s: nothing may fire")
            await self._watch(prometheus, least=healthy, most=healthy)
            self._stage.switch()
            self._switched = time.time()
            self._tell(f"every fault is on, for {least} s or more")
            await self._watch(prometheus, least=least, most=most)
            matrix = await self._matrix(prometheus)
            broken = await prometheus.rule_problems()
        tallies = copy.deepcopy(self._stage.tallies)  # the traffic goes on
        problems = [*matrix.problems(), *broken, *_unanswered(tallies)]
        return Result(
            matrix=matrix,
            problems=[*_busy(tallies), *problems] if problems else [],
            tallies=tallies,
            seconds=time.time() - self._began,
        )

    async def _watch(self, prometheus: Prometheus, *, least: float, most: float) -> None:
        """Tell each alert as it fires, until the time is up and every fault was told."""
        start = time.monotonic()
        while (gone := time.monotonic() - start) < most:
            for job, alert in sorted(await prometheus.firing()):
                self._note(job, alert)
            if gone >= least and all(map(self._is_told, self._stage.plan.cases)):
                return
            await asyncio.sleep(POLL_SECONDS)

    def _note(self, job: str, alert: str) -> None:
        seen = self._seen.get(job, self._strays)
        if alert in seen:
            return
        since = self._began if self._switched is None else self._switched
        seen[alert] = time.time() - since
        others = [name for name in seen if name != alert]
        beside = f"  (with {', '.join(others)})" if others else ""
        self._tell(f"{seen[alert]:5.0f} s  {job or 'no job'}: {alert}{beside}")

    def _is_told(self, case: Case) -> bool:
        needed = {alert.name for alert in self._blank.needed(case)}
        return not needed or bool(needed & set(self._seen[case.job]))

    @property
    def _blank(self) -> Matrix:
        return Matrix(rows=(), alerts=ALERTS, consequences=CONSEQUENCES)

    async def _matrix(self, prometheus: Prometheus) -> Matrix:
        """Return what fired according to Prometheus' own record, which misses nothing short."""
        switched = self._switched or time.time()
        fired = await prometheus.fired(
            self._began, time.time(), step=self._stage.guide.step_seconds / 2
        )
        firings = [Firing(job=job, alert=alert, seconds=at - switched) for job, alert, at in fired]
        notices = [n for n in self._stage.inbox.notices if n.status == "firing"]
        cases = self._stage.plan.cases
        return Matrix(
            rows=rows_of(cases, firings, ((n.labels.get("job", ""), n.alert) for n in notices)),
            alerts=ALERTS,
            consequences=CONSEQUENCES,
            strays=[firing for firing in firings if firing.job not in self._seen],
        )


def _busy(tallies: dict[str, Tally]) -> list[str]:
    """Return a sentence when the machine could not keep up with the demo itself."""
    healthy = tallies[HEALTHY].total.durations.quantile(0.99) or 0.0
    late = max(tally.latest_start_seconds for tally in tallies.values())
    if max(healthy, late) < BUSY_SECONDS:
        return []
    return [
        f"this machine was too busy: 1 in 100 healthy turns took {healthy:.1f} s or more and "
        f"questions went out up to {late:.1f} s late, so that other lines may follow from it; "
        "try again when it is idle, or with a lower --rate and a larger --time-scale"
    ]


def _unanswered(tallies: dict[str, Tally]) -> list[str]:
    """Return a sentence for each service that left questions without any reply."""
    return [
        f"{job}: {tally.total.errors.total()} questions got no reply and {tally.total.unsent} "
        "could not be sent"
        for job, tally in tallies.items()
        if tally.total.errors or tally.total.unsent
    ]
