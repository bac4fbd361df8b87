"""The diagnosis guide, and the dashboards, alerts and runbooks generated from it."""

from dashboards.errors import DashboardsError
from dashboards.failure import Alert, Failure, Panel
from dashboards.failures import FAILURES
from dashboards.generators import GENERATORS, generated
from dashboards.settings import Settings, load_settings

__all__ = [
    "FAILURES",
    "GENERATORS",
    "Alert",
    "DashboardsError",
    "Failure",
    "Panel",
    "Settings",
    "generated",
    "load_settings",
]
