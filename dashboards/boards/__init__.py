"""Grafana boards: a panel is one function without layout, a board is a module that places them."""

import warnings

with warnings.catch_warnings():
    # On import the SDK advises its second dashboard schema; Grafana 12 provisions the classic one.
    warnings.filterwarnings("ignore", "Prefer using dashboardv2", DeprecationWarning)
    import grafana_foundation_sdk.builders.dashboard
    import grafana_foundation_sdk.builders.timeseries  # noqa: F401
