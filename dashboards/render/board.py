"""The generated dashboard JSON as the viewer reads it: the parts of Grafana's model we use."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self

from dashboards.errors import BoardFileError

ALL: Final = "$__all"
"""Value of a variable that has not been limited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How the values of a series are shown: Grafana's field configuration."""

    unit: str = "none"
    decimals: int | None = None
    min: float | None = None
    max: float | None = None
    empty: str = "no data"
    color: str | None = None
    """A fixed color; None for one of the palette or of the thresholds."""
    mappings: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)
    """Value, as text -> text shown and its color."""
    thresholds: tuple[tuple[float | None, str], ...] = ()
    custom: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the panel's own kind, such as lineStyle."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Self:
        """Return the defaults of a panel."""
        steps = raw.get("thresholds", {}).get("steps", [])
        return cls(
            unit=raw.get("unit", "none"),
            decimals=raw.get("decimals"),
            min=raw.get("min"),
            max=raw.get("max"),
            empty=raw.get("noValue", "no data"),
            color=raw.get("color", {}).get("fixedColor"),
            mappings=_mappings(raw.get("mappings", [])),
            thresholds=tuple((step.get("value"), step["color"]) for step in steps),
            custom=raw.get("custom", {}),
        )

    def with_property(self, name: str, value: Any) -> Look:
        """Return the look with one property of an override."""
        if name.startswith("custom."):
            return replace(self, custom={**self.custom, name.removeprefix("custom."): value})
        if name == "color":
            return replace(self, color=value.get("fixedColor"))
        if name == "mappings":
            return replace(self, mappings=_mappings(value))
        return replace(self, **{name: value}) if name in ("unit", "decimals", "max") else self


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One query of a panel."""

    ref: str
    expr: str
    legend: str
    is_instant: bool
    has_exemplars: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel, or the heading of a row."""

    id: int
    kind: str
    title: str
    about: str
    left: int
    top: int
    width: int
    height: int
    targets: tuple[Target, ...]
    look: Look
    overrides: tuple[Mapping[str, Any], ...]
    options: Mapping[str, Any]
    transformations: tuple[Mapping[str, Any], ...]
    links: tuple[tuple[str, str], ...]
    """Title and URL."""
    interval: str | None
    """Smallest step."""

    def look_of(self, name: str, ref: str | None = None) -> Look:
        """Return the look of one series or column: the defaults with what overrides say."""
        look = self.look
        for override in self.overrides:
            if _matches(override["matcher"], name, ref):
                for prop in override["properties"]:
                    look = look.with_property(prop["id"], prop.get("value"))
        return look


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A label that can be limited to some of its values."""

    name: str
    label: str
    query: str
    all_value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """An annotation query."""

    name: str
    expr: str
    title: str
    text: str
    step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """A dashboard."""

    uid: str
    title: str
    about: str
    panels: tuple[Panel, ...]
    variables: tuple[Variable, ...]
    marks: tuple[Marks, ...]
    start: str
    """Where its time range begins, such as `now-6h`."""

    def row(self, title: str) -> Board:
        """Return the board with one row alone.

        Raises:
            BoardFileError: It has no such row; names those it has.
        """
        rows = [panel for panel in self.panels if panel.kind == "row"]
        for place, row in enumerate(rows):
            if row.title.casefold() == title.casefold():
                end = rows[place + 1].top if place + 1 < len(rows) else float("inf")
                kept = [p for p in self.panels if row.top <= p.top < end]
                moved = tuple(replace(panel, top=panel.top - row.top) for panel in kept)
                return replace(self, panels=moved)
        known = ", ".join(row.title for row in rows)
        raise BoardFileError(self.title, f"got the row {title!r}, expected one of: {known}")


def load_board(path: Path) -> Board:
    """Return the board of a file.

    Raises:
        BoardFileError: It cannot be read, or is no dashboard of ours.
    """
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BoardFileError(path, f"got {type(error).__name__}: {error}") from error
    return read_board(raw, str(path))


def read_board(raw: Any, name: str = "dashboard") -> Board:
    """Return the board of Grafana's dashboard JSON in its classic schema.

    Raises:
        BoardFileError: A part that the viewer needs is missing; says which.
    """
    try:
        return Board(
            uid=raw["uid"],
            title=raw["title"],
            about=raw.get("description", ""),
            panels=tuple(_panel(panel) for panel in raw["panels"]),
            variables=tuple(_variables(raw["templating"]["list"])),
            marks=tuple(_marks(raw["annotations"]["list"])),
            start=raw["time"]["from"],
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise BoardFileError(name, f"got no {error} where one is needed") from error


def _panel(raw: Mapping[str, Any]) -> Panel:
    config, grid = raw.get("fieldConfig", {}), raw["gridPos"]
    return Panel(
        id=raw["id"],
        kind=raw["type"],
        title=raw.get("title", ""),
        about=raw.get("description", ""),
        left=grid["x"],
        top=grid["y"],
        width=grid["w"],
        height=grid["h"],
        targets=tuple(_target(target) for target in raw.get("targets", [])),
        look=Look.read(config.get("defaults", {})),
        overrides=tuple(config.get("overrides", [])),
        options=raw.get("options", {}),
        transformations=tuple(raw.get("transformations", [])),
        links=tuple((link["title"], link["url"]) for link in raw.get("links", [])),
        interval=raw.get("interval"),
    )


def _target(raw: Mapping[str, Any]) -> Target:
    return Target(
        ref=raw["refId"],
        expr=raw["expr"],
        legend=raw.get("legendFormat", ""),
        is_instant=raw.get("instant", False),
        has_exemplars=raw.get("exemplar", False),
    )


def _variables(items: Sequence[Mapping[str, Any]]) -> list[Variable]:
    return [
        Variable(
            name=item["name"],
            label=item["label"],
            query=item["query"],
            all_value=item["allValue"],
        )
        for item in items
        if item["type"] == "query"
    ]


def _marks(items: Sequence[Mapping[str, Any]]) -> list[Marks]:
    return [
        Marks(
            name=item["name"],
            expr=item["expr"],
            title=item["titleFormat"],
            text=item["textFormat"],
            step=item["step"],
        )
        for item in items
        if "expr" in item
    ]


def _mappings(items: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, str | None]]:
    return {
        value: (result["text"], result.get("color"))
        for item in items
        if item["type"] == "value"
        for value, result in item["options"].items()
    }


def _matches(matcher: Mapping[str, Any], name: str, ref: str | None) -> bool:
    wanted = matcher["options"]
    if matcher["id"] == "byRegexp":
        return re.search(wanted.strip("/"), name) is not None
    return bool(wanted == (ref if matcher["id"] == "byFrameRefID" else name))
