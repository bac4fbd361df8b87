from __future__ import annotations

import pytest
from foreign_documents import BICYCLE_SHOP, LIBRARY

from agent.models.local.chat import LocalChat
from agent.retrieval.corpus import HANDBOOK, read_corpus
from agent.retrieval.tfidf import TfidfIndex


@pytest.fixture(scope="session")
def handbook_index() -> TfidfIndex:
    return TfidfIndex.fit(read_corpus(HANDBOOK).chunks)


@pytest.fixture(scope="session")
def handbook_chat(handbook_index: TfidfIndex) -> LocalChat:
    return LocalChat.fit(handbook_index.chunks, index=handbook_index)


@pytest.fixture(scope="session")
def bicycle_chat() -> LocalChat:
    return LocalChat.fit(BICYCLE_SHOP)


@pytest.fixture(scope="session")
def library_chat() -> LocalChat:
    return LocalChat.fit(LIBRARY)
