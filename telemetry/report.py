"""What a turn leaves to be counted once it has ended: itself, its node executions, its calls."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.trace import INVALID_SPAN, Span

from telemetry import names
from telemetry.roles import ROUTER
from telemetry.turn import Turn
from telemetry.turn_metrics import Exemplar
from telemetry.usage import StreamedUsage, Usage

if TYPE_CHECKING:
    from telemetry.execution import Execution, Node
    from telemetry.probe import Probe
    from telemetry.running import RunningTurn


UNKNOWN: Final = "unknown"
"""A model or provider that says no name."""


class Call:
    """A model call under way, then one that has ended and is not counted yet.

    LangGraph's metadata tells the node that makes it, also in a thread of the user's own; a call
    between nodes is a router's. The model is named as LangChain names it.

    Args:
        turn: The turn it belongs to.
        operation: `chat` or `text_completion`.
        event: What LangChain tells when a call begins.
    """

    span: Span = INVALID_SPAN
    first_chunk: float | None = None
    """Seconds until the first chunk of a stream."""
    streamed: StreamedUsage | None = None
    usage: Usage | None = None
    is_error = False
    seconds = 0.0

    def __init__(self, turn: RunningTurn, operation: str, event: Mapping[str, Any]) -> None:
        metadata: Mapping[str, Any] = event.get("metadata") or _NOTHING
        self.operation = operation
        self.provider = str(metadata.get("ls_provider") or UNKNOWN)
        self.model = str(metadata.get("ls_model_name") or _model_of(event) or self.provider)
        execution = turn.executions.get(metadata.get("langgraph_checkpoint_ns", ""))
        self.execution: Execution | None = execution
        """Of the node that makes the call, while it is under way."""
        if execution is not None:
            self.probe, self.role = execution.node.probe, execution.node.role
        else:
            node = _path(metadata)
            self.probe = turn.probe
            self.role = turn.probe.roles.get(f"{node}{ROUTER}") or turn.probe.role(node)
        self.started = time.perf_counter()

    def ended(self) -> None:
        """Note when the call ended, and let go of its node."""
        self.seconds = time.perf_counter() - self.started
        self.execution = None

    def got(self, chunk: Any) -> None:
        """Take a chunk of the stream."""
        if self.streamed is None:
            self.streamed = StreamedUsage()
            self.first_chunk = time.perf_counter() - self.started
        self.streamed.add(chunk)

    def count(self, *, only_tokens: bool = False) -> None:
        """Count the time and the tokens of the call."""
        metrics = self.probe.run_metrics.call(self.operation, self.provider, self.model)
        if not only_tokens:
            metrics.observe(self.seconds, is_error=self.is_error)
        if self.usage is not None:
            metrics.tokens(names.INPUT, self.usage.input_tokens or 0)
            metrics.tokens(names.OUTPUT, self.usage.output_tokens or 0)


_NOTHING: Final[Mapping[str, Any]] = {}


def _path(metadata: Mapping[str, Any]) -> str:
    """Return the path of the node that LangGraph's metadata names: `outer:1|inner:2` has both."""
    namespace = metadata.get("langgraph_checkpoint_ns")
    if not namespace or "|" not in namespace:
        return str(metadata.get("langgraph_node", ""))
    return "/".join([task.partition(":")[0] for task in namespace.split("|")])


def _model_of(event: Mapping[str, Any]) -> Any:
    """Return the name of a model that tells it only among the parameters of the call."""
    params = event.get("invocation_params") or _NOTHING
    return params.get("model") or params.get("model_name") or params.get("_type")


class TurnReport:
    """One finished turn, ready to be counted.

    Args:
        probe: The instrumented graph that owned the turn.
        turn: The turn.
        drifted: Its rewrites had drifted.
        exemplar: Link to its trace.
        times: Each node execution, when it began, its seconds and attempt.
        calls: Its model calls.
    """

    __slots__ = ("_calls", "_drifted", "_exemplar", "_probe", "_times", "_turn")

    def __init__(
        self,
        probe: Probe,
        turn: Turn,
        *,
        drifted: bool,
        exemplar: Exemplar,
        times: Sequence[tuple[Node, float, float, int]],
        calls: Sequence[Call],
    ) -> None:
        self._probe = probe
        self._turn = turn
        self._drifted = drifted
        self._exemplar = exemplar
        self._times = times
        self._calls = calls

    def __call__(self) -> None:
        """Count the turn, then what happened in it. Never raises."""
        if self._turn.is_synthetic:
            self._probe.turn_metrics.closed_apart()
            return
        try:
            self._probe.turn_metrics.closed(
                self._turn, drifted=self._drifted, exemplar=self._exemplar
            )
        except Exception as error:  # noqa: BLE001 - the rest of the books goes on
            self._probe.failed("run", error)
        try:
            self._count_nodes()
            self._count_calls()
        except Exception as error:  # noqa: BLE001
            self._probe.failed("run", error)

    def _count_nodes(self) -> None:
        for node, _, seconds, _ in self._times:
            node.probe.run_metrics.node(node.path, seconds)

    def _count_calls(self) -> None:
        for call in self._calls:
            call.count()
        made = Counter([(call.probe, call.role, call.model) for call in self._calls])
        for (probe, role, model), count in made.items():
            probe.run_metrics.llm_calls(role, model, count)


class LateCall:
    """A model call that ended after its turn, ready to be counted.

    Args:
        call: The call.
        was_counted: It was under way when the turn ended, and counted with it: only the tokens
            that it reported since are missing.
    """

    __slots__ = ("_call", "_was_counted")

    def __init__(self, call: Call, *, was_counted: bool) -> None:
        self._call = call
        self._was_counted = was_counted
        if not was_counted:
            call.ended()

    def __call__(self) -> None:
        """Count the call, or its tokens. Never raises."""
        call = self._call
        try:
            call.count(only_tokens=self._was_counted)
            if not self._was_counted:
                call.probe.run_metrics.llm_calls(call.role, call.model, 1)
        except Exception as error:  # noqa: BLE001 - the rest of the books goes on
            call.probe.failed("model", error)
