"""Telemetry for any LangGraph graph: one correct trace, one row of accounting, one verdict a turn."""
