"""What Prometheus answers, taken apart; what something else answers there never passes for data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

from telemetry.fetch import FetchError, fetch

TIMEOUT_SECONDS: Final = 30.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One series of a reply."""

    labels: dict[str, str]
    points: list[tuple[float, float]]
    """(Unix time, value), oldest first; of an instant vector there is one."""


def labels_of_series(url: str, name: str, since: float, until: float) -> list[dict[str, str]]:
    """Return the labels of every series of a metric.

    Args:
        url: Base URL.
        name: The metric.
        since: Unix time, seconds; series with samples from then on.
        until: Unix time, seconds; and up to then.

    Raises:
        FetchError: Prometheus does not answer.
    """
    query = urlencode({"match[]": name, "start": since, "end": until})
    return _read(f"{url}/api/v1/series?{query}", lambda data: [_labels(one) for one in data])


def instant(url: str, expression: str, at: float) -> list[Found]:
    """Return what an instant query gives.

    Args:
        url: Base URL.
        expression: PromQL of an instant or a range vector.
        at: Unix time, seconds.

    Raises:
        FetchError: Prometheus does not answer.
    """
    query = urlencode({"query": expression, "time": f"{at:.3f}"})
    return _read(
        f"{url}/api/v1/query?{query}", lambda data: [_found(one) for one in data["result"]]
    )


def _read(url: str, take: Callable[[Any], T]) -> T:
    body = fetch(url, timeout_seconds=TIMEOUT_SECONDS).json()
    try:
        return take(body["data"])
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise FetchError(
            f"{url} is not answered as by Prometheus",
            "Something else answers at that address: give the base URL of Prometheus.",
        ) from error


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
