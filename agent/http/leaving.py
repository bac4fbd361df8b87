"""Callers that go away: what is done for them ends at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.types import Receive

T = TypeVar("T")


class CallerGoneError(Exception):
    """Nobody reads the reply any more."""


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of the work, and cancel it when the caller's connection ends before.

    Args:
        receive: Of the request, whose body was read.
        work: What is done for the caller.

    Raises:
        CallerGoneError: The connection ended; the work has ended too.
    """
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(disconnected(receive))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise CallerGoneError
        return task.result()
    finally:
        await ended(task, gone)


async def disconnected(receive: Receive) -> None:
    """Return when the caller's connection has ended."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def ended(*tasks: asyncio.Future[Any]) -> None:
    """Cancel what is under way and wait until it has ended; its results are nobody's business."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # nobody else asks for it, and asyncio would complain
