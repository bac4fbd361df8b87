"""Laws of the PromQL of every rule, read with a parser rather than by eye."""

from __future__ import annotations

import itertools
import re

import promql_parser as p
import pytest
from exported import COUNTERS, LABELS
from expressions import bare, every, labels_of, nodes, ranges, recorded, selectors
from langgraph.graph import END, START, StateGraph
from opentelemetry.trace import NoOpTracerProvider
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from dashboards.consistency import SCRAPES_PER_RANGE
from dashboards.settings import Settings, load_settings
from telemetry import names
from telemetry.instrumentation import instrument
from telemetry.probe_metrics import ProbeMetrics

SETTINGS = Settings()
EVERY = every(SETTINGS)
RECORDED = recorded(SETTINGS)
BORN_LATE = {
    f"{names.OPERATION_DURATION}_count": "the model is not known before its first call",
    names.LLM_CALLS: "the same",
    names.RECURSION_LIMIT_GAUGE: "the limit of the latest turn",
    names.RECURSION_STEPS_NEEDED: "only for a graph with a bounded loop",
}
"""Series that begin later. So the first failed call of a kind is missed by `increase`; its rule
asks for at least five."""


def _asked() -> list[tuple[str, p.VectorSelector]]:
    return [(place, selector) for place, expr in EVERY.items() for selector in selectors(expr)]


@pytest.fixture(scope="module")
def exposed_at_start() -> list[tuple[str, dict[str, str]]]:
    """What a service exposes before its first question, a graph with one node of each role, and
    its prober before the first round."""
    chain = StateGraph(dict)
    for role in names.ROLES:
        chain.add_node(role, lambda state: state)
    for before, after in itertools.pairwise([START, *names.ROLES, END]):
        chain.add_edge(before, after)
    registry = CollectorRegistry()
    instrument(
        chain.compile(), roles={role: role for role in names.ROLES}, name="g", version="1",
        registry=registry, max_rewrites=2, tracer_provider=NoOpTracerProvider(),
        build={"index": "i", "prompt": "p", "grader": "g", "model": "m"},
    )  # fmt: skip
    ProbeMetrics(registry, {"1": ("answered", ("answered", "error"))})
    return [
        (sample.name, sample.labels)
        for family in text_string_to_metric_families(generate_latest(registry).decode())
        for sample in family.samples
    ]


def test_metrics_and_labels_are_spelled_in_names() -> None:
    wrong = [
        (place, selector.prettify())
        for place, selector in _asked()
        if not {matcher.name for matcher in selector.matchers.matchers}
        <= (LABELS.get(selector.name) or RECORDED.get(selector.name) or set())
        or selector.name not in LABELS | RECORDED
    ]

    assert wrong == []


def test_counters_are_read_through_increase() -> None:
    functions = {
        node.func.name
        for expr in EVERY.values()
        for node in nodes(expr)
        if isinstance(node, p.Call)
    }

    assert {place: found for place, expr in EVERY.items() if (found := bare(expr, COUNTERS))} == {}
    assert functions == {
        "absent_over_time", "clamp_min", "increase", "last_over_time", "max_over_time", "sqrt",
        "sum_over_time", "vector",
    }  # fmt: skip


def test_no_replica_and_no_variable() -> None:
    assert [place for place, expr in EVERY.items() if "instance" in expr or "$" in expr] == []


@pytest.mark.parametrize(
    ("scale", "scrape_seconds"), [(1, 15), (1, 60), (1 / 60, 1), (1 / 60, 2), (1 / 120, 1)]
)
def test_ranges_hold_four_scrapes(scale: float, scrape_seconds: int) -> None:
    scaled = load_settings(time_scale=scale, scrape_interval=scrape_seconds)
    found = [seconds for expr in every(scaled).values() for seconds in ranges(expr)]

    assert len(found) > 100
    assert min(found) >= SCRAPES_PER_RANGE * scrape_seconds


@pytest.mark.parametrize("group_by", ["job", "job,cluster"])
def test_both_sides_of_an_operator_have_the_same_labels(group_by: str) -> None:
    grouped = load_settings(group_by=group_by)
    known = recorded(grouped)

    for expression in every(grouped).values():
        labels_of(p.parse(expression), grouped, known)


def test_counts_are_compared_with_halves() -> None:
    """`increase` extrapolates to fractions: 2.97 is three, so a whole limit above 0 is wrong."""
    comparisons = [
        node
        for expr in EVERY.values()
        for node in nodes(expr)
        if isinstance(node, p.BinaryExpr)
        and str(node.op) in {">", ">=", "==", "!=", "<", "<="}
        and isinstance(node.rhs, p.NumberLiteral)
        and _is_increase(node.lhs)
    ]
    wrong = [
        node.prettify()
        for node in comparisons
        if str(node.op) != ">" or (node.rhs.val != 0 and node.rhs.val % 1 != 0.5)
    ]

    assert len(comparisons) > 10
    assert wrong == []


def _is_increase(node: object) -> bool:
    """The node is itself a sum of increases, not a share of them."""
    if isinstance(node, p.AggregateExpr):
        return _is_increase(node.expr)
    return isinstance(node, p.Call) and node.func.name == "increase"


def test_what_is_asked_for_is_exposed_from_the_start(
    exposed_at_start: list[tuple[str, dict[str, str]]],
) -> None:
    """A counter that is born at 1 is invisible to `increase`: it must exist before, at 0."""
    missing = {
        selector.prettify()
        for _, selector in _asked()
        if selector.name not in RECORDED | BORN_LATE.keys()
        and not any(
            name == selector.name and _matches(selector, labels)
            for name, labels in exposed_at_start
        )
    }

    assert missing == set()


def _matches(selector: p.VectorSelector, labels: dict[str, str]) -> bool:
    def holds(matcher: p.Matcher) -> bool:
        value, op = labels.get(matcher.name, ""), str(matcher.op)
        is_equal = (
            re.fullmatch(matcher.value, value) is not None if "Re" in op else value == matcher.value
        )
        return is_equal is not op.startswith("MatchOp.Not")

    return all(map(holds, selector.matchers.matchers))


def test_the_walk_sees_a_mistake() -> None:
    """The oracle itself: two sides with other labels, and a counter read as it is."""
    wrong = p.parse("sum by (job) (rag_turns_total) and sum by (graph) (rag_turns_total)")

    with pytest.raises(ValueError, match="in sum by"):
        labels_of(wrong, SETTINGS, RECORDED)
    assert bare("rag_turns_total > 5", COUNTERS) == ["rag_turns_total"]


def test_histograms_are_asked_at_edges_that_exist() -> None:
    edges = {
        f"{names.TURN_DURATION}_bucket": names.TURN_DURATION_BUCKETS,
        f"{names.CHUNK_SCORE}_bucket": names.SCORE_BUCKETS,
        f"{names.REWRITE_SIMILARITY}_bucket": names.SIMILARITY_BUCKETS,
    }
    asked = {
        (selector.name, matcher.value)
        for _, selector in _asked()
        for matcher in selector.matchers.matchers
        if matcher.name == "le"
    }

    assert {name for name, _ in asked} == edges.keys()
    assert all(float(value) in edges[name][:-1] for name, value in asked)
    assert all(repr(float(value)) == value for _, value in asked), "written as the client does"
