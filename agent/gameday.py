"""An agent with a fault that is switched on and off while it answers."""

from __future__ import annotations

import logging
from functools import cached_property

from starlette.types import ASGIApp

from agent.compose import Composition
from agent.faults.catalogue import Injection
from agent.faults.metrics import MetricsGone
from agent.service import SupportAgent
from agent.settings import Settings

_log = logging.getLogger(__name__)


class GameDay:
    """Answers through the sound agent, or through one with the fault in it.

    Both count into the composition's registry, as two versions of one service do. The second one
    is put together when the fault is first switched on, so that a changed index or grader shows
    as a change at that moment.

    Args:
        composition: What both agents share.
        settings: Of both agents.
        injection: The fault.
        is_on: Whether to start with it.
    """

    def __init__(
        self, composition: Composition, settings: Settings, injection: Injection, *, is_on: bool
    ) -> None:
        self.injection = injection
        self._composition = composition
        self._settings = settings
        self._sound = composition.agent(settings)
        self._is_on = False
        if is_on:
            self.toggle()

    @property
    def is_on(self) -> bool:
        """Whether the fault is on."""
        return self._is_on

    def toggle(self) -> None:
        """Switch the fault on or off; turns under way end as they began."""
        self._is_on = not self._is_on
        if self._is_on:
            _ = self._faulty
        _log.warning("the fault %s is %s", self.injection.name, "on" if self._is_on else "off")

    def around(self, app: ASGIApp) -> ASGIApp:
        """Return the service as it is served: its metrics endpoint may be what fails."""
        if self.injection.fault.where != "metrics":
            return app
        return MetricsGone(app, is_on=lambda: self._is_on)

    def agent(self) -> SupportAgent:
        """Return the agent that answers the next question."""
        return self._faulty if self._is_on else self._sound

    @cached_property
    def _faulty(self) -> SupportAgent:
        if self.injection.fault.where != "agent":
            return self._sound
        parts = self.injection.into(self._composition.parts(self._settings))
        return self._composition.agent(self._settings, parts)
