"""However a turn ends, it is counted once, under the right outcome; only errors look like one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Literal, TypedDict

import pytest
from graphs import Scripted
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError, NodeCancelledError
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, StreamWriter, interrupt
from loop_graphs import LOOP_ROLES, line_graph, loop_graph
from opentelemetry.trace import StatusCode

from telemetry.checks import check_all
from telemetry.content import digest
from telemetry.testing import Kit

QUESTION = {"question": "where is it?"}


def errors(kit: Kit) -> list[str]:
    return [span.name for span in kit.spans if span.status.status_code is StatusCode.ERROR]


# -- the recursion limit ------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [0, 1, 2, 3])
def test_a_bounded_loop_ends_by_itself_just_above_its_longest_path(bound: int) -> None:
    kit = Kit()
    graph = kit.watch(loop_graph(bound=bound), LOOP_ROLES, max_rewrites=bound)
    needed = 3 * bound + 4  # begin, search, judge, give_up and 3 a rewrite
    graph.invoke(QUESTION, {"recursion_limit": needed + 1})
    with pytest.raises(GraphRecursionError):
        graph.invoke(QUESTION, {"recursion_limit": needed})

    assert kit.value("rag_recursion_steps_needed") == needed
    assert kit.value("rag_rewrite_budget") == bound
    assert kit.outcomes() == {"no_results": 1, "recursion_limit": 1}
    assert [(t.rewrites, len(t.retrievals)) for t in kit.turns] == [(bound, bound + 1)] * 2


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        pytest.param(2, ["runaway_loop"], id="more rewrites than the host allows"),
        pytest.param(3, [], id="as many as the host allows"),
        pytest.param(None, [], id="no bound is known"),
    ],
)
def test_a_loop_is_held_against_the_bound_that_the_host_told(
    told: int | None, expected: list[str]
) -> None:
    kit = Kit()
    graph = kit.watch(loop_graph(bound=3), LOOP_ROLES, max_rewrites=told)
    graph.invoke(QUESTION)

    assert [finding.detector for finding in kit.records.findings[-1]] == expected
    assert kit.span("invoke_workflow loop").attributes.get("rag.max_rewrites") == told
    assert kit.turn.max_rewrites == told


def test_an_unbounded_loop_is_counted_and_its_error_is_the_same() -> None:
    kit = Kit()
    graph = loop_graph(is_bounded=False)
    with pytest.raises(GraphRecursionError) as bare:
        graph.invoke(QUESTION, {"recursion_limit": 10})
    with pytest.raises(GraphRecursionError) as watched:
        kit.watch(graph, LOOP_ROLES).invoke(QUESTION, {"recursion_limit": 10})

    assert str(watched.value) == str(bare.value)
    assert kit.outcomes() == {"recursion_limit": 1}
    assert kit.value("rag_recursion_errors_total") == 1
    assert errors(kit) == ["invoke_workflow loop"]
    root = kit.span("invoke_workflow loop").attributes
    assert root["error.type"] == "GraphRecursionError"
    assert (root["rag.rewrites"], root["rag.retrievals"]) == (3, 3)
    assert (root["rag.recursion_limit"], root["rag.last_node"]) == (10, "rephrase")


def test_the_limit_of_the_call_beats_the_one_baked_in() -> None:
    kit = Kit()
    graph = kit.watch(loop_graph(bound=0), LOOP_ROLES).with_config(recursion_limit=7)
    graph.invoke(QUESTION, {"recursion_limit": 10})
    assert kit.turn.recursion_limit == 10
    assert kit.value("rag_recursion_limit") == 10
    graph.invoke(QUESTION)

    assert kit.turn.recursion_limit == 7
    assert kit.value("rag_recursion_limit") == 7


def test_of_two_graphs_of_one_name_the_limits_shown_are_those_of_the_latest_turn() -> None:
    kit = Kit()
    small = kit.watch(loop_graph(bound=1), LOOP_ROLES, max_rewrites=1)
    large = kit.watch(loop_graph(bound=3), LOOP_ROLES, max_rewrites=3)

    def shown() -> tuple[float, ...]:
        names = ("rag_recursion_limit", "rag_rewrite_budget", "rag_recursion_steps_needed")
        return tuple(kit.value(name) for name in names)

    for graph, limit, expected in (
        (small, 10, (10, 1, 7)),
        (large, 20, (20, 3, 13)),
        (small, 10, (10, 1, 7)),
        (large, 20, (20, 3, 13)),
    ):
        graph.invoke(QUESTION, {"recursion_limit": limit})
        assert shown() == expected


def test_langgraphs_default_limit_is_told_when_nobody_sets_one() -> None:
    kit = Kit()
    kit.watch(loop_graph(bound=0), LOOP_ROLES).invoke(QUESTION)

    assert kit.turn.recursion_limit == 10_007


def test_a_recursion_error_of_an_inner_graph_is_one_too() -> None:
    kit = Kit()
    inner = loop_graph(is_bounded=False).with_config(recursion_limit=8)

    def agent(state: dict[str, Any]) -> Any:
        return inner.invoke(state)

    with pytest.raises(GraphRecursionError):
        kit.watch(line_graph(agent)).invoke(QUESTION)

    assert kit.outcomes() == {"recursion_limit": 1}
    assert errors(kit) == ["invoke_workflow line", "node agent"]
    assert kit.value("rag_node_errors_total", error_type="GraphRecursionError") == 1


# -- errors -------------------------------------------------------------------------------------


class GraphInterrupt(Exception):
    """A user's own class that only has the name of LangGraph's."""


class CodedError(Exception):
    code = "no_credit"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        pytest.param(ValueError("secret"), "ValueError", id="a class gives its name"),
        pytest.param(CodedError(), "no_credit", id="a class with a code gives its code"),
        pytest.param(GraphInterrupt(), "GraphInterrupt", id="a name of LangGraph's hides nothing"),
        pytest.param(TimeoutError(), "TimeoutError", id="a timeout of the node's own"),
    ],
)
def test_a_node_that_raises_is_an_error_turn(error: Exception, kind: str) -> None:
    kit = Kit()

    def start(_: dict[str, Any]) -> dict[str, Any]:
        return {}

    def fail(_: dict[str, Any]) -> dict[str, Any]:
        raise error

    with pytest.raises(type(error)) as caught:
        kit.watch(line_graph(start, fail)).invoke({})

    assert caught.value is error
    assert kit.outcomes() == {"error": 1}
    assert errors(kit) == ["invoke_workflow line", "node fail"]
    assert kit.span("node fail").attributes["error.type"] == kind
    assert kit.counted("rag_node_errors_total", "node", "error_type") == {("fail", kind): 1}
    for span in (kit.span("node fail"), kit.span("invoke_workflow line")):
        assert span.status.description is None
        assert [dict(event.attributes) for event in span.events] == [
            {"exception.type": type(error).__name__}
        ]


def test_a_retrieval_that_raises_is_a_failed_retrieval() -> None:
    kit = Kit()

    def search(_: Any) -> Any:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        kit.watch(loop_graph(search=search), LOOP_ROLES).invoke(QUESTION)

    assert kit.counted("rag_retrievals_total", "result", "attempt") == {("error", "0"): 1}
    assert kit.counted("rag_turns_total", "outcome", "retrieved", "last_grade") == {
        ("error", "yes", "none"): 1
    }


def test_a_router_that_names_an_unknown_node_is_an_error_turn() -> None:
    kit = Kit()
    graph = StateGraph(dict)
    graph.add_node("start", lambda _: {})
    graph.add_node("end", lambda _: {})
    graph.add_edge(START, "start")
    graph.add_conditional_edges("start", lambda _: "nowhere", {"somewhere": "end"})
    with pytest.raises(KeyError):
        kit.watch(graph.compile(name="lost")).invoke({})

    assert kit.outcomes() == {"error": 1}
    assert errors(kit) == ["invoke_workflow lost"]


@pytest.mark.parametrize(
    ("given", "config"),
    [
        pytest.param(None, {}, id="no input"),
        pytest.param({}, {"recursion_limit": 0}, id="a limit that makes no sense"),
        pytest.param({}, {"callbacks": 7}, id="callbacks that are none"),
    ],
)
def test_a_call_that_fails_before_the_first_node_is_counted(given: Any, config: Any) -> None:
    kit = Kit()
    graph = loop_graph()
    with pytest.raises(Exception) as bare:
        graph.invoke(given, config)
    with pytest.raises(Exception) as watched:
        kit.watch(graph, LOOP_ROLES).invoke(given, config)

    assert type(watched.value) is type(bare.value)
    assert kit.outcomes() == {"error": 1}


async def test_when_a_sibling_fails_the_stopped_node_is_no_error() -> None:
    kit = Kit()

    async def slow(_: dict[str, Any]) -> None:
        await asyncio.sleep(10)

    async def broken(_: dict[str, Any]) -> None:
        raise CodedError

    graph = StateGraph(dict)
    graph.add_node("slow", slow)
    graph.add_node("broken", broken)
    graph.add_edge(START, "slow")
    graph.add_edge(START, "broken")
    with pytest.raises(CodedError):
        await kit.watch(graph.compile(name="pair")).ainvoke({})

    assert errors(kit) == ["invoke_workflow pair", "node broken"]
    assert len(kit.spans) == 3
    assert kit.outcomes() == {"error": 1}


async def cancels_itself(_: dict[str, Any]) -> None:
    raise asyncio.CancelledError


async def awaits_what_was_cancelled(_: dict[str, Any]) -> None:
    work = asyncio.ensure_future(asyncio.sleep(10))
    work.cancel()
    await work


async def calls_a_model_that_cancels_itself(_: dict[str, Any]) -> None:
    Scripted(replies=[asyncio.CancelledError()]).invoke("hello")


def cancels_itself_in_a_thread(_: dict[str, Any]) -> None:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    "node",
    [
        cancels_itself, awaits_what_was_cancelled, calls_a_model_that_cancels_itself,
        cancels_itself_in_a_thread,
    ],
)  # fmt: skip
async def test_a_node_that_cancels_itself_is_the_error_that_langgraph_makes_of_it(
    node: Callable[..., Any],
) -> None:
    kit = Kit()
    with pytest.raises(NodeCancelledError):
        await kit.watch(line_graph(node)).ainvoke({})

    kind = "NodeCancelledError"
    failed = [name for name in errors(kit) if not name.startswith("chat")]
    assert failed == ["invoke_workflow line", f"node {node.__name__}"]
    assert {kit.span(name).attributes["error.type"] for name in failed} == {kind}
    assert kit.counted("rag_node_errors_total", "error_type") == {(kind,): 1}
    assert kit.outcomes() == {"error": 1}
    assert kit.turn.error_type == kind
    calls = kit.named("chat scripted-1")
    failures = kit.value("gen_ai_client_operation_duration_seconds_count", error_type="_OTHER")
    assert len(calls) == failures == len(errors(kit)) - 2


async def test_a_node_that_somebody_cancels_is_no_error() -> None:
    kit = Kit()

    async def slow(_: dict[str, Any]) -> None:
        started.set()
        await asyncio.sleep(10)

    started = asyncio.Event()
    run = asyncio.create_task(kit.watch(line_graph(slow)).ainvoke({}))
    await started.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run

    assert kit.outcomes() == {"cancelled": 1}
    assert errors(kit) == []
    assert kit.value("rag_node_errors_total") == 0


# -- control flow -------------------------------------------------------------------------------


class Approval(TypedDict, total=False):
    approved: bool
    answer: str


THREAD = {"configurable": {"thread_id": "t-1"}}


def approval_graph_that_streams() -> Any:
    async def talk(_: dict[str, Any], writer: StreamWriter) -> dict[str, Any]:
        writer("a word")
        await asyncio.sleep(0)
        return {}

    return line_graph(talk, checkpointer=InMemorySaver())


def approval_graph() -> Any:
    def ask(_: Approval) -> Approval:
        return {"approved": interrupt("may I?")}

    def reply(_: Approval) -> Approval:
        return {"answer": "done"}

    graph = StateGraph(Approval)
    graph.add_node("ask", ask)
    graph.add_node("reply", reply)
    graph.add_edge(START, "ask")
    graph.add_edge("ask", "reply")
    return graph.compile(name="approval", checkpointer=InMemorySaver())


def test_a_pause_is_interrupted_and_its_resume_links_back() -> None:
    kit = Kit()
    graph = kit.watch(approval_graph(), {"reply": "answer"})
    config = {"configurable": {"thread_id": "t-1"}}
    paused = graph.invoke({}, config)
    assert "__interrupt__" in paused
    assert kit.outcomes() == {"interrupted": 1}
    pause = kit.span("invoke_workflow approval")
    assert [event.name for event in kit.span("node ask").events] == ["rag.interrupted"]
    graph.invoke(Command(resume=True), config)

    assert kit.outcomes() == {"interrupted": 1, "answered": 1}
    assert errors(kit) == []
    assert kit.value("rag_node_errors_total") == 0
    resume = kit.named("invoke_workflow approval")[1]
    assert [link.context.span_id for link in resume.links] == [pause.context.span_id]
    assert resume.attributes["gen_ai.conversation.id"] == digest("t-1")
    assert resume.context.trace_id != pause.context.trace_id


@pytest.mark.parametrize("where", ["interrupt_before", "interrupt_after"])
def test_a_pause_between_nodes_is_interrupted_too(where: str) -> None:
    kit = Kit()
    graph = kit.watch(
        loop_graph(bound=0, checkpointer=InMemorySaver(), **{where: ["judge"]}), LOOP_ROLES
    )
    config = {"configurable": {"thread_id": "t-1"}}
    graph.invoke(QUESTION, config)
    assert kit.outcomes() == {"interrupted": 1}
    graph.invoke(None, config)

    assert kit.outcomes() == {"interrupted": 1, "no_results": 1}
    assert errors(kit) == []
    assert len(kit.roots()[1].links) == 1


async def take(graph: Any, count: int, *, is_async: bool, **options: Any) -> int:
    """Read up to so many chunks of a stream and leave it; return how many came."""
    taken = 0
    if is_async:
        chunks = graph.astream(QUESTION, THREAD, **options)
        async for _ in chunks:
            taken += 1
            if taken == count:
                break
        await chunks.aclose()
    else:
        chunks = graph.stream(QUESTION, THREAD, **options)
        for _ in chunks:
            taken += 1
            if taken == count:
                break
        chunks.close()
    return taken


@pytest.mark.parametrize("is_async", [False, True], ids=["stream", "astream"])
@pytest.mark.parametrize("is_compiled", [False, True], ids=["by the call", "by the graph"])
@pytest.mark.parametrize("mode", ["updates", "values", "checkpoints"])
@pytest.mark.parametrize(
    ("where", "following"), [("interrupt_before", "judge"), ("interrupt_after", "give_up")]
)
async def test_who_leaves_a_stream_is_interrupted_once_the_graph_has_paused_and_else_cancelled(
    where: str, following: str, mode: Any, is_compiled: bool, is_async: bool
) -> None:
    pause = {where: ["judge"]}
    outcomes: list[str] = []
    for count in range(1, 20):
        kit = Kit()
        graph = kit.watch(
            loop_graph(bound=0, checkpointer=InMemorySaver(), **(pause if is_compiled else {})),
            LOOP_ROLES,
        )
        options = {"stream_mode": mode, **({} if is_compiled else pause)}
        taken = await take(graph, count, is_async=is_async, **options)
        is_paused = graph.get_state(THREAD).next == (following,)
        assert kit.outcomes() == {"interrupted" if is_paused else "cancelled": 1}
        outcomes.append(kit.turn.outcome)
        if taken < count:
            break

    assert "cancelled" in outcomes
    assert outcomes[-2:] == ["interrupted"] * 2  # at the last chunk too, not only at the end
    assert outcomes == sorted(outcomes)


async def test_who_leaves_while_a_node_runs_cannot_know_of_the_pause_after_it() -> None:
    kit = Kit()
    graph = kit.watch(approval_graph_that_streams())
    taken = await take(graph, 1, is_async=True, stream_mode="custom", interrupt_after=["talk"])

    assert taken == 1
    assert kit.outcomes() == {"cancelled": 1}


async def test_a_pause_of_an_async_stream_is_interrupted() -> None:
    kit = Kit()
    graph = kit.watch(approval_graph())
    async for _ in graph.astream({}, {"configurable": {"thread_id": "t-1"}}):
        pass

    assert kit.outcomes() == {"interrupted": 1}
    assert errors(kit) == []


def test_a_pause_of_a_graph_that_a_node_runs_for_itself_is_not_the_turns() -> None:
    kit = Kit()
    inner = approval_graph()

    def consult(_: dict[str, Any]) -> dict[str, Any]:
        inner.invoke({}, {"configurable": {"thread_id": "inner"}})
        return {}

    kit.watch(line_graph(consult)).invoke({})

    assert kit.outcomes() == {"answered": 1}


def parent_command_graph() -> Any:
    def jump(_: dict[str, Any]) -> Any:
        return Command(goto="refuse", graph=Command.PARENT)

    inner = StateGraph(dict)
    inner.add_node("jump", jump)
    inner.add_edge(START, "jump")
    outer = StateGraph(dict)
    outer.add_node("inner", inner.compile(), destinations=("refuse",))
    outer.add_node("refuse", lambda _: {})
    outer.add_edge(START, "inner")
    return outer.compile(name="outer")


def test_a_jump_to_the_parent_graph_is_no_error() -> None:
    kit = Kit()
    kit.watch(parent_command_graph(), {"refuse": "off_topic"}).invoke({})

    assert kit.outcomes() == {"off_topic": 1}
    assert errors(kit) == []
    assert kit.value("rag_node_errors_total") == 0
    assert kit.tree() == (
        "invoke_workflow outer",
        [("node inner", [("node inner/jump", [])]), ("node refuse", [])],
    )


# -- which outcome ------------------------------------------------------------------------------


def goto_and_static_edge() -> Any:
    def guard(_: dict[str, Any]) -> Command[Literal["refuse"]]:
        return Command(goto="refuse")

    graph = StateGraph(dict)
    graph.add_node("guard", guard)
    for name in ("refuse", "search", "reply"):
        graph.add_node(name, lambda _: None)
    graph.add_edge(START, "guard")
    graph.add_edge("guard", "search")
    graph.add_edge("search", "reply")
    return graph.compile(name="both")


def test_two_terminal_nodes_are_one_turn_and_a_conflict() -> None:
    kit = Kit()
    kit.watch(goto_and_static_edge(), {"refuse": "off_topic", "reply": "answer"}).invoke({})

    assert kit.outcomes() == {"answered": 1}
    assert kit.value("rag_terminal_conflicts_total") == 1
    assert kit.span("invoke_workflow both").attributes["rag.conflict"] is True
    assert kit.turn.terminal_roles == ("off_topic", "answer")
    assert [finding.detector for finding in check_all(kit.turn)] == ["two_ends"]
    assert kit.counted("rag_routes_total", "router", "route") == {("guard", "refuse"): 1}
    assert len(kit.trace_ids()) == 1


def stating(outcome: str | None) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def reply(_: dict[str, Any]) -> dict[str, Any]:
        return {"outcome": outcome, "reason": "nothing_passed"}

    return reply


@pytest.mark.parametrize(
    ("stated", "roles", "expected"),
    [
        pytest.param("gave_up", {"reply": "answer"}, "gave_up", id="what the graph states wins"),
        pytest.param("happy", {"reply": "clarify"}, "clarify", id="an unknown word is not stated"),
        pytest.param(None, {"reply": "no_results"}, "no_results", id="else the terminal role"),
        pytest.param(None, {}, "answered", id="else a graph that ended has answered"),
        pytest.param("error", {}, "error", id="an error that the graph tells of"),
    ],
)
def test_the_outcome_of_a_turn_that_nothing_stopped(
    stated: str | None, roles: dict[str, str], expected: str
) -> None:
    kit = Kit()
    kit.watch(line_graph(stating(stated)), roles).invoke({})

    assert kit.outcomes() == {expected: 1}
    root = kit.span("invoke_workflow line")
    assert root.attributes["rag.outcome"] == expected
    assert root.attributes["rag.reason"] == "nothing_passed"
    assert (root.status.status_code is StatusCode.ERROR) == (expected == "error")


def test_a_loop_that_stops_without_a_reply_gave_up() -> None:
    kit = Kit()
    graph = StateGraph(dict)
    graph.add_node("search", lambda _: {"documents": [{"id": "a", "score": 0.1}]})
    graph.add_node("judge", lambda _: {"grade": "no"})
    graph.add_edge(START, "search")
    graph.add_edge("search", "judge")
    graph.add_edge("judge", END)
    kit.watch(graph.compile(name="short"), {"search": "retrieve", "judge": "grade"}).invoke({})

    assert kit.outcomes() == {"gave_up": 1}


def test_the_books_balance_whatever_happens() -> None:
    kit = Kit()
    graph = kit.watch(loop_graph(bound=1, checkpointer=InMemorySaver()), LOOP_ROLES)
    broken = kit.watch(loop_graph(grade=lambda _: 1 / 0), LOOP_ROLES)  # type: ignore[arg-type]
    endless = kit.watch(loop_graph(is_bounded=False), LOOP_ROLES)
    asked = 0
    for n in range(4):
        config = {"configurable": {"thread_id": f"{n}"}}
        asked += 5
        graph.invoke(QUESTION, config)
        next(graph.stream(QUESTION, config))
        graph.invoke(QUESTION, config, interrupt_before=["judge"])
        with pytest.raises(ZeroDivisionError):
            broken.invoke(QUESTION)
        with pytest.raises(GraphRecursionError):
            endless.invoke(QUESTION, {"recursion_limit": 6})

    assert kit.value("rag_turns_total") == asked
    assert kit.outcomes() == {
        "no_results": 4, "cancelled": 4, "interrupted": 4, "error": 4, "recursion_limit": 4,
    }  # fmt: skip
    assert kit.value("rag_turn_duration_seconds_count") == asked
    assert kit.value("rag_telemetry_errors_total") == 0
