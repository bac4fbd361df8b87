"""What is counted, and the recording rules that make a share comparable with its usual value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dashboards.settings import Settings
from telemetry import names

Z: Final = 3
"""Standard errors of the Wilson bound: one side, 99.87 %. Chosen by us for three windows at once,
checked each minute; at 3 a simulated month had no false page at 0.05 to 50 questions a minute."""


WITHOUT_GRAPH: Final = frozenset(
    {
        names.FEEDBACK,
        names.TOKEN_USAGE,
        names.OPERATION_DURATION,
        names.TELEMETRY_DROPPED,
        names.TELEMETRY_ERRORS,
        names.PROBES,
        names.PROBE_UNEXPECTED,
        names.PROBE_DURATION,
        names.PROBE_LAST_ROUND,
    }
)
"""Metrics of a process, not of one graph in it; a prober is a process of its service's job."""
_BUILD: Final = (
    names.LABEL_GRAPH, names.LABEL_VERSION, names.LABEL_INDEX, names.LABEL_PROMPT,
    names.LABEL_GRADER, names.LABEL_MODEL,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One recording rule."""

    name: str
    expr: str
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """Events of one kind: what some series of a counter gain."""

    metric: str
    """Name of a counter, or of the `_bucket` or `_count` of a histogram."""
    where: str = ""
    """Matchers on the metric's own labels."""
    le: str | None = None
    """Settings field that holds the bucket edge, for a `_bucket`."""
    less: Count | None = None
    """Events to take off, for what a histogram can only count by its complement."""

    def selector(self, settings: Settings) -> str:
        """Return the series, with the matchers that every series gets."""
        edge = None if self.le is None else f'le="{settings.limit(self.le)}"'
        return series(settings, self.metric, self.where, edge)

    def increase(self, settings: Settings, window: float) -> str:
        """Return the events in a window, in seconds, added up over replicas.

        `increase` comes first and the sum second: the increase of a sum invents events when a
        replica leaves.
        """
        gained = f"increase({self.selector(settings)}[{settings.range(window)}])"
        total = f"sum by ({settings.by}) ({gained})"
        if self.less is None:
            return total
        return f"({total} - {self.less.increase(settings, window)})"


def series(settings: Settings, metric: str, *matchers: str | None) -> str:
    """Return the selector of a metric with matchers, the settings' own last."""
    told = ",".join(part for part in (*matchers, settings.selector) if part)
    return f"{metric}{{{told}}}" if told else metric


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """How far above its baseline a share must be; both parts are fields of the settings."""

    tier: str
    """`page` or `ticket`."""
    add: str
    """Field of the share to add."""
    odds: str
    """Field of the factor on the odds, which is strict where the baseline is high."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A share k/n: events of one kind out of all of which they are some."""

    slug: str
    """In the name of each recorded series: `rag_{slug}`."""
    what: str
    """The events, as words: `turns refused before any search`."""
    out_of: str
    """What they are a share of, as words."""
    events: Count
    total: Count
    expected: str | None = None
    """Settings field of the usual share; None for a share that has a fixed limit, no baseline."""
    margins: tuple[Margin, ...] = ()

    def recorded(self, what: str, settings: Settings) -> str:
        """Return the name of a recorded series.

        Args:
            what: `events`, `total` or `lower` (one series a window), or `baseline`,
                `threshold_page` or `threshold_ticket` (one series).
            settings: Names the level.
        """
        level, per_window = settings.level, f"{settings.level}_window"
        return {
            "events": f"{per_window}:rag_{self.slug}:increase",
            "total": f"{per_window}:rag_{self.slug}_base:increase",
            "lower": f"{per_window}:rag_{self.slug}:wilson_lower",
        }.get(what, f"{level}:rag_{self.slug}:{what}")

    def lower(self, settings: Settings) -> str:
        """Return the share that is surely exceeded in at least one of the windows."""
        return f"max by ({settings.by}) ({self.recorded('lower', settings)})"

    def recordings(self, settings: Settings) -> list[Recording]:
        """Return the rules of the signal, in the order in which they build on each other."""
        rules = [rule for window in settings.windows for rule in self._counts(settings, window)]
        rules.append(
            Recording(name=self.recorded("lower", settings), expr=self._wilson_lower(settings))
        )
        if self.expected is not None:
            rules.append(
                Recording(name=self.recorded("baseline", settings), expr=self._baseline(settings))
            )
            rules += [
                Recording(
                    name=self.recorded(f"threshold_{margin.tier}", settings),
                    expr=_threshold(self.recorded("baseline", settings), margin, settings),
                )
                for margin in self.margins
            ]
        return rules

    def _counts(self, settings: Settings, window: float) -> list[Recording]:
        length = settings.range(window)
        labels = (("window", length),)
        total = self.recorded("total", settings)
        return [
            Recording(name=total, labels=labels, expr=self.total.increase(settings, window)),
            Recording(
                name=self.recorded("events", settings),
                labels=labels,
                # not `or vector(0)`, which would add a series without labels
                expr=(
                    f"{self.events.increase(settings, window)}\n"
                    f'or sum by ({settings.by}) (0 * {total}{{window="{length}"}})'
                ),
            ),
        ]

    def _wilson_lower(self, settings: Settings) -> str:
        """Lower end of the Wilson score interval, in counts, for enough events only.

        The two counts may come from different scrapes, so k may exceed n: the clamp. The limits
        lie half an event lower, since `increase` extrapolates to fractions.

        Source: Wilson (1927), JASA 22, 209-212.
        """
        k, n = self.recorded("events", settings), self.recorded("total", settings)
        spread = f"sqrt(clamp_min({k} * ({n} - {k}), 0) / ({n} > 0) + {Z * Z / 4})"
        return (
            f"({k} + {Z * Z / 2} - {Z} * {spread})\n/ ({n} + {Z * Z})\n"
            f"and ({n} >= {settings.min_total - 0.5})\nand ({k} >= {settings.min_events - 0.5})"
        )

    def _baseline(self, settings: Settings) -> str:
        """Ratio of sums of the past, pulled towards the expected share: never 0/0, and busy hours
        count for more than quiet ones.

        The past is tiled with long windows, which is a sixth of the work of hours.
        """
        step, past = settings.range(settings.window_long), settings.span(settings.baseline_window)
        delay = settings.span(settings.baseline_delay)
        weight, expected = settings.baseline_weight, settings.limit(self.expected or "")
        tile = f'{{window="{step}"}}'
        none = f"0 * {self.recorded('total', settings)}{tile}"

        def so_far(what: str) -> str:
            tiled = f"{self.recorded(what, settings)}{tile}[{past}:{step}] offset {delay}"
            sums = f"sum by ({settings.by}) (sum_over_time({tiled}))"
            return f"({sums} or sum by ({settings.by}) ({none}))"

        return (
            f"({so_far('events')} + {number(weight * expected)})\n"
            f"/ ({so_far('total')} + {number(weight)})"
        )


def recent_change(settings: Settings) -> Recording:
    """Return the rule that has a series for each service whose build has recently changed.

    A build is new when it was not there before the window; it is a change when the same graph had
    another one within the window. So neither a restart, nor a first start, nor two versions that
    run side by side for long count.
    """
    info, labels = series(settings, names.BUILD_INFO), ", ".join((settings.by, *_BUILD))
    graphs = f"{settings.by}, {names.LABEL_GRAPH}"
    window = settings.range(settings.change_window)
    before = f"{info}[{settings.range(settings.window_medium)}] offset {window}"
    seen = f"group by ({labels}) (last_over_time({info}[{window}]))"
    return Recording(
        name=f"{settings.level}:rag_change:recent",
        expr=(
            f"max by ({settings.by}) (\n"
            f"  count by ({graphs}) (\n"
            f"    group by ({labels}) ({info})\n"
            f"    unless group by ({labels}) (last_over_time({before}))\n"
            "  )\n"
            f"  and count by ({graphs}) ({seen}) > 1\n"
            ")"
        ),
    )


def _threshold(baseline: str, margin: Margin, settings: Settings) -> str:
    """The higher of the baseline plus a share and the baseline with its odds multiplied."""
    odds = number(settings.limit(margin.odds))
    by_odds = f"({odds} * {baseline} / (1 - {baseline} + {odds} * {baseline}))"
    by_sum = f"({baseline} + {number(settings.limit(margin.add))})"
    return f"{by_sum} > {by_odds}\nor {by_odds}"


def number(value: float) -> str:
    """Return a number as PromQL and people write it: no trailing zeros, no exponent."""
    return f"{value:.10f}".rstrip("0").rstrip(".")
