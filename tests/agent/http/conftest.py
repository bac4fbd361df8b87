"""Its place makes `http_service` importable in this folder."""
