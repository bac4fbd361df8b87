"""Where the pages get what they show: one value, built by `serve` and handed to every page."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from agent.beside import path_beside
from agent.compose import Composition
from agent.console.workbench import Experiment, Workbench
from agent.events import Event
from agent.http.callers import Callers
from agent.http.desk import Answered
from agent.memory.memory import Message
from agent.memory.thread import Thread
from agent.review.verdicts import HOLDS, Verdicts
from agent.settings import Settings
from telemetry.records import RecordReader


class Asks(Protocol):
    """Takes questions within the limits of the service: `agent.http.desk.Desk`."""

    def stream(
        self, question: str, *, caller: str, thread: Thread | None = None
    ) -> AsyncGenerator[Event | Answered, None]:
        """Answer a question and tell of it; closing the stream cancels the turn."""


class Remembers(Protocol):
    """Keeps conversations: `agent.conversing.Conversing`."""

    async def messages(self, thread: Thread) -> list[Message]:
        """Return what was said in a conversation, oldest first."""


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What the pages read and ask."""

    desk: Asks
    conversations: Remembers
    composition: Composition
    reader: RecordReader | None
    """None when no records are kept."""
    callers: Callers
    operators: frozenset[str] = field(default=frozenset())
    """Callers who may see everybody's turns; without keys everyone may."""
    experiments: dict[str, list[Experiment]] = field(default_factory=dict)
    """Runs of the lab by caller."""

    @cached_property
    def workbench(self) -> Workbench:
        """Agents for experiments."""
        return Workbench(self.settings)

    @cached_property
    def verdicts(self) -> Verdicts:
        """What was said of refusals."""
        return Verdicts(path_beside(self.settings.records, HOLDS))

    @property
    def settings(self) -> Settings:
        """The user's settings."""
        return self.composition.settings

    @property
    def is_read_only(self) -> bool:
        """Whether the console shows and takes nothing, as on a wallboard."""
        return self.settings.console == "read_only"

    def may_see_turns(self, caller: str) -> bool:
        """Whether a caller may see the turns of others."""
        return not self.callers.are_known or caller in self.operators
