"""The HTTP API: one module a concern, put together by `agent/api.py`."""
