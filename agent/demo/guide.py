"""What the demo takes from the diagnosis guide: the one module of `agent` that imports it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dashboards import prometheus_rules
from dashboards.failures import FAILURES
from dashboards.settings import Settings, load_settings
from dashboards.stack.inbox import Inbox, Notice
from dashboards.stack.parts import alertmanager_flags, prometheus_flags
from dashboards.stack.render import Place, alertmanager, prometheus

__all__ = ["ALERTS", "Guide", "GuideAlert", "Inbox", "Notice", "alertmanager_flags",
           "prometheus_flags"]  # fmt: skip

SCRAPES_PER_WINDOW: Final = 4.5
"""Scrapes in the shortest window; the rules ask for 4."""
SLOW_SECONDS: Final = 5.0
"""The demo's latency objective: an edge of the histogram, far above a healthy turn's 0.1 s also on
a busy machine, and below a turn of the slow model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideAlert:
    """One alert that Prometheus evaluates."""

    name: str
    failure: str
    """Slug."""
    tier: str
    cause: str | None


def _alerts() -> tuple[GuideAlert, ...]:
    return tuple(
        GuideAlert(
            name=failure.alert_name(alert),
            failure=failure.slug,
            tier=alert.tier,
            cause=alert.cause,
        )
        for failure in prometheus_rules.prometheus_failures()
        for alert in failure.alerts
    )


ALERTS: Final = _alerts()
"""All alerts, in the order of the guide."""
CONSEQUENCES: Final = {failure.slug: failure.consequences for failure in FAILURES}
"""Slug of a failure -> slugs of those that may be told as well, because of it."""


class Guide:
    """The guide's rules and the servers' configuration on scaled time.

    Args:
        time_scale: Factor on every duration, 0 to 1.
    """

    def __init__(self, time_scale: float) -> None:
        window = Settings().window_short * time_scale
        self.settings: Final = load_settings(
            time_scale=time_scale,
            scrape_interval=round(window / SCRAPES_PER_WINDOW, 3),
            latency_seconds=SLOW_SECONDS,
        )

    @property
    def window_seconds(self) -> float:
        """The middle window, scaled: what most shares are measured over."""
        return self.settings.range_seconds(self.settings.window_medium)

    @property
    def step_seconds(self) -> float:
        """Seconds between two evaluations of the rules."""
        return self.settings.evaluation_seconds

    def write(
        self, folder: Path, *, targets: dict[str, str], alertmanager_at: str, inbox_url: str
    ) -> None:
        """Write the rules and both servers' configuration files below a folder.

        Args:
            folder: Gets `prometheus.yml`, `alertmanager.yml` and `rules/`.
            targets: Value of the label `job` -> host:port.
            alertmanager_at: host:port.
            inbox_url: Where notifications go.
        """
        place = Place(
            targets={job: [at] for job, at in targets.items()},
            alertmanager=alertmanager_at,
            rules=str(folder / "rules" / "*.yml"),
            notifications=inbox_url,
        )
        (folder / "rules").mkdir(parents=True)
        (folder / "prometheus.yml").write_text(prometheus(place, self.settings))
        (folder / "alertmanager.yml").write_text(alertmanager(place, self.settings))
        for path, text in prometheus_rules.files(self.settings).items():
            (folder / "rules" / Path(path).name).write_text(text)
