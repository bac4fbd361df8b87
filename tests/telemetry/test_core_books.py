"""The law of accounting over random turns, and label sets that nothing a graph says can open."""

from __future__ import annotations

import asyncio
import gc
import importlib
import itertools
import random
import re
from collections import Counter
from dataclasses import replace
from typing import Any, TypedDict

import pytest
from graphs import QUESTION, SUPPORT_ROLES, Scripted, support_graph
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from agent.compose import ROLES as AGENT_ROLES
from agent.graph import build_graph
from telemetry import DEFAULT_READERS, Chunks, Grades, names, uninstrument
from telemetry.testing import Kit
from telemetry.turn import Retrieval, Turn

# -- the law --------------------------------------------------------------------------------------


class Broken(Exception):
    pass


def fails(name: str) -> Any:
    def inside(node: str) -> None:
        if node == name:
            raise Broken

    return inside


def paused(graph: Any) -> None:
    def ask(_: Any) -> dict[str, Any]:
        return {"reason": interrupt("?")}

    graph.add_node("ask", ask)
    graph.add_edge("handle_no_results", "ask")


def graphs() -> dict[str, Any]:
    """Return a graph for each end that a turn can have, by that end."""
    return {
        "answered": support_graph(grades=["yes"]),
        "no_results": support_graph(bound=1),
        "off_topic": support_graph(topic="IRRELEVANT"),
        "error": support_graph(inside=fails("assess_relevance")),
        "error in the first node": support_graph(inside=fails("enhance_query")),
        "error of a model": support_graph(grades=[Broken()]),
        "recursion_limit": support_graph(bound=99),
        "interrupted": support_graph(bound=0, build=paused, checkpointer=InMemorySaver()),
        "cancelled": support_graph(),
        "answered, async": support_graph(grades=["yes"], is_async=True),
        "error, async": support_graph(inside=fails("fetch_content"), is_async=True),
        "recursion_limit, async": support_graph(bound=99, is_async=True),
        "cancelled, async": support_graph(is_async=True),
    }


THREADS = itertools.count()


def ask(end: str, graph: Any, rng: random.Random) -> None:
    """Ask one question in a way that ends as it says, in a random way of calling."""
    config: dict[str, Any] = {"configurable": {"thread_id": f"t-{next(THREADS)}"}}
    if end.startswith("recursion"):
        config["recursion_limit"] = rng.randrange(8, 20)
    steps = rng.randrange(1, 6)
    try:
        if end == "cancelled":
            chunks = graph.stream(QUESTION, config)
            list(itertools.islice(chunks, steps))
            chunks.close()
        elif end.endswith("async"):
            asyncio.run(ask_async(graph, config, steps if end.startswith("cancel") else None))
        elif rng.random() < 0.5:
            graph.invoke(QUESTION, config)
        else:
            list(graph.stream(QUESTION, config, stream_mode=["updates", "messages"]))
    except Exception as error:
        assert end.startswith(("error", "recursion")), error


async def ask_async(graph: Any, config: Any, steps: int | None) -> None:
    if steps is None:
        await graph.ainvoke(QUESTION, config)
        return
    chunks = graph.astream(QUESTION, config)
    for _ in range(steps):
        await anext(chunks)
    await chunks.aclose()


@pytest.mark.parametrize("seed", [1, 2])
def test_every_question_is_counted_once_under_its_end_whatever_happens(seed: int) -> None:
    rng = random.Random(seed)
    kit = Kit(TraceIdRatioBased(0.5))
    watched = {
        end: kit.watch(graph, SUPPORT_ROLES, name=end.partition(",")[0].partition(" ")[0])
        for end, graph in graphs().items()
    }
    asked: Counter[str] = Counter()
    for _ in range(60):
        end = rng.choice(list(watched))
        ask(end, watched[end], rng)
        asked[re.split("[ ,]", end)[0]] += 1
    gc.collect()

    assert kit.outcomes() == dict(asked)
    assert kit.counted("rag_turns_total", "graph", "outcome") == {
        (e, e): n for e, n in asked.items()
    }
    for histogram in (
        "rag_turn_duration_seconds",
        "rag_rewrites_per_turn",
        "rag_llm_calls_per_turn",
    ):
        assert kit.value(f"{histogram}_count") == 60
    assert len(kit.turns) == 60
    assert kit.value("rag_recursion_errors_total") == asked["recursion_limit"]
    assert kit.value("rag_llm_calls_per_turn_sum") == kit.value("rag_llm_calls_total")
    assert kit.value("rag_rewrites_per_turn_sum") == sum(turn.rewrites for turn in kit.turns)
    assert kit.value("rag_retrievals_total") == sum(len(turn.retrievals) for turn in kit.turns)
    assert kit.value("rag_open_turns") == 0
    assert kit.value("rag_telemetry_errors_total") == 0
    roots = [s for s in kit.spans if s.name.startswith("invoke_workflow")]
    assert len(roots) == len(kit.trace_ids()) == sum(t.trace_id is not None for t in kit.turns)


def test_a_turn_that_is_resumed_is_counted_again_under_its_own_end() -> None:
    kit = Kit()
    graph = kit.watch(graphs()["interrupted"], SUPPORT_ROLES)
    config = {"configurable": {"thread_id": "t-1"}}
    graph.invoke(QUESTION, config)
    graph.invoke(Command(resume="yes"), config)

    assert kit.outcomes() == {"interrupted": 1, "answered": 1}
    assert kit.value("rag_turns_total") == 2


# -- from zero ------------------------------------------------------------------------------------

LABELS: dict[str, dict[str, set[str]]] = {
    "rag_topic_checks_total": {
        "classification": {"relevant", "irrelevant"}, "confidence": {"high", "medium", "low"},
    },
    "rag_retrievals_total": {
        "result": {"hit", "empty", "error"}, "attempt": {"0", "1", "2", "3_plus"},
    },
    "rag_grades_total": {"grade": {"pass", "fail"}, "attempt": {"0", "1", "2", "3_plus"}},
    "rag_rewrites_total": {
        "effect": {"new_chunks", "same_chunks", "same_chunks_and_scores", "nothing_matched"},
        "attempt": {"1", "2", "3_plus"},
    },
    "rag_rewrites_per_turn_count": {"outcome": {"answered", "no_results", "other"}},
    "rag_llm_calls_per_turn_count": {"outcome": {"answered", "no_results", "other"}},
    "rag_turn_duration_seconds_count": {"outcome": {"answered", "no_results", "other"}},
    "rag_rewrite_similarity_count": {"attempt": {"1", "2"}},  # the bound is 2
    "rag_judgement_failures_total": {
        "role": {"guard", "grade"},
        "reason": {
            "none", "unparsed", "ambiguous", "refused", "truncated", "timeout", "rate_limit",
            "error",
        },
    },
    "rag_answered_after_drift_total": {},
    "rag_recursion_errors_total": {},
    "rag_routes_total": {},
    "rag_node_errors_total": {"error_type": {"other"}},
    "rag_node_duration_seconds_count": {},
    "rag_llm_calls_total": {"role": {"enhance", "guard", "grade", "rewrite", "answer"}},
    "rag_telemetry_dropped_total": {"signal": {"spans", "events", "records"}},
}  # fmt: skip
"""Closed sets of the contract, spelled here once more."""
FORBIDDEN_ENDS = {("no_results", "yes", "pass"), ("answered", "yes", "fail")}
"""Ends that no sound graph reaches; they are alerts, so they start at 0 too."""


def samples(registry: CollectorRegistry, name: str) -> list[Any]:
    return [s for family in registry.collect() for s in family.samples if s.name == name]


def test_before_the_first_question_every_series_of_the_contract_is_there_at_zero() -> None:
    kit = Kit()
    graph = build_graph()
    kit.watch(graph, AGENT_ROLES, version="1", build={"model": "local"}, max_rewrites=2)

    for name, closed in LABELS.items():
        found = samples(kit.registry, name)
        assert {s.value for s in found} == {0}, name
        for label, values in closed.items():
            assert {s.labels[label] for s in found} == values, (name, label)
        combinations = 1
        for values in closed.values():
            combinations *= len(values)
        assert len(found) >= combinations
    turns = {tuple(s.labels[k] for k in ("outcome", "retrieved", "last_grade")): s.value
             for s in samples(kit.registry, "rag_turns_total")}  # fmt: skip
    assert {end for end, _, _ in turns} == {
        "answered", "no_results", "off_topic", "clarify", "gave_up", "recursion_limit", "error",
        "cancelled", "interrupted",
    }  # fmt: skip
    assert set(turns) >= FORBIDDEN_ENDS
    assert set(turns.values()) == {0}
    nodes = {s.labels["node"] for s in samples(kit.registry, "rag_node_duration_seconds_count")}
    assert nodes == set(AGENT_ROLES)
    routes = {(s.labels["router"], s.labels["route"])
              for s in samples(kit.registry, "rag_routes_total")}  # fmt: skip
    assert routes == {
        ("validate_topic", "fetch_content"), ("validate_topic", "handle_off_topic"),
        ("assess_relevance", "generate_response"), ("assess_relevance", "optimize_query"),
        ("assess_relevance", "handle_no_results"),
    }  # fmt: skip
    gauges = ("rag_recursion_steps_needed", "rag_rewrite_budget", "rag_build_info")
    assert [kit.value(gauge) for gauge in gauges] == [11, 2, 1]


def test_what_a_turn_ends_in_is_a_series_that_was_there_before() -> None:
    kit = Kit()
    watched = {end: kit.watch(g, SUPPORT_ROLES, name="one") for end, g in graphs().items()}
    before = {tuple(sorted(s.labels.items())) for s in samples(kit.registry, "rag_turns_total")}
    rng = random.Random(7)
    for end, graph in watched.items():
        for _ in range(3):
            ask(end, graph, rng)
    after = {tuple(sorted(s.labels.items())) for s in samples(kit.registry, "rag_turns_total")}

    assert after == before


def test_the_first_failed_model_call_is_an_increase_from_zero() -> None:
    kit = Kit()
    graph = kit.watch(support_graph(grades=["yes", Broken(), "yes"]), SUPPORT_ROLES)
    failed = {"error_type": "_OTHER", "gen_ai_request_model": "scripted-1"}
    with pytest.raises(Broken):
        graph.invoke(QUESTION)
    assert kit.value("gen_ai_client_operation_duration_seconds_count", **failed) == 1
    other = Kit()
    other.watch(support_graph(grades=["yes"]), SUPPORT_ROLES).invoke(QUESTION)
    series = samples(other.registry, "gen_ai_client_operation_duration_seconds_count")

    assert {s.labels["error_type"]: s.value for s in series} == {"": 4, "_OTHER": 0}


# -- closed sets ----------------------------------------------------------------------------------


def test_the_eight_node_agent_stays_below_400_series_whatever_happens() -> None:
    kit = Kit()
    rng = random.Random(3)
    options: dict[str, Any] = {
        "name": "agent", "version": "1", "similarity": lambda _, __: 0.3, "max_rewrites": 2,
    }  # fmt: skip
    for end, graph in graphs().items():
        if end == "interrupted":  # has a ninth node
            continue
        watched = kit.watch(graph, SUPPORT_ROLES, build={"model": "scripted-1"}, **options)
        ask(end, watched, rng)

    assert kit.value("rag_turns_total") == 12
    assert 300 < len(kit.series()) <= 400


class Loose(TypedDict, total=False):
    question: str
    reason: Any
    outcome: Any
    topic: Any
    judgement_failures: Any
    documents: Any


HOSTILE_WORDS = ["Off_Topic ", "None", "", None, "ünï", "a" * 5_000, "\ud83d", 7, float("nan"), []]


def test_ten_thousand_random_words_make_no_series() -> None:
    rng = random.Random(5)
    kit = Kit()

    def work(_: Loose) -> Loose:
        named = Scripted(model_name=f"model {rng.random()}")
        named.invoke("q")
        word = rng.choice([*HOSTILE_WORDS, f"word {rng.random()}"])
        return {
            "reason": word, "outcome": word,
            "topic": {"classification": word, "confidence": word},
            "judgement_failures": [{"role": word, "reason": word}],
        }  # fmt: skip

    graph = StateGraph(Loose)
    graph.add_node("work", work)
    graph.add_edge(START, "work")
    watched = kit.watch(graph.compile(name="one"), {"work": "guard"})

    def ask_many(count: int) -> int:
        for n in range(count):
            watched.invoke({"question": "q"}, {"configurable": {"thread_id": f"{rng.random()}"}})
            count_turn(n)
        return len(kit.series())

    def count_turn(n: int) -> None:
        """Count turns as a graph could not make them all, in the time of a test."""
        for _ in range(50):
            word: Any = f"word {rng.random()}"
            metrics = watched.loopscope_probe.turn_metrics
            metrics.opened()
            metrics.closed(
                Turn(
                    graph="one", version="unknown", outcome=rng.choice(names.OUTCOMES),
                    reason=word, classification=word, confidence=word,
                    conversation_id=word, error_type=word, last_node=word,
                    judgement_failures=((word, word),),
                    retrievals=(Retrieval(attempt=n, chunk_ids=(word,), scores=(0.5,)),),
                )
            )  # fmt: skip

    few = ask_many(20)
    assert ask_many(180) <= few + 8 * 3  # ends that no graph reaches, each made when it comes
    settled = len(kit.series())
    ask_many(20)

    assert len(kit.series()) == settled
    assert "word" not in kit.scrape()
    assert '"None"' not in kit.scrape()
    assert {s.labels["outcome"] for s in samples(kit.registry, "rag_turns_total")} == set(
        names.OUTCOMES
    )
    assert kit.value("rag_turns_total") == 220 * 51


RELOADED = ("families", "turn_metrics", "run_metrics", "instrumented", "instrumentation")

# -- registries -----------------------------------------------------------------------------------


def test_a_reload_and_a_second_graph_share_the_metrics_of_their_registry() -> None:
    kit = Kit()
    kit.watch(support_graph(bound=0), SUPPORT_ROLES, name="one").invoke(QUESTION)
    modules = [importlib.import_module(f"telemetry.{name}") for name in RELOADED]
    before = [dict(vars(module)) for module in modules]
    try:
        for module in modules:
            importlib.reload(module)
        modules[-1].instrument(
            support_graph(bound=0), roles=SUPPORT_ROLES, name="two", registry=kit.registry
        ).invoke(QUESTION)
    finally:
        for module, values in zip(modules, before, strict=True):
            vars(module).update(values)
    fresh = Kit()
    fresh.watch(support_graph(bound=0), SUPPORT_ROLES, name="one")

    assert kit.counted("rag_turns_total", "graph") == {("one",): 1, ("two",): 1}
    assert fresh.value("rag_turns_total") == 0


def test_instrumented_twice_with_its_subgraph_and_beside_itself_is_one_turn_a_run() -> None:
    kit = Kit()
    inner = support_graph(bound=0)
    watched_inner = kit.watch(inner, SUPPORT_ROLES, name="inner")
    outer = StateGraph(dict)
    outer.add_node("agent", watched_inner)
    outer.add_edge(START, "agent")
    compiled = outer.compile(name="outer")
    watched = kit.watch(compiled)
    assert kit.watch(watched) is watched
    watched.invoke(QUESTION)

    assert kit.counted("rag_turns_total", "graph", "outcome") == {("outer", "no_results"): 1}
    assert len(kit.named("node agent")) == 1
    assert len(kit.named("node fetch_content")) == 1
    assert kit.value("rag_llm_calls_total") == 3
    assert kit.value("gen_ai_client_token_usage_count") == 6
    spans = len(kit.spans)
    uninstrument(watched).invoke(QUESTION)  # the inner one is an instrumented graph still
    assert kit.counted("rag_turns_total", "graph") == {("outer",): 1, ("inner",): 1}
    uninstrument(watched_inner).invoke(QUESTION)
    inner.invoke(QUESTION)

    assert uninstrument(watched) is compiled
    assert kit.value("rag_turns_total") == 2
    assert len(kit.spans) == 2 * spans - 1


def test_names_beside_a_hosts_own_metrics_keep_apart() -> None:
    kit = Kit()
    kit.watch(support_graph(bound=0), SUPPORT_ROLES).invoke(QUESTION)
    text = generate_openmetrics(kit.registry).decode()
    parsed = list(text_string_to_metric_families(text))
    lines = generate_latest(kit.registry).decode()

    assert len({family.name for family in parsed}) == len(parsed) > 20
    assert "_created" not in lines
    assert text.endswith("# EOF\n")


def test_exemplars_link_to_spans_that_are_there_and_only_to_them() -> None:
    kit = Kit(TraceIdRatioBased(0.5))
    graph = kit.watch(support_graph(bound=1), SUPPORT_ROLES)
    linked = set()
    for _ in range(24):
        graph.invoke(QUESTION)
        text = generate_openmetrics(kit.registry).decode()
        linked |= set(re.findall(r'trace_id="([0-9a-f]{32})"', text))
        assert "trace_id" not in generate_latest(kit.registry).decode()
    made = {f"{trace_id:032x}" for trace_id in kit.trace_ids()}

    assert 0 < len(made) < 24
    assert linked == made
    roots = {f"{s.context.span_id:016x}" for s in kit.named("invoke_workflow support")}
    assert set(re.findall(r'span_id="([0-9a-f]{16})"', text)) <= roots


# -- readings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("finds", "expected"),
    [
        pytest.param(
            [[("a", 0.5)], [("a", 0.5 + 1e-10)], [("a", 0.5 + 1e-6)]],
            {("same_chunks_and_scores", "1"): 1, ("same_chunks", "2"): 1},
            id="a swap within the tolerance, then other scores",
        ),
        pytest.param(
            [[], [("a", 0.0)], [("b", 0.0)]],
            {("nothing_matched", "1"): 1, ("nothing_matched", "2"): 1},
            id="nothing, then only scores of 0",
        ),
        pytest.param(
            [[("a", 0.5), ("b", 0.4)], [("b", 0.5), ("a", 0.4)], [("c", 0.5)]],
            {("new_chunks", "1"): 1, ("new_chunks", "2"): 1},
            id="another order is new chunks",
        ),
    ],
)
def test_what_a_rewrite_did_is_counted_by_the_retrieval_that_follows(
    finds: Any, expected: dict[tuple[str, str], int]
) -> None:
    kit = Kit()
    kit.watch(support_graph(finds=finds), SUPPORT_ROLES).invoke(QUESTION)
    swaps = sum(n for (effect, _), n in expected.items() if effect == "same_chunks_and_scores")

    assert kit.counted("rag_rewrites_total", "effect", "attempt") == expected
    assert kit.span("invoke_workflow support").attributes["rag.synonym_swaps"] == swaps
    assert kit.counted("rag_retrievals_total", "attempt") == {("0",): 1, ("1",): 1, ("2",): 1}


@pytest.mark.parametrize(
    ("streamed", "expected"),
    [
        pytest.param([(10, 5), (10, 8), (10, 10)], (10, 10), id="totals so far"),
        pytest.param([(10, 0), (0, 5), (0, 3)], (10, 8), id="what is new in each"),
        pytest.param([None, None, (10, 5)], (10, 5), id="all in the last"),
        pytest.param([(5, 0), (8, 0), (10, 5)], (10, 5), id="totals of both"),
        pytest.param([None, None], None, id="nothing, which is not 0"),
    ],
)
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_tokens_of_a_stream_are_counted_once_however_they_are_reported(
    streamed: Any, expected: tuple[int, int] | None, is_async: bool
) -> None:
    model = Scripted(replies=["one two three"], streamed=streamed, usage=None)

    def talk(_: Any) -> dict[str, Any]:
        return {"reply": "".join(chunk.text for chunk in model.stream("q"))}

    async def atalk(_: Any) -> dict[str, Any]:
        return {"reply": "".join([chunk.text async for chunk in model.astream("q")])}

    kit = Kit()
    graph = StateGraph(dict)
    graph.add_node("talk", atalk if is_async else talk)
    graph.add_edge(START, "talk")
    watched = kit.watch(graph.compile(name="one"), {"talk": "answer"})
    result = await watched.ainvoke({}) if is_async else watched.invoke({})

    assert result["reply"] == "one two three"
    assert kit.turn.llm_calls == 1
    span = kit.span("chat scripted-1")
    assert span.attributes["gen_ai.request.stream"] is True
    usage = {k: v for k, v in span.attributes.items() if k.startswith("gen_ai.usage")}
    sums = [
        kit.value("gen_ai_client_token_usage_sum", gen_ai_token_type=kind)
        for kind in ("input", "output")
    ]
    if expected is None:
        assert (usage, sums, kit.turn.input_tokens) == ({}, [0, 0], None)
        assert not samples(kit.registry, "gen_ai_client_token_usage_count")
        return
    assert usage == dict(
        zip(("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"), expected, strict=True)
    )
    assert tuple(sums) == (kit.turn.input_tokens, kit.turn.output_tokens) == expected


def test_drift_is_counted_for_the_turn_that_was_answered_after_it() -> None:
    kit = Kit()
    grades = ["no", "no", "no", "no", "yes"]
    near = {"first words": 0.9, "second words": 0.2}
    watched = kit.watch(
        support_graph(grades=grades), SUPPORT_ROLES, similarity=lambda _, query: near[query]
    )
    watched.invoke(QUESTION)

    assert kit.outcomes() == {"answered": 1}
    assert kit.value("rag_answered_after_drift_total") == 1
    assert kit.counted("rag_rewrite_similarity_sum", "attempt") == {("1",): 0.9, ("2",): 0.2}
    assert kit.span("invoke_workflow support").attributes["rag.drifted"] is True
    assert [f.detector for f in kit.records.findings[-1]] == ["synonym_swap", "rewrite_drift"]


def test_a_reader_of_the_hosts_own_may_give_numpy_values() -> None:
    numpy = pytest.importorskip("numpy")
    readers = replace(
        DEFAULT_READERS,
        chunks=lambda update, _: Chunks(
            numpy.array(["a", "b"]), numpy.array([0.5, numpy.nan], dtype=numpy.float32)
        ),
        grades=lambda _, __, ids: Grades({id_: numpy.bool_(id_ == "a") for id_ in ids}),
    )
    kit = Kit()
    graph = support_graph(bound=1, grades=["yes"])
    kit.watch(graph, SUPPORT_ROLES, readers=readers).invoke(QUESTION)

    assert kit.span("node fetch_content").attributes["rag.chunk.ids"] == ("a", "b")
    assert kit.span("node assess_relevance").attributes["rag.grades"] == ("pass", "fail")
    assert kit.turn.retrievals[0].scores == (0.5, None)
    assert kit.turn.retrievals[0].grades == (True, False)
    assert {type(grade) for grade in kit.turn.retrievals[0].grades} == {bool}
    assert kit.counted("rag_grades_total", "grade") == {("pass",): 1, ("fail",): 1}
    assert "nan" not in kit.scrape().lower()
