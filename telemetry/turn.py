"""What was observed in one turn of a graph: the one value that detectors, metrics and records read.

Built by the instrumentation while the turn runs, frozen when it ends. Queries and the question are
held in memory only, for the drift measure and for opted-in content; nothing here is exported as is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Protocol, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """One retrieval of a turn and the grades its chunks got."""

    attempt: int
    """0 for the first retrieval of the turn, n for the one after the n-th rewrite."""
    step: int = 0
    """LangGraph's superstep: retrievals of one attempt and superstep ran side by side."""
    query: str | None = None
    """The search words, when a reader could find them. Never exported unless content is on."""
    chunk_ids: tuple[str, ...] = ()
    """In rank order."""
    scores: tuple[float | None, ...] = ()
    """Same length and order as `chunk_ids`; finite; None where the retriever gave no score."""
    grades: tuple[bool | None, ...] = ()
    """Same order; True passed, False failed, None not graded. Empty when nothing was graded."""
    is_remote: bool = False
    """The retriever is reached over a network: scores are compared with a relative tolerance."""
    failed: bool = False
    """The retrieve node raised: no chunks are known."""
    similarity: float | None = None
    """How far the rewrite before it still asks the standalone question, 0 to 1 (a cosine, -1 to 1,
    with an embedding model); None when not measured, and for all but the attempt's first."""
    effect: str | None = None
    """What the rewrite before it changed, one of `names.EFFECTS`; None when there was none, and
    for all but the first that came back of an attempt."""

    @property
    def passed(self) -> bool:
        """Whether at least one chunk passed its grading."""
        return any(self.grades)


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One draft of a revise loop and its critique."""

    draft: int
    """Its number, 1 for the first."""
    score: float | None
    """What the critic gave it; None when it gave no verdict."""
    effect: str | None = None
    """What this revision did, one of `names.REVISION_EFFECTS`; None for the first draft."""


class WatchedNode(Protocol):
    """What is told of a node: `telemetry.execution.Node`."""

    @property
    def path(self) -> str:
        """Name, or `outer/inner` for a node of a subgraph."""

    @property
    def role(self) -> str:
        """Its role, `none` without one."""


NodeEnd: TypeAlias = tuple[WatchedNode, float, float, int]
"""A node, when it began by the clock of `Turn.clock`, its seconds, and the rewrites made so far: a
tuple, since one is made for each node on the path of the turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRun:
    """One execution of a node."""

    node: str
    role: str
    attempt: int
    """Rewrites made by its end; a rewrite counts itself."""
    began: float
    """Seconds since the turn began."""
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One finished turn, whatever ended it."""

    graph: str
    version: str
    outcome: str
    """One of `names.OUTCOMES`."""
    reason: str | None = None
    """A code such as `nothing_passed`; None when none was given, or one that may be prose."""
    classification: str | None = None
    """`relevant` or `irrelevant`; None when no topic check ran."""
    confidence: str | None = None
    """`high`, `medium` or `low`; None when no topic check ran."""
    question: str | None = None
    """The standalone question. Never exported unless content is on."""
    reply: str | None = None
    retrievals: tuple[Retrieval, ...] = ()
    rewrites: int = 0
    """Rewrites made in this turn, counted from node runs, never read from the state."""
    max_rewrites: int | None = None
    """The bound the graph says it has; None when unknown."""
    drafts: int = 0
    """Drafts written in a revise loop, counted from node runs."""
    max_drafts: int | None = None
    """The bound of that loop; None when unknown."""
    rounds: tuple[Round, ...] = ()
    """The critiques of that loop, in order."""
    answered_from: tuple[str, ...] = ()
    """Ids of the chunks that the reply cites, when a reader could find them."""
    llm_calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    recursion_limit: int | None = None
    error_type: str | None = None
    conversation_id: str | None = None
    trace_id: str | None = None
    """32 hex digits; None when the turn's span is not recorded."""
    span_id: str | None = None
    """16 hex digits of the turn's own span; None when it is not recorded."""
    started_at: float = 0.0
    """Unix time, seconds."""
    duration_seconds: float = 0.0
    terminal_roles: tuple[str, ...] = field(default=())
    """Roles of the nodes that ended the turn, in order; more than one is a conflict."""
    judgement_failures: tuple[tuple[str, str], ...] = ()
    """(role, reason) of the model replies that were no judgement."""
    last_node: str | None = None
    """The node that started last."""
    failed_calls: int = 0
    """Model calls that raised."""
    executions: Sequence[NodeEnd] = ()
    """The node executions, in the order of their ends."""
    clock: float = 0.0
    """Monotonic seconds at which the turn began: what `executions` are told by."""
    build: Mapping[str, str] = field(default_factory=dict)
    """What the graph that ran was built from: the labels of `rag_build_info` that are known."""
    is_synthetic: bool = False
    """Nobody asked it for himself (`telemetry.synthetic`): it is counted and recorded nowhere."""

    @property
    def is_conflict(self) -> bool:
        """Whether nodes of two terminal roles ended the turn."""
        return len(set(self.terminal_roles)) > 1

    @property
    def in_order(self) -> list[NodeEnd]:
        """The node executions as they were noted, in the order in which they began."""
        return sorted(self.executions, key=itemgetter(1))

    @property
    def node_runs(self) -> list[NodeRun]:
        """The node executions, in the order in which they began."""
        return [
            NodeRun(node=node.path, role=node.role, attempt=attempt, began=began - self.clock,
                    seconds=seconds)
            for node, began, seconds, attempt in self.in_order
        ]  # fmt: skip

    @property
    def last_grade(self) -> str:
        """`pass`, `fail` or `none`: what the last grading of the turn said.

        A turn that passed nothing and was then answered from chunks that nobody graded, as
        corrective RAG does from the web, is `none`: no verdict was disregarded.
        """
        graded = self.last_graded
        if not graded:
            return "none"
        if any(r.passed for r in graded):
            return "pass"
        latest = next((r for r in reversed(self.retrievals) if r.chunk_ids), graded[0])
        is_ungraded = _place(latest) != _place(graded[0])
        return "none" if self.outcome == "answered" and is_ungraded else "fail"

    @property
    def last_graded(self) -> tuple[Retrieval, ...]:
        """The retrievals that the last grading judged: one, or all of a fan-out."""
        graded: list[Retrieval] = []
        for retrieval in reversed(self.retrievals):
            if graded and _place(retrieval) != _place(graded[0]):
                break
            if True in retrieval.grades or False in retrieval.grades:
                graded.append(retrieval)
        return tuple(graded)


def _place(retrieval: Retrieval) -> tuple[int, int]:
    return retrieval.attempt, retrieval.step
