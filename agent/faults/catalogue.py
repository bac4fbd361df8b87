"""Every fault by its name: what it wraps, what it does, and how it is put into our agent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal

from agent.errors import FaultError
from agent.faults.chance import Chance
from agent.faults.chat import ChatFault, faulty_chat
from agent.faults.documents import damaged
from agent.faults.requests import grades_out, only_swaps_words, refuses_topics, wanders
from agent.faults.retriever import RetrieverFault, faulty_retriever
from agent.faults.routers import budget_first, never_gives_up
from agent.parts import Parts
from agent.retrieval.tfidf import TfidfIndex
from agent.routers import AfterGrading

Where = Literal["agent", "metrics", "traffic"]
Change = Callable[[Parts, Chance], Parts]

SLOW_SECONDS: Final = 2.5
"""Added to each model call by slow-model; an answer takes three calls one after another."""
_GIVES_UP: Final[AfterGrading] = "handle_no_results"
_REWRITES: Final[AfterGrading] = "optimize_query"
NOBODY_LISTENS: Final = "http://127.0.0.1:1"
"""A collector's address at which nothing answers: port 1 is for root alone, and unused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A failure that can be injected."""

    name: str
    wraps: str
    """The real part that it stands around."""
    does: str
    """One line."""
    where: Where = "agent"
    """What it changes: the agent, the service's metrics endpoint, or the traffic."""
    share: float = 1.0
    """Share of the calls that it strikes unless told otherwise."""
    change: Change = lambda parts, _: parts
    """Puts it into an agent's parts; nothing to do for the other places."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """A fault with its share and seed."""

    fault: Fault
    chance: Chance

    @property
    def name(self) -> str:
        """The fault's name."""
        return self.fault.name

    def into(self, parts: Parts) -> Parts:
        """Return the parts with the fault in them."""
        return self.fault.change(parts, self.chance)


def read_fault(text: str, *, seed: int = 0) -> Injection:
    """Return the fault that `NAME` or `NAME:SHARE` stands for.

    Raises:
        FaultError: There is no such fault, or the share is not above 0 and at most 1.
    """
    name, colon, share = text.partition(":")
    fault = FAULTS.get(name)
    if fault is None:
        raise FaultError(
            f"fault got {name!r}, expected one of {', '.join(FAULTS)}",
            "See `loopscope faults`.",
        )
    try:
        chance = Chance(share=float(share) if colon else fault.share, seed=seed)
    except ValueError:
        raise FaultError(
            f"share got {share!r}, expected a number above 0 and at most 1",
            f"Write for example {name}:0.4.",
        ) from None
    return Injection(fault=fault, chance=chance)


def _model(make: Callable[[Parts, Chance], ChatFault]) -> Change:
    return lambda parts, chance: replace(parts, chat=faulty_chat(parts.chat, make(parts, chance)))


def _stricter_grader(parts: Parts, chance: Chance) -> Parts:
    return replace(
        parts,
        chat=faulty_chat(parts.chat, grades_out(chance)),
        grader=f"{parts.grader} stricter",
    )


def _worse_index(parts: Parts, chance: Chance) -> Parts:
    index = TfidfIndex.fit(damaged(parts.retriever.index.chunks, chance))
    return replace(parts, retriever=parts.retriever.model_copy(update={"index": index}))


def _dead_retriever(parts: Parts, chance: Chance) -> Parts:
    fault = RetrieverFault(
        chance=chance, error=lambda: ConnectionError("injected: no search service")
    )
    return replace(parts, retriever=faulty_retriever(parts.retriever, fault))


def _runaway_router(parts: Parts, chance: Chance) -> Parts:
    route = never_gives_up(
        parts.route_after_grading,
        gives_up=_GIVES_UP,
        instead=_REWRITES,
        question=lambda state: state["standalone"],
        chance=chance,
    )
    return replace(parts, route_after_grading=route)


def _budget_first_router(parts: Parts, chance: Chance) -> Parts:
    route = budget_first(
        parts.route_after_grading,
        gives_up=_GIVES_UP,
        is_spent=lambda state: state["rewrites"] >= state["max_rewrites"],
        question=lambda state: state["standalone"],
        chance=chance,
    )
    return replace(parts, route_after_grading=route)


def _titles(parts: Parts) -> list[str]:
    return [chunk.title or chunk.id for chunk in parts.retriever.index.chunks]


_ALL: Final = (
    Fault(
        name="silent-rejection",
        wraps="chat model",
        does="the topic check refuses a share of the questions, whatever they are about",
        share=0.6,
        change=_model(lambda _, chance: refuses_topics(chance)),
    ),
    Fault(
        name="runaway-loop",
        wraps="router",
        does="never gives up: only the recursion limit ends a turn that finds nothing",
        change=_runaway_router,
    ),
    Fault(
        name="budget-first",
        wraps="router",
        does="checks the budget before the evidence: a hit on the last search is thrown away",
        change=_budget_first_router,
    ),
    Fault(
        name="synonym-swap",
        wraps="chat model",
        does="the rewriter reorders the query and adds words that no document has",
        change=_model(
            lambda parts, chance: only_swaps_words(chance, parts.retriever.index.vocabulary)
        ),
    ),
    Fault(
        name="drift",
        wraps="chat model",
        does="the rewriter wanders to another subject of the documents",
        change=_model(lambda parts, chance: wanders(chance, _titles(parts))),
    ),
    Fault(
        name="index-regression",
        wraps="retriever",
        does="searches an index in which chunks are missing or garbled",
        share=0.95,
        change=_worse_index,
    ),
    Fault(
        name="grader-regression",
        wraps="chat model",
        does="the grader fails the chunks that it is shown, or a share of them",
        change=_stricter_grader,
    ),
    Fault(
        name="model-outage",
        wraps="chat model",
        does="model calls fail as when the provider cannot be reached",
        change=_model(
            lambda _, chance: ChatFault(
                chance=chance, error=lambda: ConnectionError("injected: no model")
            )
        ),
    ),
    Fault(
        name="retriever-outage",
        wraps="retriever",
        does="searches fail as when the search service cannot be reached",
        change=_dead_retriever,
    ),
    Fault(
        name="slow-model",
        wraps="chat model",
        does=f"each model call takes {SLOW_SECONDS} s longer",
        change=_model(lambda _, chance: ChatFault(chance=chance, delay_seconds=SLOW_SECONDS)),
    ),
    Fault(
        name="metrics-gone",
        wraps="metrics endpoint",
        does="/metrics answers 503 while questions are answered as before",
        where="metrics",
    ),
    Fault(
        name="traffic-stopped",
        wraps="traffic",
        does="no question arrives any more",
        where="traffic",
    ),
    Fault(
        name="collector-down",
        wraps="span export",
        does="spans go to a collector that does not answer, and are dropped",
        change=lambda parts, _: replace(parts, otlp_endpoint=NOBODY_LISTENS),
    ),
)
FAULTS: Final = {fault.name: fault for fault in _ALL}
"""Name -> fault, in the order of the guide."""
