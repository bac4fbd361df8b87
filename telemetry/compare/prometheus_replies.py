"""What Prometheus answers to questions for series and samples, taken apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from telemetry.prometheus_api import Prometheus


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One series of a reply."""

    labels: dict[str, str]
    points: list[tuple[float, float]]
    """(Unix time, value), oldest first; of an instant vector there is one."""


def labels_of_series(
    server: Prometheus, name: str, since: float, until: float
) -> list[dict[str, str]]:
    """Return the labels of every series of a metric.

    Args:
        server: Who is asked.
        name: The metric.
        since: Unix time, seconds; series with samples from then on.
        until: Unix time, seconds; and up to then.

    Raises:
        FetchError: Prometheus does not answer.
    """
    query = urlencode({"match[]": name, "start": since, "end": until})
    return server.read(f"series?{query}", lambda data: [_labels(one) for one in data])


def instant(server: Prometheus, expression: str, at: float) -> list[Found]:
    """Return what an instant query gives.

    Args:
        server: Who is asked.
        expression: PromQL of an instant or a range vector.
        at: Unix time, seconds.

    Raises:
        FetchError: Prometheus does not answer.
    """
    query = urlencode({"query": expression, "time": f"{at:.3f}"})
    return server.read(f"query?{query}", lambda data: [_found(one) for one in data["result"]])


def _labels(one: Any) -> dict[str, str]:
    return {str(name): str(value) for name, value in one.items()}


def _found(one: Any) -> Found:
    points = one["values"] if "values" in one else [one["value"]]
    return Found(
        labels=_labels(one["metric"]),
        points=[(_number(at), _number(value)) for at, value in points],
    )


def _number(given: Any) -> float:
    number = float(given)
    if not math.isfinite(number):  # no count and no time
        raise ValueError(given)
    return number
