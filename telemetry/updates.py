"""What a node returned, as one mapping, whatever form it has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from langgraph.types import Command


def updates_of(returned: Any) -> Mapping[str, Any]:
    """Return what a node returned as one mapping.

    A node may return a mapping, a `Command`, a list of either, an object of the state's class or
    nothing.
    """
    if isinstance(returned, Mapping):
        return returned
    if returned is None or isinstance(returned, str | bytes):
        return {}
    if isinstance(returned, Command):
        update = returned.update
        return _from_pairs(update) if isinstance(update, list | tuple) else updates_of(update)
    if isinstance(returned, list | tuple):
        return _added_up(returned)
    if hasattr(returned, "__dict__"):
        return dict(vars(returned))
    slots = [slot for kind in type(returned).__mro__ for slot in kind.__dict__.get("__slots__", ())]
    return {slot: getattr(returned, slot) for slot in slots if hasattr(returned, slot)}


def _added_up(parts: Iterable[Any]) -> dict[str, Any]:
    """Return several updates as one: lists of one key are added up, as their reducer does."""
    merged: dict[str, Any] = {}
    for part in parts:
        for key, value in updates_of(part).items():
            before = merged.get(key)
            if isinstance(before, list) and isinstance(value, list):
                merged[key] = [*before, *value]
            else:
                merged[key] = value
    return merged


def _from_pairs(pairs: Iterable[Any]) -> dict[str, Any]:
    return {p[0]: p[1] for p in pairs if isinstance(p, tuple) and len(p) == 2}
