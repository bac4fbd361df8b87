"""What telemetry hands back to the agent: each finished turn, and the one that ended last."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass

from agent.answer import Observation
from telemetry import names
from telemetry.detectors import Finding
from telemetry.probe import Records
from telemetry.records.record import MAX_NODE_RUNS
from telemetry.turn import Turn


@dataclass(slots=True)
class Observer:
    """Hands each finished turn on, and keeps the one that ended last in this context."""

    records: Records | None

    def put(self, turn: Turn, findings: Sequence[Finding] = ()) -> None:
        """Take a finished turn from the instrumentation."""
        record_id = self.records.put(turn, findings) if self.records is not None else None
        _LAST.set(_observation(turn, record_id if isinstance(record_id, str) else None))

    def take(self) -> Observation | None:
        """Return what was seen of the turn that has just ended, once."""
        seen = _LAST.get()
        _LAST.set(None)
        return seen


_LAST: ContextVar[Observation | None] = ContextVar("loopscope_last_observation", default=None)


def _observation(turn: Turn, record_id: str | None) -> Observation:
    return Observation(
        trace_id=turn.trace_id,
        record_id=record_id,
        span_id=turn.span_id,
        effects=tuple(retrieval.effect for retrieval in turn.retrievals),
        nodes=tuple(
            (node.path, attempt, began - turn.clock, seconds)
            for node, began, seconds, attempt in turn.in_order[:MAX_NODE_RUNS]
        ),
        input_tokens=turn.input_tokens,
        output_tokens=turn.output_tokens,
        similarities=tuple(retrieval.similarity for retrieval in turn.retrievals),
        synonym_swaps=tuple(
            retrieval.effect == names.SAME_CHUNKS_AND_SCORES for retrieval in turn.retrievals
        ),
    )
