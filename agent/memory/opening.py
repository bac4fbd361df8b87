"""The setting that says where conversations are kept, and the memory it opens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from agent.errors import SettingsError
from agent.memory.local import LocalStore
from agent.memory.memory import Memory

IN_PROCESS: Final = "memory"
"""Value of the setting that keeps conversations in the process."""


@asynccontextmanager
async def open_memory(setting: str = IN_PROCESS) -> AsyncIterator[Memory]:
    """Open the memory in the running event loop, and close it after its last turn.

    Args:
        setting: `memory`, the path of a SQLite file, or a PostgreSQL URL.

    Raises:
        SettingsError: The setting is none of these.
        MemoryUnavailableError: The store cannot be opened.
    """
    scheme, separator, _ = setting.partition("://")
    if setting == IN_PROCESS:
        yield Memory(LocalStore())
    elif not separator and setting.strip():
        from agent.memory.sqlite import open_sqlite

        async with open_sqlite(setting) as sqlite:
            yield Memory(sqlite)
    elif scheme in {"postgresql", "postgres"}:
        try:
            from agent.memory.postgres import open_postgres
        except ImportError:
            raise SettingsError(
                ["memory got a PostgreSQL URL without its driver, expected: the driver installed "
                 "(`pip install 'loopscope[postgres]'`)"]
            ) from None  # fmt: skip

        async with open_postgres(setting) as postgres:
            yield Memory(postgres)
    else:
        # A URL may hold a password, so only its beginning is shown.
        shown = f"{scheme}://..." if separator else setting
        raise SettingsError(
            [f"memory got {shown!r}, expected: `memory`, the path of a SQLite file, or a URL that "
             "begins with postgresql://"]
        )  # fmt: skip
