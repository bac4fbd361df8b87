"""One model asked for one reply: again after a failure that may pass, later or in another form."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig

from agent.models.failures import UnusableReplyError
from agent.models.structured import StructuredOutput
from agent.state import Role
from agent.steps import Call, Steps

T = TypeVar("T")

MAX_WAIT_SECONDS: Final = 5.0
"""Longest wait before a retry, whatever a rate limit's Retry-After asks for. Chosen by us."""

_LOG: Final = logging.getLogger(__name__)


def ask(
    output: StructuredOutput,
    role: Role,
    messages: Sequence[BaseMessage],
    read: Callable[[Any], T],
    *,
    tries: int,
) -> Steps[T]:
    """Call a model, and again after a failure that may pass, until its reply can be read.

    Args:
        output: The model, and how it is asked.
        role: The job.
        messages: The request.
        read: Turns a reply into a value; raises UnusableReplyError.
        tries: Calls at most, 1 or more.

    Raises:
        UnusableReplyError: No reply could be read, the last one for this reason.
    """
    target, rejected = output.target(role), ""
    for _ in range(tries):
        (result,) = yield [Call(target=target, value=messages, is_model_call=True)]
        if rejected and not isinstance(result, Exception):
            output.give_up(rejected)
        try:
            return read(result)
        except UnusableReplyError as error:
            failure = error
        _LOG.info("the model's %s reply is unusable: %s", role, failure)
        if failure.is_schema_rejected and target is not output.model:
            target, rejected = output.model, failure.detail
        elif failure.is_final:
            break
        elif failure.wait_seconds:
            target = AfterWait(target, min(failure.wait_seconds, MAX_WAIT_SECONDS))
    raise failure


class AfterWait(Runnable[Any, Any]):
    """Another runnable, called after a wait: what a rate limit asks for."""

    def __init__(self, target: Runnable[Any, Any], seconds: float) -> None:
        self.target = target
        self.seconds = seconds

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Wait in this thread, then call the target."""
        time.sleep(self.seconds)
        return self.target.invoke(input, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Wait without blocking the loop, then call the target."""
        await asyncio.sleep(self.seconds)
        return await self.target.ainvoke(input, config)
