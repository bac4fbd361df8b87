"""Routers: which way a conditional edge sent the turn, and what that says where the edge judges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import Counter

from telemetry import names
from telemetry.execution import current_turn
from telemetry.facts import Grades, Verdict
from telemetry.probe import Probe
from telemetry.roles import ROUTER
from telemetry.run_metrics import MAX_NODES
from telemetry.topology import END_NODE, shown

if TYPE_CHECKING:
    from telemetry.running import RunningTurn

_REFUSING: Final = (names.REWRITE, names.NO_RESULTS, names.CLARIFY, names.OFF_TOPIC)
"""Roles of the nodes an edge chooses when what it judged was not good enough."""


class CountedRouter:
    """Stands where LangGraph hands a router's choice to the graph, and counts it.

    Args:
        write: LangGraph's own function.
        probe: What watches the graph.
        router: Node that the router leaves.
    """

    def __init__(self, write: Callable[..., Any], probe: Probe, router: str) -> None:
        self._write = write
        self._probe = probe
        self._router = router
        self._prefix = router.rpartition("/")[0]
        self._role = probe.role(f"{router}{ROUTER}")
        self._is_terminal = probe.role(router) in names.TERMINAL_OUTCOMES
        self._children: dict[str, Counter] = {}

    def __call__(self, packets: Sequence[Any], static: bool = False) -> Any:
        """Pass the choice on, then count it."""
        entries = self._write(packets, static)
        turn = None if static else current_turn()  # an edit of the state runs routers too
        if turn is not None:
            try:
                for packet in packets:
                    self._count(turn, packet if isinstance(packet, str) else packet.node)
            except Exception as error:  # noqa: BLE001 - telemetry never breaks a run
                self._probe.failed("node", error)
        return entries

    def _count(self, turn: RunningTurn, chosen: str) -> None:
        if not turn.is_synthetic:
            self._child(chosen).inc()
        if self._is_terminal and chosen != END_NODE:  # its reply was a draft: the turn goes on
            turn.book.not_ended_by(self._probe.role(self._router))
        if self._role != names.NONE:
            self._judge(turn, f"{self._prefix}/{chosen}" if self._prefix else chosen)

    def _child(self, chosen: str) -> Counter:
        """Return the series of a choice."""
        child = self._children.get(chosen)
        if child is None:
            child = self._probe.run_metrics.route(self._router, shown(chosen))
            if len(self._children) < MAX_NODES:  # a router may return any text
                self._children[chosen] = child
        return child

    def _judge(self, turn: RunningTurn, chosen: str) -> None:
        refused = self._probe.role(chosen) in _REFUSING
        if self._role == names.GRADE:
            turn.book.graded(Grades(dict.fromkeys(turn.book.chunk_ids, not refused)))
        else:
            said = names.IRRELEVANT if refused else names.RELEVANT
            turn.book.checked(Verdict(said, names.CONFIDENCES[0]))
