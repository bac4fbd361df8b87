"""When an alert is raised: each condition states itself in PromQL and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from dashboards.settings import Settings
from dashboards.signals import Count, Margin, Recording, Signal, Z, number, recent_change

BURSTS_PER_WINDOW: Final = 12
"""The short window of a burn rate is a twelfth of the long one, so that an alert ends soon after
its cause. Source: Google, The Site Reliability Workbook, ch. 5 "Alerting on SLOs"."""
BURN_RATES: Final = (("window_medium", 14.4), ("window_long", 6.0))
"""Window and factor: 2 % of a month's budget in an hour, 5 % in six. Source: as above."""


class Condition(Protocol):
    """Something that holds, for each service, or does not."""

    @property
    def shows(self) -> str:
        """What `value` is: `share` (0 to 1), `count` or `number`."""

    def recordings(self, settings: Settings, /) -> list[Recording]:
        """Return the recording rules that `expr` builds on."""

    def expr(self, settings: Settings, /) -> str:
        """Return PromQL that has one series for each service where the condition holds."""

    def value(self, settings: Settings, /) -> str:
        """Return PromQL of the number that is compared, also while the condition does not hold."""

    def told(self, settings: Settings, /) -> str:
        """Return the condition as sentences with every number in it."""


class Direct:
    """A condition that reads its series as they are: a few counters or gauges are cheap."""

    __slots__ = ()

    def recordings(self, _: Settings) -> list[Recording]:
        """Return none."""
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Rises:
    """A share is surely above its own usual value, by a margin that matters."""

    signal: Signal
    margin: Margin
    after_change: bool = False
    """Raised only while a change of the service is recent."""
    unless: tuple[Signal, ...] = ()
    """Shares that explain the rise better: not raised while one of them rose by half as much."""
    shows: str = "share"

    def recordings(self, settings: Settings) -> list[Recording]:
        """Return the signal's own, and those of what it is compared with."""
        return [
            *self.signal.recordings(settings),
            *(rule for signal in self.unless for rule in signal.recordings(settings)),
            *((recent_change(settings),) if self.after_change else ()),
        ]

    def expr(self, settings: Settings) -> str:
        """Return the lower bound where it is above the recorded threshold."""
        threshold = self.signal.recorded(f"threshold_{self.margin.tier}", settings)
        parts = [f"{self.signal.lower(settings)}\n> {threshold}"]
        if self.after_change:
            parts.append(f"and on ({settings.by}) {recent_change(settings).name}")
        for other in self.unless:
            half = number(settings.limit(self.margin.add) / 2)
            above = f"{other.lower(settings)} > {other.recorded('baseline', settings)} + {half}"
            parts.append(f"unless on ({settings.by}) ({above})")
        return "\n".join(parts)

    def value(self, settings: Settings) -> str:
        """Return the lower bound of the share."""
        return self.signal.lower(settings)

    def told(self, settings: Settings) -> str:
        """Say what is compared with what, with an example."""
        add, odds = (settings.limit(f) for f in (self.margin.add, self.margin.odds))
        expected = settings.limit(self.signal.expected or "")
        limit = threshold_at(expected, add, odds)
        text = (
            f"{_surely(self.signal, settings)} is above both b + {_percent(add)} and "
            f"{number(odds)}b / (1 - b + {number(odds)}b). The usual share b is that of the past "
            f"{settings.span(settings.baseline_window)} before the last "
            f"{settings.span(settings.baseline_delay)}, pulled towards {_percent(expected)}; "
            f"for b = {_percent(expected)} the limit is {_percent(limit)}."
        )
        if self.after_change:
            text += (
                " And a version, index, prompt, grader or model came into use in the last "
                f"{settings.range(settings.change_window)} beside one that was there before."
            )
        if self.unless:
            names = " nor ".join(signal.what for signal in self.unless)
            text += f" Not raised while {names} rose by {_percent(add / 2)} too."
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Exceeds:
    """A share is surely above a fixed limit."""

    signal: Signal
    limit: str
    """Settings field."""
    shows: str = "share"

    def recordings(self, settings: Settings) -> list[Recording]:
        """Return the signal's."""
        return self.signal.recordings(settings)

    def expr(self, settings: Settings) -> str:
        """Return the lower bound where it is above the limit."""
        return f"{self.signal.lower(settings)}\n> {number(settings.limit(self.limit))}"

    def value(self, settings: Settings) -> str:
        """Return the lower bound of the share."""
        return self.signal.lower(settings)

    def told(self, settings: Settings) -> str:
        """Say what is compared with what."""
        limit = _percent(settings.limit(self.limit))
        return f"{_surely(self.signal, settings)} is above {limit}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Either:
    """At least one of several conditions holds."""

    of: tuple[Rises, ...]
    shows: str = "share"

    def recordings(self, settings: Settings) -> list[Recording]:
        """Return those of all parts."""
        return [rule for part in self.of for rule in part.recordings(settings)]

    def expr(self, settings: Settings) -> str:
        """Return the first part that holds."""
        return f"\nor on ({settings.by})\n".join(f"({p.expr(settings)})" for p in self.of)

    def value(self, settings: Settings) -> str:
        """Return the number of the part that holds, else of the first that has one."""
        numbers = " or ".join(part.value(settings) for part in self.of)
        return f"{self.expr(settings)}\nor on ({settings.by})\n({numbers})"

    def told(self, settings: Settings) -> str:
        """Say all parts."""
        return " Or: ".join(part.told(settings) for part in self.of)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened(Direct):
    """An event that a sound agent never has happened in the window."""

    events: Count
    what: str
    window: str = "window_medium"
    shows: str = "count"

    def expr(self, settings: Settings) -> str:
        """Return the events where there were any; compared with 0, since counts are fractions."""
        return f"{self.value(settings)} > 0"

    def value(self, settings: Settings) -> str:
        """Return the events of the window."""
        return self.events.increase(settings, settings.limit(self.window))

    def told(self, settings: Settings) -> str:
        """Say what must not happen."""
        window = settings.range(settings.limit(self.window))
        return f"In the last {window} there was at least one of the {self.what}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Share(Direct):
    """Rare events are more than a share of something in the window, and more than a few."""

    events: Count
    total: Count
    what: str
    out_of: str
    limit: str
    """Settings field."""
    window: str = "window_medium"
    shows: str = "share"

    def expr(self, settings: Settings) -> str:
        """Return the share where it is above the limit and rests on enough events."""
        count = self.events.increase(settings, settings.limit(self.window))
        return (
            f"{self.value(settings)} > {number(settings.limit(self.limit))}\n"
            f"and on ({settings.by}) {count} > {settings.min_rare - 0.5}"
        )

    def value(self, settings: Settings) -> str:
        """Return the share."""
        return ratio(self.events, self.total, settings, settings.limit(self.window))

    def told(self, settings: Settings) -> str:
        """Say the share and the count."""
        return (
            f"In the last {settings.range(settings.limit(self.window))} there were at least "
            f"{settings.min_rare} {self.what}, and they are more than "
            f"{_percent(settings.limit(self.limit))} of the {self.out_of}."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Burns(Direct):
    """An error budget is spent so fast that it would not last, in a long and in a short window."""

    events: Count
    total: Count
    what: str
    out_of: str
    budget: str
    """Settings field: the share that may go wrong."""
    shows: str = "share"

    def expr(self, settings: Settings) -> str:
        """Return the share in the long window of the pair that burns."""
        return f"\nor on ({settings.by})\n".join(
            f"({self._pair(settings, settings.limit(window), factor)})"
            for window, factor in BURN_RATES
        )

    def value(self, settings: Settings) -> str:
        """Return the share in the first window."""
        return ratio(self.events, self.total, settings, settings.limit(BURN_RATES[0][0]))

    def told(self, settings: Settings) -> str:
        """Say both pairs of windows."""
        pairs = " or ".join(
            f"{_percent(self.limit_of(settings, factor))} over the last "
            f"{settings.range(settings.limit(window))} and over the last "
            f"{settings.range(settings.limit(window) / BURSTS_PER_WINDOW)}"
            for window, factor in BURN_RATES
        )
        return (
            f"There were at least {settings.min_rare} {self.what}, and they are more than {pairs} "
            f"of the {self.out_of}. The budget is {_percent(settings.limit(self.budget))}."
        )

    def limit_of(self, settings: Settings, factor: float) -> float:
        """Return the share above which the budget burns at a factor, at most 1."""
        return min(1.0, settings.limit(self.budget) * factor)

    def _pair(self, settings: Settings, window: float, factor: float) -> str:
        limit = number(self.limit_of(settings, factor))
        burst = ratio(self.events, self.total, settings, window / BURSTS_PER_WINDOW)
        return (
            f"{ratio(self.events, self.total, settings, window)} > {limit}\n"
            f"and on ({settings.by}) {burst} > {limit}\n"
            f"and on ({settings.by}) {self.events.increase(settings, window)}"
            f" > {settings.min_rare - 0.5}"
        )


def ratio(events: Count, total: Count, settings: Settings, window: float) -> str:
    """Return events per total in a window; no series, never NaN, where the total is 0."""
    return f"{events.increase(settings, window)} / ({total.increase(settings, window)} > 0)"


def threshold_at(baseline: float, add: float, odds: float) -> float:
    """Return the share a baseline must be exceeded to: the higher of sum and multiplied odds."""
    return max(baseline + add, odds * baseline / (1 - baseline + odds * baseline))


def _surely(signal: Signal, settings: Settings) -> str:
    short, medium, long = (settings.range(window) for window in settings.windows)
    return (
        f"Of the {signal.out_of} in the last {short}, {medium} or {long}, the share of "
        f"{signal.what} is surely too high: the lower end of its interval at {Z} standard "
        f"errors, from at least {settings.min_events} of {settings.min_total},"
    )


def _percent(share: float) -> str:
    return f"{number(round(share * 100, 2))} %"
