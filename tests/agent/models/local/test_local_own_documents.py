"""The local model on documents for which nobody labelled a question."""

from __future__ import annotations

import pytest
from foreign_documents import BICYCLE_SHOP, LIBRARY

from agent.answer import Answer
from agent.context import AgentContext
from agent.graph import build_graph
from agent.models.local.chat import LocalChat
from agent.models.support import SupportModel
from agent.retrieval.tfidf import CorpusChunk, TfidfRetriever
from agent.service import SupportAgent


def ask(chat: LocalChat, question: str) -> Answer:
    assert chat.index is not None
    agent = SupportAgent(
        graph=build_graph(),
        context=AgentContext(model=SupportModel(chat), retriever=TfidfRetriever(index=chat.index)),
    )
    return agent.answer(question)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        pytest.param("How much is it to fix a flat tyre?", "repairs", id="flat-tyre"),
        pytest.param("Can I hire an electric bike?", "rental", id="hire"),
        pytest.param("How long is the guarantee on the frame?", "warranty", id="guarantee"),
        pytest.param("Are you open on Sunday?", "opening", id="open"),
        pytest.param("Is a new bicycle delivered to my house?", "delivery", id="delivered"),
        pytest.param("What do I get for my old bicycle?", "tradein", id="old-bicycle"),
    ],
)
def test_the_bicycle_shop_answers(bicycle_chat: LocalChat, question: str, expected: str) -> None:
    answer = ask(bicycle_chat, question)

    assert (answer.outcome, expected in answer.citations) == ("answered", True)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        pytest.param("How long can I keep a book?", "loans", id="keep"),
        pytest.param("What does a late film cost?", "fines", id="late"),
        pytest.param("How do I get a library card?", "card", id="card"),
        pytest.param("Can I print in colour?", "printing", id="print"),
        pytest.param("How do I book a study room?", "rooms", id="book-a-room"),
    ],
)
def test_the_library_answers(library_chat: LocalChat, question: str, expected: str) -> None:
    answer = ask(library_chat, question)

    assert (answer.outcome, expected in answer.citations) == ("answered", True)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        pytest.param("Who is the president of France?", "off_topic", id="politics"),
        pytest.param("What's the weather like today?", "off_topic", id="weather"),
        pytest.param("Tell me a joke", "off_topic", id="small-talk"),
        pytest.param("Do you sell gift cards?", "no_results", id="not-in-the-documents"),
        pytest.param("Do you have a student discount?", "no_results", id="nor-this"),
    ],
)
def test_the_bicycle_shop_refuses_or_finds_nothing(
    bicycle_chat: LocalChat, question: str, expected: str
) -> None:
    assert ask(bicycle_chat, question).outcome == expected


def test_labels_of_other_documents_do_not_count(bicycle_chat: LocalChat) -> None:
    assert not bicycle_chat.understanding.has_labels


def test_a_chunk_of_another_retriever_is_read_on_the_spot(bicycle_chat: LocalChat) -> None:
    fines = next(chunk for chunk in LIBRARY if chunk.id == "fines")

    verdicts = {
        question: bicycle_chat.reply(
            "grade", {"question": question, "chunk": {"id": fines.id, "text": fines.text}}
        )
        for question in ("What does an overdue film cost?", "Do you have a puncture kit?")
    }

    assert list(verdicts.values()) == [{"relevant": "yes"}, {"relevant": "no"}]


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([], id="none"),
        pytest.param([CorpusChunk(id="a", text="the and of")], id="function-words"),
        pytest.param([CorpusChunk(id="a", text="Reset your password.")], id="one"),
    ],
)
def test_hardly_any_documents_are_enough(chunks: list[CorpusChunk]) -> None:
    chat = LocalChat.fit(chunks)
    question = "How do I reset my password?"

    guarded = chat.reply("guard", {"question": question})
    rewritten = chat.reply("rewrite", {"question": question, "query": question, "attempts": []})

    assert isinstance(guarded, dict)
    assert guarded["classification"] in {"RELEVANT", "IRRELEVANT"}
    assert isinstance(rewritten, dict)
    assert rewritten["query"]


def test_chunks_without_a_heading_work() -> None:
    bare = [
        CorpusChunk(id=chunk.id, text=chunk.text.partition("\n\n")[2]) for chunk in BICYCLE_SHOP
    ]

    assert ask(LocalChat.fit(bare), "Is a helmet included when I rent?").citations == ("rental",)
