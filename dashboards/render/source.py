"""Prometheus over HTTP: what the viewer asks of it."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, Final

from dashboards import durations
from dashboards.errors import PrometheusError

TIMEOUT_SECONDS: Final = 10.0
"""Longest wait for one reply; chosen by us, as for the other commands that ask Prometheus."""
DEFAULT_SCRAPE_SECONDS: Final = 15.0
"""Assumed when Prometheus does not tell: Grafana's own default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """One series of an answer."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]
    """Unix seconds and value; one for an instant query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemplar:
    """One event with the trace it belongs to."""

    time: float
    value: float
    trace_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Prometheus:
    """A server.

    Args:
        url: Base URL, up to and without `/api`.
        timeout_seconds: Limit of each request.
    """

    url: str
    timeout_seconds: float = TIMEOUT_SECONDS

    def instant(self, expr: str, time: float) -> list[Sampled]:
        """Return the series at a moment."""
        return [
            _sampled(series["metric"], [series["value"]])
            for series in _vector(self._ask("query", query=expr, time=time))
        ]

    def over_time(self, expr: str, start: float, end: float, step: float) -> list[Sampled]:
        """Return the series from start to end, one value a step; times in Unix seconds."""
        found = self._ask("query_range", query=expr, start=start, end=end, step=step)
        return [_sampled(series["metric"], series["values"]) for series in found["result"]]

    def exemplars(self, expr: str, start: float, end: float) -> list[Exemplar]:
        """Return the exemplars of the series that an expression selects, oldest first."""
        found = self._ask("query_exemplars", query=expr, start=start, end=end)
        return sorted(
            (
                Exemplar(
                    time=float(each["timestamp"]),
                    value=float(each["value"]),
                    trace_id=each["labels"].get("trace_id", ""),
                )
                for series in found
                for each in series["exemplars"]
            ),
            key=lambda exemplar: exemplar.time,
        )

    def label_values(self, selector: str, label: str, start: float, end: float) -> list[str]:
        """Return the values of a label on the series of a selector."""
        parameters = {"match[]": selector, "start": start, "end": end}
        found: list[str] = self._ask(f"label/{label}/values", **parameters)
        return found

    def alerts(self) -> list[dict[str, Any]]:
        """Return the alerts that are pending or fire now."""
        found: list[dict[str, Any]] = self._ask("alerts")["alerts"]
        return found

    def scrape_seconds(self) -> float:
        """Return the longest scrape interval of the targets."""
        targets = self._ask("targets", state="active")["activeTargets"]
        told = [target["scrapeInterval"] for target in targets if "scrapeInterval" in target]
        return max(map(durations.seconds, told), default=DEFAULT_SCRAPE_SECONDS)

    def _ask(self, path: str, **parameters: Any) -> Any:
        """Send a request; by POST where queries may be long.

        Raises:
            PrometheusError: It does not answer, or refuses the query.
        """
        body = urllib.parse.urlencode(parameters)
        url = f"{self.url.rstrip('/')}/api/v1/{path}"
        is_long = "query" in parameters
        request = (
            urllib.request.Request(url, data=body.encode())
            if is_long
            else urllib.request.Request(f"{url}?{body}" if body else url)
        )
        try:
            with urllib.request.urlopen(request, timeout=self.timeout_seconds) as reply:
                return json.load(reply)["data"]
        except urllib.error.HTTPError as error:
            said = error.read().decode(errors="replace")
            raise PrometheusError(self.url, _reason(said), parameters.get("query")) from error
        except (OSError, HTTPException, ValueError, LookupError, TypeError) as error:
            cause = getattr(error, "reason", error)
            told = f"{type(cause).__name__}: {cause}"
            if isinstance(cause, TimeoutError):
                told = f"none within {self.timeout_seconds:g} s"
            raise PrometheusError(self.url, told, None) from error


def _vector(found: Any) -> list[dict[str, Any]]:
    if found["resultType"] == "scalar":
        return [{"metric": {}, "value": found["result"]}]
    result: list[dict[str, Any]] = found["result"]
    return result


def _sampled(labels: Mapping[str, str], values: list[list[Any]]) -> Sampled:
    return Sampled(labels=labels, points=tuple((float(at), float(value)) for at, value in values))


def _reason(said: str) -> str:
    try:
        return str(json.loads(said)["error"])
    except (ValueError, KeyError, TypeError):
        return said[:200]
