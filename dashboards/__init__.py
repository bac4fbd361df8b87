"""The diagnosis guide, and the dashboards, alerts and runbooks generated from it."""
