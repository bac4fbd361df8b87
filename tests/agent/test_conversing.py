"""Questions of many at once: what is streamed, what ends a turn early, and what is told of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import pytest
from fakes import DictRetriever, ScriptedChat, in_turn, make_context
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from prometheus_client import CollectorRegistry
from pydantic import ConfigDict

from agent.compose import ROLES, Composition
from agent.conversing import STOPPED_REPLY, Conversing
from agent.errors import InvalidQuestionError, UnknownGoldenQuestionError
from agent.events import Event, Finished, NodeStarted, Token, Withdrawn
from agent.graph import build_graph
from agent.memory.local import LocalStore
from agent.memory.memory import Memory
from agent.memory.opening import open_memory
from agent.memory.thread import Thread
from agent.service import ERROR_REPLY, SupportAgent
from agent.settings import Settings
from telemetry.instrumentation import instrument

GRADED = {"grade": {"relevant": "yes"}}
T = Thread(id="t")


class StreamingChat(ScriptedChat):
    """Writes every reply word by word, verdicts too."""

    async def _astream(
        self, messages: list[BaseMessage], *_: Any, **__: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        text = self._generate(messages).generations[0].text
        for number, word in enumerate(text.split(" ")):
            await asyncio.sleep(0)
            piece = AIMessageChunk(word if number == 0 else f" {word}")
            yield ChatGenerationChunk(message=piece)


class GatedChat(ScriptedChat):
    """Tells when a call has begun and waits for the gate, or for ever."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    gate: asyncio.Event
    begun: asyncio.Event

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.begun.set()
        await self.gate.wait()
        return self._generate(messages)


def gated(replies: dict[str, Any] | None = None) -> GatedChat:
    return GatedChat(replies=replies or GRADED, gate=asyncio.Event(), begun=asyncio.Event())


def conversing(
    chat: ScriptedChat | None = None,
    *,
    registry: CollectorRegistry | None = None,
    memory: Memory | None = None,
    seconds: float = 20.0,
    **context: Any,
) -> Conversing:
    graph = build_graph()
    if registry is not None:
        roles = {node: role for node, role in ROLES.items() if node in graph.nodes}
        graph = instrument(graph, roles=roles, registry=registry)
    tools = make_context(chat=chat or ScriptedChat(replies=GRADED), **context)
    agent = SupportAgent(graph=graph, context=tools)
    return Conversing(lambda: agent, memory or Memory(LocalStore()), turn_seconds=seconds)


async def events_of(
    talk: Conversing, question: str = "q?", thread: Thread | None = T
) -> list[Event]:
    return [event async for event in talk.stream(question, thread=thread)]


def shown(events: list[Event]) -> str:
    """Return the text that a reader sees at the end."""
    text = ""
    for event in events:
        if isinstance(event, Token):
            text += event.text
        elif isinstance(event, Withdrawn):
            text = ""
    return text


def turns(registry: CollectorRegistry) -> dict[str, float]:
    """Return how many turns ended in each outcome."""
    found: dict[str, float] = {}
    for metric in registry.collect():
        for sample in metric.samples:
            if sample.name == "rag_turns_total" and sample.value:
                outcome = sample.labels["outcome"]
                found[outcome] = found.get(outcome, 0) + sample.value
    return found


@pytest.mark.parametrize("chat", [StreamingChat, ScriptedChat])
async def test_only_the_answer_is_streamed_and_never_what_judges_write(
    chat: type[ScriptedChat],
) -> None:
    events = await events_of(conversing(chat(replies=GRADED)))
    answer = await conversing(chat(replies=GRADED)).ask("q?")

    assert shown(events) == answer.reply == "It is so [a]."
    assert sum(isinstance(event, Token) for event in events) == (4 if chat is StreamingChat else 1)


async def test_pieces_come_before_the_end_of_the_answer_that_they_are_of() -> None:
    talk = conversing(StreamingChat(replies=GRADED))
    kinds = [type(event) for event in await events_of(talk)]

    assert kinds == [NodeStarted] * 5 + [Token] * 4 + [Finished]


async def test_each_node_is_told_with_the_retrieval_that_it_belongs_to() -> None:
    chat = ScriptedChat(replies={"grade": in_turn("no", "no", "yes")})
    events = await events_of(conversing(chat))

    assert [(e.node, e.attempt) for e in events if isinstance(e, NodeStarted)] == [
        ("enhance_query", 0), ("validate_topic", 0), ("fetch_content", 0), ("assess_relevance", 0),
        ("optimize_query", 1), ("fetch_content", 1), ("assess_relevance", 1),
        ("generate_response", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("replies", "outcome"),
    [
        pytest.param({}, "no_results", id="nothing-is-found"),
        pytest.param({"guard": {"classification": "IRRELEVANT", "confidence": "HIGH"}},
                     "off_topic", id="it-is-off-topic"),
        pytest.param({**GRADED, "answer": ""}, "error", id="the-model-says-nothing"),
        pytest.param({**GRADED, "answer": OSError("down")}, "error", id="the-model-fails"),
        pytest.param({**GRADED, "answer": "<think>hm</think>So."}, "answered", id="it-thinks"),
        pytest.param({**GRADED, "answer": "  So.\n"}, "answered", id="blanks-around-the-answer"),
    ],
)  # fmt: skip
async def test_whatever_the_end_the_pieces_are_the_reply_and_it_comes_once_and_last(
    replies: dict[str, Any], outcome: str
) -> None:
    events = await events_of(conversing(StreamingChat(replies=replies)))
    ends = [event for event in events if isinstance(event, Finished)]

    assert [end.answer.outcome for end in ends] == [outcome]
    assert events[-1] is ends[0]
    assert shown(events) == ends[0].answer.reply


async def test_a_second_try_of_the_answer_voids_what_was_streamed_of_the_first() -> None:
    class CutOnce(StreamingChat):
        cut: bool = True

        async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
            async for piece in super()._astream(*args, **kwargs):
                yield piece
                if self.cut and "It" in piece.text:
                    self.cut = False
                    raise ConnectionError("cut")

    events = await events_of(conversing(CutOnce(replies=GRADED)))

    assert any(isinstance(event, Withdrawn) for event in events)
    assert shown(events) == "It is so [a]."


async def test_a_failing_retriever_ends_in_one_final_event_with_the_polite_reply() -> None:
    events = await events_of(conversing(retriever=DictRetriever(error=OSError("down"))))
    end = events[-1]

    assert isinstance(end, Finished)
    assert (end.answer.outcome, end.answer.reason) == ("error", "retriever_error")
    assert shown(events) == ERROR_REPLY


async def test_a_mistake_of_the_caller_after_the_first_event_is_the_final_event() -> None:
    mistake = UnknownGoldenQuestionError("q?", "golden.yaml")  # type: ignore[arg-type]  # shown only
    talk = conversing(ScriptedChat(replies={"guard": mistake}))
    end = (await events_of(talk))[-1]

    assert isinstance(end, Finished)
    assert (end.answer.outcome, end.answer.reason) == ("error", "unknown_golden_question")
    with pytest.raises(UnknownGoldenQuestionError):
        await talk.ask("q?")


async def test_what_is_no_question_is_refused_before_any_event() -> None:
    talk = conversing()

    with pytest.raises(InvalidQuestionError):
        talk.stream("  ")
    with pytest.raises(InvalidQuestionError):
        await talk.ask("  ")


async def close_the_stream(talk: Conversing, chat: GatedChat) -> None:
    async with aclosing(talk.stream("one?", thread=T)) as events:
        async for event in events:
            if event == NodeStarted(node="validate_topic", attempt=0):
                await chat.begun.wait()
                return


async def cancel_the_reader(talk: Conversing, chat: GatedChat) -> None:
    await cancel_when_begun(events_of(talk), chat)


async def cancel_who_asked(talk: Conversing, chat: GatedChat) -> None:
    await cancel_when_begun(talk.ask("one?", thread=T), chat)


async def cancel_when_begun(work: Any, chat: GatedChat) -> None:
    task = asyncio.create_task(work)
    await chat.begun.wait()
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()


@pytest.mark.parametrize("leave", [close_the_stream, cancel_the_reader, cancel_who_asked])
async def test_a_client_that_goes_away_cancels_the_turn_at_once(
    leave: Callable[[Conversing, GatedChat], Any],
) -> None:
    chat, registry = gated(), CollectorRegistry()
    talk = conversing(chat, registry=registry)
    await asyncio.wait_for(leave(talk, chat), 10)
    chat.gate.set()
    calls = len(chat.asked)
    again = await talk.ask("two?", thread=T)

    assert (calls, again.outcome) == (0, "answered")
    assert turns(registry) == {"cancelled": 1, "answered": 1}
    assert [message.text for message in await talk.messages(T)][::2] == ["two?"]
    assert talk.turns_under_way == 0


class BlockingRetriever(DictRetriever):
    """Blocks the thread that it runs in."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    released: threading.Event

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        self.released.wait(20)
        return super()._get_relevant_documents(query, run_manager=run_manager)


@pytest.mark.parametrize("waits_for", ["a-model", "a-retriever-that-blocks"])
@pytest.mark.parametrize("way", ["ask", "stream"])
async def test_a_turn_that_takes_too_long_ends_as_an_error_within_its_limit(
    waits_for: str, way: str
) -> None:
    registry, released = CollectorRegistry(), threading.Event()
    chat = gated() if waits_for == "a-model" else ScriptedChat(replies=GRADED)
    found = BlockingRetriever(released=released) if waits_for != "a-model" else DictRetriever()
    talk = conversing(chat, registry=registry, retriever=found, seconds=0.1)
    try:
        async with asyncio.timeout(10):
            if way == "ask":
                answer = await talk.ask("q?", thread=T)
            else:
                end = (await events_of(talk))[-1]
                assert isinstance(end, Finished)
                answer = end.answer
    finally:
        released.set()

    assert (answer.outcome, answer.reason, answer.reply) == ("error", "timeout", ERROR_REPLY)
    assert turns(registry) == {"error": 1}
    assert await talk.messages(T) == []


async def test_stopping_ends_every_turn_with_an_answer_that_says_so() -> None:
    chat, registry = gated(), CollectorRegistry()
    talk = conversing(chat, registry=registry)
    asked = [asyncio.create_task(talk.ask("one?")), asyncio.create_task(talk.ask("two?", thread=T))]
    streamed = asyncio.create_task(events_of(talk, thread=None))
    await chat.begun.wait()
    while talk.turns_under_way < 3:
        await asyncio.sleep(0)
    talk.stop()
    answers = [await task for task in asked]
    end = (await streamed)[-1]

    assert isinstance(end, Finished)
    assert {(a.outcome, a.reason, a.reply) for a in [*answers, end.answer]} == {
        ("cancelled", "service_stopped", STOPPED_REPLY)
    }
    assert set(turns(registry)) <= {"cancelled"}


async def test_many_threads_and_questions_at_once_do_not_mix() -> None:
    replies = {**GRADED, "answer": lambda data: f"re {data['question']}",
               "enhance": lambda data: {"question": data["question"]}}  # fmt: skip
    talk = conversing(StreamingChat(replies=replies))
    threads = [Thread(id=str(number % 5)) for number in range(20)]
    ends = await asyncio.gather(
        *(events_of(talk, f"q{n}?", thread) for n, thread in enumerate(threads))
    )
    told = [[message.text for message in await talk.messages(t)] for t in threads[:5]]

    assert [shown(events) for events in ends] == [f"re q{n}?" for n in range(20)]
    assert told[0] == [text for n in (0, 5, 10, 15) for text in (f"q{n}?", f"re q{n}?")]


async def test_callers_with_the_same_id_never_meet() -> None:
    chat = ScriptedChat(replies=GRADED)
    talk = conversing(chat)
    await talk.ask("my code is 7141", thread=Thread(id="1", caller="u1"))
    await talk.ask("which code?", thread=Thread(id="1", caller="u2"))

    assert [("7141" in str(data), task) for task, data in chat.asked][4:] == [
        (False, "guard"), (False, "grade"), (False, "grade"), (False, "answer"),
    ]  # fmt: skip


async def test_a_forgotten_conversation_begins_anew() -> None:
    talk = conversing()
    await talk.ask("one?", thread=T)
    await talk.forget(T)

    assert await talk.messages(T) == []


@pytest.fixture(scope="module")
def local() -> Composition:
    return Composition(Settings(model="local"))


@pytest.mark.parametrize("restart", [False, True])
async def test_a_follow_up_is_made_standalone_before_its_topic_is_judged(
    local: Composition, restart: bool, tmp_path: Any
) -> None:
    setting, agent = str(tmp_path / "talks.sqlite"), local.default_agent
    async with open_memory(setting) as memory:
        first = Conversing(lambda: agent, memory)
        await first.ask("Can I get a refund?", thread=T)
        answer = None if restart else await first.ask("What about annual plans?", thread=T)
    if answer is None:
        async with open_memory(setting) as memory:
            again = Conversing(lambda: agent, memory)
            answer = await again.ask("What about annual plans?", thread=T)

    assert (answer.outcome, answer.citations, answer.rewrites) == ("answered", ("refunds",), 0)
    assert "refund" in answer.attempts[0].query
    assert "annual plan" in answer.reply
