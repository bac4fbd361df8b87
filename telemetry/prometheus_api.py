"""Requests of Prometheus' HTTP API; what something else answers there never passes for data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from telemetry.fetch import TIMEOUT_SECONDS, FetchError, fetch

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prometheus:
    """A server."""

    url: str
    """Base URL, up to and without `/api`."""
    timeout_seconds: float = TIMEOUT_SECONDS
    """Limit of each request."""

    def read(self, path: str, take: Callable[[Any], T]) -> T:
        """Return what is taken from the `data` of a reply.

        Args:
            path: What is asked for, below `/api/v1/`.
            take: Takes it from `data`. It computes nothing else: whatever it stumbles over is
                said to be no reply of Prometheus.

        Raises:
            FetchError: It does not answer, or something else does.
        """
        address = f"{self.url.rstrip('/')}/api/v1/{path}"
        body = fetch(address, timeout_seconds=self.timeout_seconds).json()
        try:
            return take(body["data"])
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise FetchError(
                f"{address} is not answered as by Prometheus",
                "Something else answers at that address: give the base URL of Prometheus.",
            ) from error
