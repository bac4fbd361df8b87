"""A retriever that fails or waits, for a share of its searches; any LangChain retriever."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from agent.faults.chance import Chance
from agent.faults.copies import copy_with

RetrieverT = TypeVar("RetrieverT", bound=BaseRetriever)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieverFault:
    """What happens to the searches that are struck: a wait, then an error or the real search."""

    chance: Chance = field(default_factory=Chance)
    """Which searches are struck, by their query."""
    delay_seconds: float = 0.0
    error: Callable[[], Exception] | None = None
    """Makes the exception that the search raises."""

    def check(self, query: str) -> None:
        """Raise what a struck search raises."""
        if self.error is not None and self.chance.strikes(query):
            raise self.error()

    def delay(self, query: str) -> float:
        """Return how long a search waits first, in seconds."""
        return self.delay_seconds if self.chance.strikes(query) else 0.0


def faulty_retriever(retriever: RetrieverT, fault: RetrieverFault) -> RetrieverT:
    """Return a copy of a retriever that the fault strikes; the given one stays sound."""

    def _get(_: Any, query: str, *args: Any, **kwargs: Any) -> list[Document]:
        time.sleep(fault.delay(query))
        fault.check(query)
        return retriever._get_relevant_documents(query, *args, **kwargs)

    async def _aget(_: Any, query: str, *args: Any, **kwargs: Any) -> list[Document]:
        await asyncio.sleep(fault.delay(query))
        fault.check(query)
        return await retriever._aget_relevant_documents(query, *args, **kwargs)

    return copy_with(
        retriever, {"_get_relevant_documents": _get, "_aget_relevant_documents": _aget}
    )
