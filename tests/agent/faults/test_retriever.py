from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fakes import DictRetriever
from langchain_core.documents import Document

from agent.faults.chance import Chance
from agent.faults.retriever import RetrieverFault, faulty_retriever


def found(retriever: Any, query: str, mode: str) -> list[Document]:
    if mode == "sync":
        return list(retriever.invoke(query))
    return list(asyncio.run(retriever.ainvoke(query)))


MODES = pytest.mark.parametrize("mode", ["sync", "async"])


@MODES
def test_struck_searches_fail_and_the_others_are_real(mode: str) -> None:
    chance = Chance(share=0.5)
    queries = [f"query {number}" for number in range(20)]
    faulty = faulty_retriever(
        DictRetriever(), RetrieverFault(chance=chance, error=lambda: OSError("down"))
    )
    for query in queries:
        if chance.strikes(query):
            with pytest.raises(OSError, match="down"):
                found(faulty, query, mode)
        else:
            assert [doc.id for doc in found(faulty, query, mode)] == ["a", "b"]

    assert 0 < sum(map(chance.strikes, queries)) < len(queries)


@MODES
def test_a_slow_search_waits_once(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def asleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("agent.faults.retriever.time.sleep", waits.append)
    monkeypatch.setattr("agent.faults.retriever.asyncio.sleep", asleep)
    faulty = faulty_retriever(DictRetriever(), RetrieverFault(delay_seconds=3.0))

    assert len(found(faulty, "q", mode)) == 2
    assert waits == [3.0]


@MODES
def test_the_given_retriever_stays_sound(mode: str) -> None:
    retriever = DictRetriever()
    faulty_retriever(retriever, RetrieverFault(error=lambda: OSError("down")))

    assert len(found(retriever, "q", mode)) == 2
