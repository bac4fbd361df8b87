"""Targets of a panel: one PromQL query each, with the letter that Grafana calls it by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from grafana_foundation_sdk.builders import prometheus
from grafana_foundation_sdk.models import common as shapes
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

PROMETHEUS: Final = "${prometheus_datasource}"
"""The variable that holds the uid of the Prometheus data source."""
TEMPO: Final = "${tempo_datasource}"
"""The variable that holds the uid of the trace store."""

Kind = Literal["range", "instant", "table", "heatmap"]


def source(uid: str, kind: str = "prometheus") -> shapes.DataSourceRef:
    """Return a reference to a data source."""
    return shapes.DataSourceRef(type_val=kind, uid=uid)


def letter(place: int) -> str:
    """Return the ref id of the query at a place: A to Z, then AA, AB, ..."""
    first, last = divmod(place, 26)
    return (letter(first - 1) if first else "") + chr(ord("A") + last)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One target of a panel."""

    expr: str
    legend: str = ""
    """Grafana's legend format, `{{label}}` for a label's value."""
    kind: Kind = "range"
    exemplar: bool = False
    """Also show exemplars: dots that lead to traces."""

    def target(self, ref: str) -> prometheus.Dataquery:
        """Return the SDK's builder of the target with its letter."""
        built = prometheus.Dataquery().ref_id(ref).expr(self.expr).datasource(source(PROMETHEUS))
        if self.legend:
            built = built.legend_format(self.legend)
        if self.kind == "heatmap":
            return built.range().format(PromQueryFormat.HEATMAP)
        if self.kind == "table":
            return built.instant().format(PromQueryFormat.TABLE)
        if self.kind == "instant":
            return built.instant()
        return built.range().exemplar(self.exemplar)
