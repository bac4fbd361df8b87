from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from openai_server import OpenAIServer

from agent.steps import Steps

Drive = Callable[[Steps[Any]], tuple[Any, int]]


@pytest.fixture(scope="session")
def running_server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def openai_server(running_server: OpenAIServer) -> Iterator[OpenAIServer]:
    """The server with an empty script and no requests seen."""
    yield running_server
    running_server.reset()


def drive(steps: Steps[Any]) -> tuple[Any, int]:
    """Make a body's calls one after another; return its result and how many calls it made."""
    made, answers = 0, None
    while True:
        try:
            calls = next(steps) if answers is None else steps.send(answers)
        except StopIteration as stop:
            return stop.value, made
        made += sum(call.is_model_call for call in calls)
        answers = [call.make(None) for call in calls]


def drive_async(steps: Steps[Any]) -> tuple[Any, int]:
    """Make the calls of one list together, in an event loop of their own."""

    async def run() -> tuple[Any, int]:
        made, answers = 0, None
        while True:
            try:
                calls = next(steps) if answers is None else steps.send(answers)
            except StopIteration as stop:
                return stop.value, made
            made += sum(call.is_model_call for call in calls)
            answers = await asyncio.gather(*(call.amake(None) for call in calls))

    return asyncio.run(run())


@pytest.fixture(params=[drive, drive_async], ids=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Drive:
    """Drive a body the way a sync and an async run of the graph do."""
    driver: Drive = request.param
    return driver
