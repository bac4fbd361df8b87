"""Every test of the memory runs on each kind that can do what it is about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

KINDS = ["memory", "sqlite", pytest.param("postgresql", marks=pytest.mark.servers)]


@pytest.fixture(params=KINDS)
def setting(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return _setting(request.param, request, tmp_path)


@pytest.fixture(params=KINDS[1:])
def lasting(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A memory that outlives its process."""
    return _setting(request.param, request, tmp_path)


def _setting(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if kind == "postgresql":
        make: Callable[[], str] = request.getfixturevalue("new_postgres_schema")
        return make()
    return {"memory": "memory", "sqlite": str(tmp_path / "talks.sqlite")}[kind]
