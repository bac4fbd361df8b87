"""One set of nodes for sync and async: a body yields the calls it wants made and gets the results.

A body is a generator. It yields a list of `Call`s; the driver makes them (one after another in a
sync run, together in an async run), counts the model calls, and sends the results back in order.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import get_runtime

from agent.errors import TurnTimeoutError
from agent.state import SupportState

T = TypeVar("T")
Result = Any | Exception
OnPiece = Callable[[str | None], None]
"""Gets the pieces of a model's text as they come; None when a text begins, again or anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call to something that waits: a chat model or a retriever.

    A call that fails hands its exception back as the result, so that one failed call of several
    does not lose the others; the body decides what a failure means.
    """

    target: Runnable[Any, Any]
    value: Any
    is_model_call: bool = False

    def make(self, config: RunnableConfig | None) -> Result:
        """Return the target's result, or the exception it raised."""
        try:
            return self.target.invoke(self.value, config)
        except GraphBubbleUp:  # control flow of LangGraph, never a failure
            raise
        except Exception as error:  # noqa: BLE001 - handed to the body as a value
            return error

    async def amake(self, config: RunnableConfig | None, on_piece: OnPiece | None = None) -> Result:
        """Return the target's result, or the exception it raised, without blocking the loop.

        Args:
            config: Of the run.
            on_piece: Gets a model's text while it is written; None to wait for the whole.
        """
        try:
            if on_piece is not None and self.is_model_call:
                return await self._streamed(on_piece, config)
            return await self.target.ainvoke(self.value, config)
        except GraphBubbleUp:
            raise
        except Exception as error:  # noqa: BLE001 - handed to the body as a value
            return error

    async def _streamed(self, on_piece: OnPiece, config: RunnableConfig | None) -> Any:
        """Return the whole of the model's pieces; one that does not stream gives one piece."""
        on_piece(None)
        whole, task = None, asyncio.current_task()
        pieces = cast("AsyncGenerator[Any, None]", self.target.astream(self.value, config))
        async with aclosing(pieces):
            async for piece in pieces:
                # Python 3.11's `wait_for`, in which clients read, may lose a cancellation.
                if task is not None and task.cancelling():
                    raise asyncio.CancelledError
                on_piece(piece.text)
                whole = piece if whole is None else whole + piece
        return whole


Steps = Generator[list[Call], list[Any], T]
"""A generator that yields lists of calls and returns a `T`."""


def together(bodies: Iterable[Steps[T]]) -> Steps[list[T]]:
    """Run several bodies in step, so that an async run makes their calls at the same time."""
    results: dict[int, T] = {}
    waiting: dict[int, tuple[Steps[T], list[Call]]] = {}

    def advance(index: int, body: Steps[T], answers: list[Any] | None) -> None:
        try:
            calls = next(body) if answers is None else body.send(answers)
        except StopIteration as stop:
            results[index] = stop.value
        else:
            waiting[index] = (body, calls)

    for index, body in enumerate(bodies):
        advance(index, body, None)
    while waiting:
        round_, waiting = waiting, {}
        answers = yield [call for _, calls in round_.values() for call in calls]
        for index, (body, calls) in round_.items():
            mine, answers = answers[: len(calls)], answers[len(calls) :]
            advance(index, body, mine)
    return [results[index] for index in sorted(results)]


class BodyNode(Runnable[SupportState, dict[str, Any]]):
    """A graph node made of one generator body; runs it in sync and in async runs.

    Calls are only begun before the deadline of the context. In an async run they are also ended
    there; a call that blocks a thread goes on in it, but nobody waits for it.

    The node's update gets `llm_calls`: the turn's total after this node, counted call by call.
    """

    def __init__(self, body: Callable[[Any, Any], Steps[dict[str, Any]]]) -> None:
        self.name = body.__name__
        self._body = body

    def invoke(
        self, input: SupportState, config: RunnableConfig | None = None, **_: Any
    ) -> dict[str, Any]:
        """Run the body, making its calls one after another."""
        context = get_runtime().context
        steps = self._body(input, context)
        made, answers = 0, None
        while True:
            try:
                calls = next(steps) if answers is None else steps.send(answers)
            except StopIteration as stop:
                return _counted(stop.value, input, made)
            _seconds_left(context)
            made += sum(call.is_model_call for call in calls)
            answers = [call.make(config) for call in calls]

    async def ainvoke(
        self, input: SupportState, config: RunnableConfig | None = None, **_: Any
    ) -> dict[str, Any]:
        """Run the body, making the calls of one list at the same time."""
        context = get_runtime().context
        steps = self._body(input, context)
        on_piece = _writer(self.name, context)
        made, answers = 0, None
        while True:
            try:
                calls = next(steps) if answers is None else steps.send(answers)
            except StopIteration as stop:
                return _counted(stop.value, input, made)
            seconds = _seconds_left(context)
            made += sum(call.is_model_call for call in calls)
            try:
                async with asyncio.timeout(seconds):
                    answers = await asyncio.gather(
                        *(call.amake(config, on_piece) for call in calls)
                    )
            except TimeoutError:  # a call's own one is its result
                raise TurnTimeoutError() from None


def _writer(node: str | None, context: Any) -> OnPiece | None:
    """Return what takes the pieces of a node's model calls; None for a node that is not shown."""
    return get_stream_writer() if context is not None and node in context.streamed else None


def _seconds_left(context: Any) -> float | None:
    """Return the time until the deadline; None without one.

    Raises:
        TurnTimeoutError: None is left.
    """
    if context is None or context.deadline is None:
        return None
    left = float(context.deadline) - time.monotonic()
    if left <= 0:
        raise TurnTimeoutError()
    return left


def _counted(update: dict[str, Any], state: SupportState, made: int) -> dict[str, Any]:
    """Add the model calls made to the update; a body that sets `llm_calls` starts a new count."""
    return {**update, "llm_calls": update.get("llm_calls", state.get("llm_calls", 0)) + made}
