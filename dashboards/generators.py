"""Everything that is generated: each generator turns the settings into files.

To add one, write a module with `files(settings) -> {path: text}` and add it here. The paths of two
generators never meet: each has its own folder or file, named first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dashboards import (
    catalogue,
    grafana_rules,
    kubernetes_rules,
    prometheus_rules,
    promtool_cases,
    runbooks,
)
from dashboards.boards import files as boards
from dashboards.settings import Settings

Generator = Callable[[Settings], dict[str, str]]
"""Settings -> path, with `/`, relative to the output folder -> text, with `\\n` line ends."""

GENERATORS: Final[dict[str, Generator]] = {
    "Prometheus rules": prometheus_rules.files,
    "promtool cases": promtool_cases.files,
    "PrometheusRule": kubernetes_rules.files,
    "Grafana rules": grafana_rules.files,
    "boards": boards.files,
    "runbooks": runbooks.files,
    "catalogue": catalogue.files,
}


def generated(settings: Settings) -> dict[str, str]:
    """Return path -> text of every file, in the order of the generators.

    Raises:
        DashboardsError: A definition from which no sound file can be made.
    """
    return {
        path: text
        for generator in GENERATORS.values()
        for path, text in generator(settings).items()
    }
