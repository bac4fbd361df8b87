"""Conditions that are no share: silence, absence, known questions, a limit without room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dashboards.conditions import Direct
from dashboards.settings import Settings
from dashboards.signals import Count, Recording, number, series
from telemetry import names

ROUNDS: Final = 2
"""Rounds in a row that prove a regression. Chosen by us: one may be a restart of the service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FellSilent:
    """Nothing happens any more, at a time when much used to happen, and the service is there."""

    events: Count
    shows: str = "count"

    def recordings(self, settings: Settings) -> list[Recording]:
        """Return the events in each window."""
        return [
            Recording(
                name=self._recorded(settings),
                labels=(("window", settings.range(window)),),
                expr=self.events.increase(settings, window),
            )
            for window in settings.windows
        ]

    def expr(self, settings: Settings) -> str:
        """Return 0 where a window is empty that was full a period ago.

        A service that has no such past yet is compared with the busiest window that ended in the
        stretch before.
        """
        silent = "\nor ".join(f"({self._window(settings, window)})" for window in settings.windows)
        here = f"group by ({settings.by}) ({series(settings, names.BUILD_INFO)})"
        return f"max by ({settings.by}) (\n{silent}\n)\nand on ({settings.by}) {here}"

    def value(self, settings: Settings) -> str:
        """Return the events of the middle window."""
        window = settings.range(settings.window_medium)
        return f'max by ({settings.by}) ({self._recorded(settings)}{{window="{window}"}})'

    def told(self, settings: Settings) -> str:
        """Say what is compared with what."""
        windows = ", ".join(settings.range(window) for window in settings.windows)
        return (
            f"In one of the last {windows} no turn ended, although the same stretch "
            f"{settings.span(settings.period)} ago held more than "
            f"{number(settings.traffic_expected)} turns (for a service younger than that: one "
            "that ended just before), and the service is still scraped."
        )

    def _recorded(self, settings: Settings) -> str:
        return f"{settings.level}_window:rag_traffic:increase"

    def _window(self, settings: Settings, window: float) -> str:
        length = settings.range(window)
        now = f'{self._recorded(settings)}{{window="{length}"}}'
        past, enough = settings.span(settings.period), number(settings.traffic_expected)
        before = f"max_over_time({now}[{length}] offset {length})"
        return (
            f"{now} == 0 and (\n  {now} offset {past} > {enough}\n"
            f"  or ({before} > {enough} unless {now} offset {past})\n)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Vanished(Direct):
    """A service that was scraped is scraped no more, or none was ever seen."""

    shows: str = "count"

    def expr(self, settings: Settings) -> str:
        """Return 1 for each service that vanished, whether its target is down or was removed."""
        info, memory = series(settings, names.BUILD_INFO), settings.range(settings.memory)
        return f"{_gone(info, settings)}\nor absent_over_time({info}[{memory}])"

    def value(self, settings: Settings) -> str:
        """Return 1 for each service that vanished."""
        return self.expr(settings)

    def told(self, settings: Settings) -> str:
        """Say what is missed."""
        return (
            f"`{names.BUILD_INFO}` was there in the last {settings.range(settings.memory)} and is "
            "not there now, or nobody exported it in all that time."
        )


def _gone(selector: str, settings: Settings) -> str:
    """Return 1 for each service that had such a series lately and has none now."""
    memory = settings.range(settings.memory)
    return (
        f"group by ({settings.by}) (last_over_time({selector}[{memory}]))\n"
        f"unless on ({settings.by}) group by ({settings.by}) ({selector})"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Flipped(Direct):
    """Known questions came out unlike expected in the last two rounds of a prober."""

    shows: str = "count"

    def expr(self, settings: Settings) -> str:
        """Return the questions where there are any."""
        return f"{self.value(settings)} > 0"

    def value(self, settings: Settings) -> str:
        """Return how many questions they are; two probers of a service ask the same ones."""
        return flipped(settings, ROUNDS)

    def told(self, _: Settings) -> str:
        """Say how often is too often."""
        return (
            f"A question of the golden set came out unlike expected at least {ROUNDS} rounds in a "
            f"row: `{names.PROBE_UNEXPECTED}` is {ROUNDS} or more."
        )


def flipped(settings: Settings, rounds: int) -> str:
    """Return how many questions came out unlike expected so many rounds in a row; 0 for none."""
    row = series(settings, names.PROBE_UNEXPECTED)
    by_question = f"max by ({settings.by}, {names.LABEL_QUESTION_ID}) ({row})"
    return f"sum by ({settings.by}) ({by_question} >= bool {rounds})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProberGone(Direct):
    """A service that was probed is probed no more, and is there itself."""

    shows: str = "count"

    def expr(self, settings: Settings) -> str:
        """Return 1 for each service whose last prober is gone."""
        gone = _gone(series(settings, names.PROBE_LAST_ROUND), settings)
        here = series(settings, names.BUILD_INFO)
        return f"{gone}\nand on ({settings.by}) group by ({settings.by}) ({here})"

    def value(self, settings: Settings) -> str:
        """Return 1 for each such service."""
        return self.expr(settings)

    def told(self, settings: Settings) -> str:
        """Say what is missed."""
        return (
            f"`{names.PROBE_LAST_ROUND}` was there in the last {settings.range(settings.memory)} "
            f"and is not there now, although the service is."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NoRoom(Direct):
    """The graph's step limit would cut off the longest turn that its own bound allows."""

    shows: str = "count"

    def expr(self, settings: Settings) -> str:
        """Return the graphs without room: each limit is compared with its own graph's need."""
        per_graph = f"{settings.by}, {names.LABEL_GRAPH}"
        limit = series(settings, names.RECURSION_LIMIT_GAUGE)
        needed = series(settings, names.RECURSION_STEPS_NEEDED)
        return (
            f"count by ({settings.by}) (\n"
            f"  min by ({per_graph}) ({limit})\n"
            f"  <= max by ({per_graph}) ({needed})\n)"
        )

    def value(self, settings: Settings) -> str:
        """Return the graphs without room."""
        return self.expr(settings)

    def told(self, _: Settings) -> str:
        """Say what is compared with what."""
        return (
            f"For at least one graph `{names.RECURSION_LIMIT_GAUGE}` is not above "
            f"`{names.RECURSION_STEPS_NEEDED}`."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered(Direct):
    """The data source does not answer Grafana: the query is a constant, only its failure tells."""

    shows: str = "count"

    def expr(self, _: Settings) -> str:
        """Return nothing as long as there is an answer."""
        return "vector(1) < 1"

    def value(self, _: Settings) -> str:
        """Return 1."""
        return "vector(1)"

    def told(self, _: Settings) -> str:
        """Say what raises it."""
        return "Grafana cannot evaluate `vector(1)` on the Prometheus data source."
