"""Routers that end a rewrite loop wrongly: never, or too early. They wrap any router function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from agent.faults.chance import Chance

StateT = TypeVar("StateT")
RouteT = TypeVar("RouteT")
"""The routes, usually a `Literal`."""


def never_gives_up(
    router: Callable[[StateT], RouteT],
    *,
    gives_up: RouteT,
    instead: RouteT,
    question: Callable[[StateT], str],
    chance: Chance,
) -> Callable[[StateT], RouteT]:
    """Return a router that rewrites where the given one gives up: the runaway loop.

    Only the recursion limit ends such a turn.

    Args:
        router: A sound router.
        gives_up: The route that ends a turn without an answer.
        instead: The route that rewrites.
        question: Reads the question out of the state.
        chance: Which questions are struck.
    """

    def route(state: StateT) -> RouteT:
        chosen = router(state)
        return instead if chosen == gives_up and chance.strikes(question(state)) else chosen

    return route


def budget_first(
    router: Callable[[StateT], RouteT],
    *,
    gives_up: RouteT,
    is_spent: Callable[[StateT], bool],
    question: Callable[[StateT], str],
    chance: Chance,
) -> Callable[[StateT], RouteT]:
    """Return a router that looks at the budget before it looks at the evidence.

    It throws away what the last allowed search found.

    Args:
        router: A sound router.
        gives_up: The route that ends a turn without an answer.
        is_spent: Says whether the last rewrite was made.
        question: Reads the question out of the state.
        chance: Which questions are struck.
    """

    def route(state: StateT) -> RouteT:
        if is_spent(state) and chance.strikes(question(state)):
            return gives_up
        return router(state)

    return route
