"""Several services in one process, each with its own port, metrics and fault; a child of the demo.

`python -m agent.demo.fleet JOBS SETTINGS` takes both as JSON, prints the ports as one line of JSON,
switches all faults at once on SIGUSR1, and ends with its parent, whose end closes the input.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry
from starlette.types import ASGIApp

from agent.api import create_app
from agent.compose import Composition
from agent.conversing import Conversing
from agent.faults.catalogue import read_fault
from agent.gameday import GameDay
from agent.memory.local import LocalStore
from agent.memory.memory import Memory
from agent.server import ByPort, Service, listen, run
from agent.service import SupportAgent
from agent.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One service of the fleet."""

    name: str
    fault: str | None
    """`NAME` or `NAME:SHARE`; None for a sound service."""
    max_rewrites: int


class Fleet:
    """The services, put together from the parts of one composition.

    Args:
        jobs: What to serve.
        settings: Of all of them.
    """

    def __init__(self, jobs: list[Job], settings: Settings) -> None:
        self._composition = Composition(settings)
        self._game_days: list[GameDay] = []
        self._conversing: list[Conversing] = []
        self.apps = {job.name: self._app(job) for job in jobs}

    def switch(self) -> None:
        """Turn every fault on, or off again."""
        for game_day in self._game_days:
            game_day.toggle()

    def stop(self) -> None:
        """Cancel every turn under way."""
        for conversing in self._conversing:
            conversing.stop()

    def _app(self, job: Job) -> ASGIApp:
        composition = self._composition.with_registry(CollectorRegistry())
        settings = composition.settings.model_copy(update={"max_rewrites": job.max_rewrites})
        if job.fault is None:
            agent = composition.agent(settings)
            return self._asked(lambda: agent, composition)
        game_day = GameDay(composition, settings, read_fault(job.fault), is_on=False)
        self._game_days.append(game_day)
        return game_day.around(self._asked(game_day.agent, composition))

    def _asked(self, agent: Callable[[], SupportAgent], composition: Composition) -> ASGIApp:
        conversing = Conversing(agent, Memory(LocalStore()))
        self._conversing.append(conversing)
        return create_app(conversing, composition.exposition)


def main(arguments: list[str]) -> None:
    """Serve until told to stop."""
    logging.basicConfig(level=logging.ERROR)
    given: list[dict[str, Any]] = json.loads(arguments[0])
    fleet = Fleet([Job(**job) for job in given], Settings(**json.loads(arguments[1])))
    with ExitStack() as stack:
        sockets: dict[str, socket.socket] = {
            name: stack.enter_context(listen("127.0.0.1", 0)) for name in fleet.apps
        }
        ports = {name: int(at.getsockname()[1]) for name, at in sockets.items()}
        print(json.dumps(ports), flush=True)  # noqa: T201 - what the parent waits for
        threading.Thread(target=_end_with_parent, daemon=True).start()
        by_port = ByPort({ports[name]: app for name, app in fleet.apps.items()})

        @asynccontextmanager
        async def opened() -> AsyncIterator[Service]:
            yield Service(app=by_port, stop=fleet.stop, switch=fleet.switch)

        run(opened, list(sockets.values()))


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)  # unbuffered: a lock held here would abort the process' exit
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main(sys.argv[1:])
