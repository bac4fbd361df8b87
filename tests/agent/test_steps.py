from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, TypedDict, cast

import pytest
from langchain_core.messages import AIMessageChunk
from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.errors import GraphInterrupt
from langgraph.graph import END, START, StateGraph

from agent.steps import BodyNode, Call, Steps, together


class Counted(TypedDict, total=False):
    llm_calls: int
    seen: list[Any]


def call(value: Any, *, is_model_call: bool = True) -> Call:
    return Call(target=RunnableLambda(lambda v: v * 10), value=value, is_model_call=is_model_call)


def failing(error: BaseException) -> Call:
    def fail(_: Any) -> Any:
        raise error

    return Call(target=RunnableLambda(fail), value=0, is_model_call=True)


def graph_of(body: Any) -> Any:
    graph = StateGraph(Counted)
    graph.add_node("only", cast(Any, BodyNode(body)))
    graph.add_edge(START, "only")
    graph.add_edge("only", END)
    return graph.compile()


def run(body: Any, mode: str, state: Counted | None = None) -> Any:
    graph = graph_of(body)
    given = state or {"llm_calls": 0}
    return graph.invoke(given) if mode == "sync" else asyncio.run(graph.ainvoke(given))


@pytest.fixture(params=["sync", "async"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_results_come_back_in_the_order_of_the_calls(mode: str) -> None:
    def body(_: Any, __: Any) -> Steps[dict[str, Any]]:
        seen = yield [call(3), call(1), call(2)]
        return {"seen": seen}

    assert run(body, mode)["seen"] == [30, 10, 20]


def test_model_calls_are_counted_and_other_calls_are_not(mode: str) -> None:
    def body(_: Any, __: Any) -> Steps[dict[str, Any]]:
        yield [call(1), call(2, is_model_call=False)]
        yield [call(3)]
        return {}

    assert run(body, mode, {"llm_calls": 4})["llm_calls"] == 6


def test_a_body_that_sets_the_count_starts_a_new_one(mode: str) -> None:
    def body(_: Any, __: Any) -> Steps[dict[str, Any]]:
        yield [call(1)]
        return {"llm_calls": 0}

    assert run(body, mode, {"llm_calls": 7})["llm_calls"] == 1


def test_a_failed_call_is_a_value_and_loses_no_other(mode: str) -> None:
    error = ValueError("no")

    def body(_: Any, __: Any) -> Steps[dict[str, Any]]:
        seen = yield [failing(error), call(1)]
        return {"seen": [type(seen[0]).__name__, seen[1]]}

    end = run(body, mode)

    assert (end["seen"], end["llm_calls"]) == (["ValueError", 10], 2)


def test_control_flow_of_langgraph_is_not_swallowed(mode: str) -> None:
    caught: list[str] = []

    def body(_: Any, __: Any) -> Steps[dict[str, Any]]:
        try:
            yield [failing(GraphInterrupt(()))]
        except GraphInterrupt:
            caught.append("interrupt")
            raise
        return {}

    # The driver raises out of the node, past the body: nothing was sent back into it.
    run(body, mode)

    assert caught == []


def test_together_advances_bodies_of_different_length_in_rounds(mode: str) -> None:
    rounds: list[int] = []

    def counting(n: int) -> Steps[int]:
        total = 0
        for i in range(n):
            (got,) = yield [call(i + 1)]
            total += got
        return total

    def body(_: Any, __: Any) -> Steps[dict[str, Any]]:
        steps = together(counting(n) for n in (1, 3, 0, 2))
        calls = next(steps)
        while True:
            rounds.append(len(calls))
            results = yield calls
            try:
                calls = steps.send(results)
            except StopIteration as stop:
                return {"seen": stop.value}

    end = run(body, mode)

    assert (end["seen"], end["llm_calls"], rounds) == ([10, 60, 0, 30], 6, [3, 2, 1])


def test_async_run_makes_the_calls_of_one_list_at_the_same_time() -> None:
    meeting = asyncio.Barrier(3)

    async def meet(value: int) -> int:
        await asyncio.wait_for(meeting.wait(), timeout=5)
        return value

    def body(_: Any, __: Any) -> Steps[dict[str, Any]]:
        target = RunnableLambda(lambda v: v, afunc=meet)
        seen = yield [Call(target=target, value=n) for n in range(3)]
        return {"seen": seen}

    assert run(body, "async")["seen"] == [0, 1, 2]


def test_async_run_stays_in_the_event_loop_thread() -> None:
    def body(_: Any, __: Any) -> Steps[dict[str, Any]]:
        yield []
        return {"seen": [threading.current_thread() is threading.main_thread()]}

    assert run(body, "async")["seen"] == [True]


class LosesCancellations(Runnable[Any, Any]):
    """Streams as a busy client does on Python 3.11: a cancellation that meets a piece is lost."""

    def invoke(self, input: Any, config: Any = None, **_: Any) -> Any:
        raise NotImplementedError

    async def astream(self, *_: Any, **__: Any) -> AsyncIterator[AIMessageChunk]:
        for _number in range(1_000):
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
            yield AIMessageChunk(content="piece ")


def test_a_streamed_call_ends_when_it_is_cancelled_though_its_client_loses_that() -> None:
    pieces: list[str | None] = []

    async def cancelled() -> Any:
        streaming = Call(target=LosesCancellations(), value=[], is_model_call=True)
        task = asyncio.create_task(streaming.amake(None, pieces.append))
        while len(pieces) < 3:
            await asyncio.sleep(0)
        task.cancel()
        return await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())

    assert len(pieces) <= 4
