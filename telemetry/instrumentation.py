"""One call that makes a compiled graph observable, and one that gives the original back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from typing import Final, TypeVar, cast

from langgraph.pregel import Pregel
from opentelemetry import trace
from opentelemetry._logs import LoggerProvider
from opentelemetry.trace import TracerProvider
from prometheus_client import REGISTRY, CollectorRegistry

from telemetry import names, peers
from telemetry.caching import WatchedCache
from telemetry.checks import DETECTORS
from telemetry.content import ContentGate, Redact
from telemetry.errors import NotAGraphError
from telemetry.events import EventLog
from telemetry.facts import Readers
from telemetry.families import metric_set
from telemetry.instrumented import TurnOwner, owner_class
from telemetry.probe import Detector, Keeps, Probe, Records, Similarity
from telemetry.readers import DEFAULT_READERS
from telemetry.roles import check_roles
from telemetry.run_metrics import RunMetrics
from telemetry.topology import Graph, node_paths, routes, steps_needed
from telemetry.turn_metrics import TurnMetrics
from telemetry.turn_tracer import TurnTracer
from telemetry.wrapping import watched_nodes

logger = logging.getLogger(__name__)

GraphT = TypeVar("GraphT", bound=Graph)

UNKNOWN: Final = "unknown"


def instrument(
    graph: GraphT,
    *,
    roles: Mapping[str, str | None],
    name: str | None = None,
    version: str | None = None,
    readers: Readers | None = None,
    registry: CollectorRegistry | None = None,
    tracer_provider: TracerProvider | None = None,
    records: Records | None = None,
    similarity: Similarity | None = None,
    logger_provider: LoggerProvider | None = None,
    redact: Redact | None = None,
    build: Mapping[str, str] | None = None,
    max_rewrites: int | None = None,
    detectors: Sequence[Detector] = DETECTORS,
    call_spans: bool | None = None,
    keeps: Keeps | None = None,
) -> GraphT:
    """Return a graph to use in place of the given one, which stays as it is.

    Every run of it is one turn: one trace, one row of accounting, one verdict on each known
    failure. It answers, streams, draws, pauses and resumes like the original. A second call on
    its result returns that result.

    Args:
        graph: A compiled graph.
        roles: Node -> role (`telemetry.names.ROLES`); `outer/inner` names a node of a subgraph,
            `node:router` the conditional edge that leaves a node. Nodes left out have none.
        name: Value of the label `graph`; else the graph's own name.
        version: Value of the label `version` and of `gen_ai.agent.version`.
        readers: How facts are read from what nodes return; else those for LangChain's documents
            and messages and for this project's state.
        registry: Where the metrics are registered; else the client's global registry.
        tracer_provider: Where spans go; else the global one, which is never set here.
        records: Takes each finished turn; must not block.
        similarity: Likeness, 0 to 1, of (standalone question, rewritten query); None measures no
            drift.
        logger_provider: Where events go; else the global one, else they are put on spans.
        redact: Cleans a text before it leaves, where content capture is on.
        build: Values of `index`, `prompt`, `grader` and `model` for `rag_build_info` and the
            turn records.
        max_rewrites: The rewrite budget, where the graph's state does not tell it.
        detectors: Checks of a finished turn.
        call_spans: Make spans for model calls; None makes them unless a known instrumentor of
            LangChain is at work in the process.
        keeps: Tells whether a sampled trace will be kept, where a tail sampler decides that: an
            exemplar must not lead to a trace that is thrown away. Else the tracer provider's own
            method of that name, which the one of `telemetry.export` has.

    Raises:
        NotAGraphError: `graph` is not a compiled graph.
        UnknownNodeError: A key of `roles` is not in the graph.
        UnknownRoleError: A value of `roles` is no role.
        ValueError: The registry already has a metric of one of the names.
    """
    if not isinstance(graph, Pregel):
        raise NotAGraphError(graph, "Call `.compile()` on the builder first.")
    if isinstance(graph, TurnOwner):
        return graph
    checked = check_roles(graph, roles)
    label = name or graph.get_name()
    families = metric_set(registry if registry is not None else REGISTRY)
    built = {key: (build or {}).get(key, UNKNOWN) for key in _BUILD_KEYS}
    paths = {path: checked.get(path, names.NONE) for path in node_paths(graph)}
    rewriters = [path for path, role in paths.items() if role == names.REWRITE]
    probe = Probe(
        graph=label,
        version=version or UNKNOWN,
        tracer=TurnTracer(partial(trace.get_tracer, names.SCOPE, _own_version(), tracer_provider)),
        events=EventLog(logger_provider),
        gate=ContentGate.from_environment(redact),
        readers=readers or DEFAULT_READERS,
        roles=checked,
        metric_set=families,
        turn_metrics=TurnMetrics(
            families,
            graph=label,
            version=version or UNKNOWN,
            roles=set(checked.values()),
            max_rewrites=max_rewrites,
        ),
        run_metrics=RunMetrics(
            families,
            graph=label,
            nodes=paths,
            routes=routes(graph),
            models=[built["model"]] if built["model"] != UNKNOWN else [],
        ),
        detectors=detectors,
        similarity=similarity,
        records=records,
        keeps=keeps or getattr(tracer_provider or trace.get_tracer_provider(), "keeps", None),
        makes_call_spans=_who_makes_call_spans(call_spans),
        steps_needed=lambda budget: steps_needed(graph, rewriters, budget),
        build={key: value for key, value in built.items() if value != UNKNOWN},
        budget=max_rewrites,
    )
    probe.turn_metrics.build_info(built)
    if max_rewrites is not None:
        probe.bound(max_rewrites)
    _hint_at_missing_provider(tracer_provider)
    return cast(GraphT, _own_turns(graph, probe))


def uninstrument(graph: GraphT) -> GraphT:
    """Return the graph that was instrumented, or the graph itself when it was not."""
    return cast(GraphT, graph.loopscope_original) if isinstance(graph, TurnOwner) else graph


_BUILD_KEYS: Final = (names.LABEL_INDEX, names.LABEL_PROMPT, names.LABEL_GRADER, names.LABEL_MODEL)


def _own_turns(graph: Graph, probe: Probe) -> TurnOwner:
    """Copy the graph into the class that owns turns; LangGraph's own copy would lose mappers."""
    owner: TurnOwner = object.__new__(owner_class(type(graph)))
    owner.__dict__.update(graph.__dict__)
    owner.nodes = watched_nodes(graph, probe)
    if graph.cache is not None:
        owner.cache = WatchedCache(graph.cache, probe)
    owner.loopscope_probe = probe
    owner.loopscope_original = graph
    return owner


def _who_makes_call_spans(wanted: bool | None) -> Callable[[], bool]:
    if wanted is None:
        return lambda: not peers.makes_call_spans()
    return lambda: wanted


def _own_version() -> str | None:
    try:
        return installed_version("loopscope")
    except PackageNotFoundError:  # run from a checkout
        return None


def _hint_at_missing_provider(given: TracerProvider | None) -> None:
    if given is None and isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        logger.info(
            "no tracer provider is set: metrics are kept, spans go nowhere until one is set."
        )
