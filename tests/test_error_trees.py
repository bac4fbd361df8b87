"""The trees of errors in the docstrings list every error that has a code, and no other."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections import Counter

import pytest

TREES = {
    "agent": ("agent.errors", "agent.http.errors", "agent.memory.errors"),
    "telemetry": ("telemetry.errors",),
    "dashboards": ("dashboards.errors",),
}
"""Package -> the modules whose docstrings draw its tree; the first one its root."""
_LINE = re.compile(r"^[ │]*(?:[├└]── )?(\w+Error) +([a-z_]+)(?: |$)", re.MULTILINE)
_ELSEWHERE = "and"
"""The word after a class that the tree of another module draws."""


def coded(package: str) -> dict[str, str]:
    """Return the errors of a package that have a code of their own, wherever they are."""
    found = {}
    path = importlib.import_module(package).__path__
    for module in pkgutil.walk_packages(path, f"{package}."):
        if not module.name.endswith("__main__"):
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, type) and issubclass(value, Exception):
                    is_here = value.__module__ == module.name
                    if is_here and isinstance(code := vars(value).get("code"), str):
                        found[value.__name__] = code
    return found


@pytest.mark.parametrize("package", TREES)
def test_every_error_with_a_code_has_a_line(package: str) -> None:
    drawn = [
        line
        for name in TREES[package]
        for line in _LINE.findall(importlib.import_module(name).__doc__ or "")
    ]
    lines = {error: code for error, code in drawn if code != _ELSEWHERE}

    assert lines == coded(package)


def test_no_code_means_two_errors() -> None:
    codes = Counter(code for package in TREES for code in coded(package).values())

    assert [code for code, times in codes.items() if times > 1] == []
