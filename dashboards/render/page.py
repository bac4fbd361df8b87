"""One self-contained page: no request leaves it, and it needs nothing but a browser."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from typing import Final, Literal

from dashboards.errors import DrawingError
from dashboards.render import blocks, charts, widgets
from dashboards.render.board import ALL, Board
from dashboards.render.evaluate import Evaluated, Mark, Series, legend
from dashboards.render.span import Span
from dashboards.render.values import COLORS, series_color, shown

MARKS_LISTED: Final = 12
"""Events told above the panels, the newest; chosen by us: all are drawn in the charts."""
Theme = Literal["auto", "light", "dark"]
LIBRARY: Final = '<script id="library">'
"""Opens the element of the charting library."""
_WIDGETS: Final[Mapping[str, Callable[[Evaluated], str]]] = {
    "stat": widgets.numbers,
    "gauge": widgets.dials,
    "bargauge": widgets.bars_now,
    "table": widgets.table,
    "text": widgets.text,
}


class Page:
    """Puts the panels of a board together.

    Args:
        board: What is drawn.
        span: The time range.
        chosen: Variable -> what its label must match; the rest is not limited.
        marks: Events over time.
        alerts: Labels of the alerts at the end of the range.
        theme: `auto` follows the reader's system.
    """

    def __init__(
        self,
        board: Board,
        *,
        span: Span,
        chosen: Mapping[str, str],
        marks: Sequence[Mark],
        alerts: Sequence[dict[str, str]],
        theme: Theme = "auto",
    ) -> None:
        self._board = board
        self._span = span
        self._chosen = chosen
        self._marks = marks
        self._alerts = alerts
        self._theme = theme
        self._figures: list[charts.Figure] = []

    def html(self, evaluated: Sequence[Evaluated]) -> str:
        """Return the page.

        Raises:
            DrawingError: The charting library is not installed.
        """
        body = "".join(self._panel(each) for each in evaluated)
        return _TEMPLATE.format(
            theme=self._theme,
            title=escape(self._board.title),
            style=_resource("page.css"),
            head=self._head(),
            panels=body,
            figures=_as_script_data(self._figures),
            library=LIBRARY,
            plotly=charting_library() if self._figures else "",
            script=_resource("page.js"),
        )

    def _head(self) -> str:
        limits = [
            f"{escape(variable.label)}: {escape(self._chosen[variable.name])}"
            for variable in self._board.variables
            if self._chosen.get(variable.name, ALL) not in (ALL, variable.all_value)
        ]
        facts = [escape(self._span.told()), *limits]
        marks = "".join(
            f"<li><b>{_clock(mark.time)}</b> {escape(mark.title)} "
            f"<small>{escape(mark.text)}</small></li>"
            for mark in self._marks[-MARKS_LISTED:]
        )
        listed = f'<ul class="marks">{marks}</ul>' if marks else ""
        return (
            f"<h1>{escape(self._board.title)}</h1><p>{escape(self._board.about)}</p>"
            f'<p class="facts">{" · ".join(facts)}</p>{listed}'
        )

    def _panel(self, evaluated: Evaluated) -> str:
        panel = evaluated.panel
        place = f"--x:{panel.left + 1};--y:{panel.top + 1};--w:{panel.width};--h:{panel.height}"
        if panel.kind == "row":
            return f'<h2 style="{place}">{escape(panel.title)}</h2>'
        size = "small" if panel.width <= 5 else "middle" if panel.width <= 8 else "large"
        return (
            f'<section class="panel {size} {escape(panel.kind)}" style="{place}" '
            f'id="panel-{panel.id}"><h3 title="{escape(panel.about, quote=True)}">'
            f"{escape(panel.title)}</h3>{self._content(evaluated)}</section>"
        )

    def _content(self, evaluated: Evaluated) -> str:
        panel = evaluated.panel
        if evaluated.error is not None:
            return f'<p class="failed">{escape(evaluated.error)}</p>'
        if panel.kind == "alertlist":
            return widgets.alerts(self._alerts, panel.height)
        if panel.kind in _WIDGETS:
            return _WIDGETS[panel.kind](evaluated)
        if not evaluated.series:
            return f'<p class="nothing">{escape(panel.look.empty)}</p>'
        return self._chart(evaluated)

    def _chart(self, evaluated: Evaluated) -> str:
        kind = evaluated.panel.kind
        if kind == "timeseries":
            figure = charts.over_time(evaluated, self._span, self._marks)
        elif kind == "state-timeline":
            figure = blocks.states(evaluated, self._span)
        elif kind == "heatmap":
            figure = blocks.heat_map(evaluated, self._span)
        elif kind == "barchart":
            figure = blocks.bars(evaluated)
        else:
            return f'<p class="failed">no drawing for panels of the kind {escape(kind)}</p>'
        self._figures.append(figure)
        tall = f' style="--rows:{len(evaluated.series)}"' if kind == "state-timeline" else ""
        title = escape(evaluated.panel.title, quote=True)
        return (
            f'<div class="chart" role="img" aria-label="{title}" '
            f'data-figure="{len(self._figures) - 1}"{tall}></div>'
            f"{_legend(evaluated, figure)}"
        )


def _legend(evaluated: Evaluated, figure: charts.Figure) -> str:
    kind = evaluated.panel.kind
    if kind == "heatmap":
        return ""
    if kind != "timeseries":
        named = [(trace["name"], trace["marker"]["color"], "", False) for trace in figure["data"]]
        return widgets.legend(named) if len(named) > 1 or kind == "state-timeline" else ""
    limits: dict[str, list[Series]] = {}
    entries: list[widgets.Entry] = []
    for place, series in enumerate(evaluated.series):
        color, is_limit = series_color(place, series.look), "lineStyle" in series.look.custom
        alike = limits.setdefault(series.ref, [])
        alike.append(series)
        if is_limit and len(alike) > 1:  # one entry for the limits of all services
            entries[-1] = (_limit_name(evaluated, series.ref), color, _newest_of(alike), True)
        else:
            entries.append((series.name or "value", color, _newest(series), is_limit))
    if evaluated.exemplars:
        found = f"{len(evaluated.exemplars)} exemplars"
        entries.append((found, COLORS["red"], "", True))
    return widgets.legend(entries)


def _limit_name(evaluated: Evaluated, ref: str) -> str:
    """Return what the legends of a query's series have in common."""
    form = next(target.legend for target in evaluated.panel.targets if target.ref == ref)
    return legend(form, {}).lstrip(": ")


def _newest_of(alike: Sequence[Series]) -> str:
    found = dict.fromkeys(map(_newest, alike))
    return next(iter(found)) if len(found) == 1 else "each its own"


def _newest(series: Series) -> str:
    value = series.last
    return "–" if value is None or math.isnan(value) else shown(value, series.look)


def charting_library() -> str:
    """Return Plotly's JavaScript, which is part of the Python package.

    Raises:
        DrawingError: It is not installed.
    """
    try:
        offline = importlib.import_module("plotly.offline")
    except ModuleNotFoundError as error:
        raise DrawingError(
            "charts", "no package plotly", "Install it with `pip install 'loopscope[render]'`."
        ) from error
    return str(offline.get_plotlyjs())


def _as_script_data(figures: Sequence[charts.Figure]) -> str:
    """Return JSON that cannot end the script element that holds it."""
    text = json.dumps(figures, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S")


def _resource(name: str) -> str:
    return (files("dashboards.render") / name).read_text(encoding="utf-8")


_TEMPLATE: Final = """\
<!doctype html>
<html lang="en" data-theme="{theme}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>{head}</header>
<main>{panels}</main>
<footer>Drawn by <code>loopscope dashboards render</code>. Counts are approximate: Prometheus \
extrapolates between scrapes.</footer>
<script type="application/json" id="figures">{figures}</script>
{library}{plotly}</script>
<script>{script}</script>
</body>
</html>
"""
