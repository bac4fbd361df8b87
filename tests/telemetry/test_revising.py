"""The revise loop as telemetry sees it: rounds, ends, detectors, spans and counters."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from loop_graphs import found

from telemetry import names
from telemetry.checks import check_all
from telemetry.detectors import attempt_effects
from telemetry.facts import Critique
from telemetry.readers import read_critique
from telemetry.revising import Revising, loop_attributes, loop_end, revision_effect
from telemetry.testing import Kit
from telemetry.turn import Retrieval, Round, Turn

ROLES = {"write": "revise", "judge": "critique", "publish": "answer", "give_up": None}
FIRST = Critique(0.6, "Name the fee.", "draft 1")


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param(Critique(0.9, "none", "draft 2"), "score_rose", id="a-better-draft"),
        pytest.param(Critique(0.6, "Shorter.", "draft 2"), "score_not_risen", id="no-better"),
        pytest.param(Critique(0.3, "Shorter.", "draft 2"), "score_not_risen", id="a-worse-one"),
        pytest.param(
            Critique(0.9, "Name the fee.\nShorter.", "draft 2"), "stale_critique",
            id="appended-instead-of-replaced",
        ),
        pytest.param(Critique(0.9, None, "draft 2"), "stale_critique", id="none-was-written"),
        pytest.param(
            Critique(0.6, "Name the fee.", "draft 2"), "stale_critique",
            id="the-same-for-another-draft",
        ),
        pytest.param(
            Critique(0.6, "Name the fee.", "draft 1"), "score_not_risen",
            id="the-same-for-the-same-draft-is-right",
        ),
        pytest.param(Critique(None, "", "draft 2"), None, id="no-verdict-tells-nothing"),
    ],
)  # fmt: skip
def test_what_a_revision_did(after: Critique, expected: str | None) -> None:
    assert revision_effect(FIRST, after) == expected


def make_turn(**changes: Any) -> Turn:
    good: dict[str, Any] = {
        "graph": "g", "version": "1", "outcome": names.ANSWERED, "drafts": 2, "max_drafts": 3,
        "rounds": (
            Round(draft=1, score=0.6), Round(draft=2, score=0.9, effect=names.SCORE_ROSE),
        ),
    }  # fmt: skip
    return Turn(**{**good, **changes})


USED_UP = {
    "outcome": names.GAVE_UP, "drafts": 3,
    "rounds": (
        Round(draft=1, score=0.6),
        Round(draft=2, score=0.6, effect=names.SCORE_NOT_RISEN),
        Round(draft=3, score=0.7, effect=names.SCORE_ROSE),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"drafts": 0, "rounds": ()}, None, id="no-loop"),
        pytest.param({}, "passed", id="a-draft-passed"),
        pytest.param(USED_UP, "at_cap", id="all-drafts-used"),
        pytest.param({**USED_UP, "max_drafts": None}, "at_cap", id="no-bound-known-but-it-gave-up"),
        pytest.param({"max_drafts": None}, "passed", id="no-bound-known-and-it-answered"),
        pytest.param({"outcome": names.GAVE_UP}, "stopped", id="a-draft-failed-below-the-cap"),
        pytest.param({"outcome": names.ERROR}, "stopped", id="an-error-ended-it"),
        pytest.param(
            {"outcome": names.GAVE_UP, "drafts": 3}, "stopped", id="the-last-draft-was-never-judged"
        ),
    ],
)
def test_how_a_loop_ended(changes: dict[str, Any], expected: str | None) -> None:
    assert loop_end(make_turn(**changes)) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, {}, id="a-loop-that-passes-shows-nothing"),
        pytest.param(
            USED_UP,
            {
                "revise_at_cap": "all 3 drafts were used, the best scored 0.70",
                "score_not_rising": "1 of 2 revisions scored no better than the draft before",
            },
            id="used-up-without-rising",
        ),
        pytest.param(
            {"rounds": (Round(draft=1, score=0.6),
                        Round(draft=2, score=0.9, effect=names.STALE_CRITIQUE))},
            {
                "stale_critique": "1 of 1 revisions stand beside the critique of an earlier draft"
            },
            id="a-stale-critique",
        ),
    ],
)  # fmt: skip
def test_what_the_detectors_find(changes: dict[str, Any], expected: dict[str, str]) -> None:
    findings = check_all(make_turn(**changes))

    assert {finding.detector: finding.evidence for finding in findings} == expected


def test_a_turn_without_the_loop_shows_nothing_of_it() -> None:
    assert loop_attributes(make_turn(drafts=0, rounds=())) == {}


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        pytest.param(
            {"score": 0.6, "critique": "Shorter."},
            Critique(0.6, "Shorter.", "d"),
            id="our-own-keys",
        ),
        pytest.param(
            {"critique_score": 1, "feedback": ["One.", "Two."]}, Critique(1.0, "One.\nTwo.", "d"),
            id="a-list-of-notes-is-one-text",
        ),
        pytest.param({"score": 0.6}, Critique(0.6, None, "d"), id="no-note-was-written"),
        pytest.param({"score": float("nan"), "note": ""}, Critique(None, "", "d"), id="no-number"),
        pytest.param({}, None, id="nothing-is-none"),
    ],
)  # fmt: skip
def test_what_is_read_of_a_critique(update: dict[str, Any], expected: Critique | None) -> None:
    assert read_critique(update, {"draft": "d"}) == expected


def test_drafts_are_counted_and_critiques_belong_to_the_latest() -> None:
    book = Revising()
    numbers = [book.drafted(), book.drafted()]
    judged = book.critiqued(FIRST)

    assert numbers == [1, 2]
    assert (judged.draft, judged.score, judged.effect) == (2, 0.6, None)


class LoopState(TypedDict, total=False):
    question: str
    draft: str
    drafts: int
    max_drafts: int
    score: float
    critique: str
    outcome: str
    reply: str


def revise_graph(scores: list[float], *, appends: bool = False) -> Any:
    """Return a loop of at most three drafts with these scores; its critic may append its notes."""

    def write(state: LoopState) -> LoopState:
        made = state.get("drafts", 0) + 1
        return {"draft": f"draft {made}", "drafts": made, "max_drafts": 3}

    def judge(state: LoopState) -> LoopState:
        made = state["drafts"]
        before = state.get("critique", "") if appends else ""
        return {"score": scores[made - 1], "critique": f"{before} note {made}"}

    def route(state: LoopState) -> str:
        if state["drafts"] >= 3:
            return "give_up"
        return "publish" if state["score"] >= 0.8 else "write"

    graph = StateGraph(LoopState)
    graph.add_node("write", write)
    graph.add_node("judge", judge)
    graph.add_node("publish", lambda state: {"reply": state["draft"]})
    graph.add_node("give_up", lambda state: {"reply": state["draft"], "outcome": "gave_up"})
    graph.add_edge(START, "write")
    graph.add_edge("write", "judge")
    graph.add_conditional_edges(
        "judge", route, {name: name for name in ("write", "publish", "give_up")}
    )
    graph.add_edge("publish", END)
    graph.add_edge("give_up", END)
    return graph.compile(name="loop")


def counted(kit: Kit, metric: str, label: str) -> dict[str, float]:
    samples = [s for family in kit.registry.collect() for s in family.samples]
    return {s.labels[label]: s.value for s in samples if s.name == metric}


@pytest.mark.parametrize(
    ("scores", "appends", "ends", "effects"),
    [
        pytest.param(
            [0.6, 0.9], False, {"passed": 1, "at_cap": 0, "stopped": 0},
            {"score_rose": 1, "score_not_risen": 0, "stale_critique": 0}, id="the-second-passes",
        ),
        pytest.param(
            [0.6, 0.6, 0.7], False, {"passed": 0, "at_cap": 1, "stopped": 0},
            {"score_rose": 1, "score_not_risen": 1, "stale_critique": 0}, id="all-are-used",
        ),
        pytest.param(
            [0.6, 0.9], True, {"passed": 1, "at_cap": 0, "stopped": 0},
            {"score_rose": 0, "score_not_risen": 0, "stale_critique": 1}, id="notes-are-appended",
        ),
    ],
)  # fmt: skip
def test_a_loop_is_counted_once_a_turn_and_a_revision_at_a_time(
    scores: list[float], appends: bool, ends: dict[str, float], effects: dict[str, float]
) -> None:
    kit = Kit()
    graph = kit.watch(revise_graph(scores, appends=appends), ROLES)
    born = counted(kit, "rag_loop_ends_total", "end") | counted(
        kit, "rag_revisions_total", "effect"
    )
    graph.invoke({"question": "q"})

    assert born == dict.fromkeys([*ends, *effects], 0)
    assert counted(kit, "rag_loop_ends_total", "end") == ends
    assert counted(kit, "rag_revisions_total", "effect") == effects


def test_a_graph_without_critic_has_no_series_of_the_loop() -> None:
    kit = Kit()
    kit.watch(revise_graph([0.9]), {"publish": "answer"})

    assert not counted(kit, "rag_loop_ends_total", "end")


def test_the_loop_is_on_its_spans_and_on_the_turn() -> None:
    kit = Kit()
    kit.watch(revise_graph([0.6, 0.9]), ROLES).invoke({"question": "q"})
    spans = {span.name: dict(span.attributes or {}) for span in kit.spans}
    judge, turn = spans["node judge"], spans["invoke_workflow loop"]

    assert spans["node write"] | {"rag.loop": "revise", "rag.draft": 2} == spans["node write"]
    assert (judge["rag.loop"], judge["rag.draft"], judge["rag.critique.score"]) == (
        "revise", 2, 0.9,
    )  # fmt: skip
    assert judge["rag.critique.effect"] == "score_rose"
    assert {key: turn[key] for key in turn if key.startswith(("rag.loop", "rag.draft"))} == {
        "rag.loop": "revise", "rag.loop.end": "passed", "rag.drafts": 2,
    }  # fmt: skip
    assert (turn["rag.max_drafts"], turn["rag.critique.scores"]) == (3, (0.6, 0.9))
    assert not any("note" in str(value) for span in spans.values() for value in span.values())


def test_a_second_source_asked_after_the_grading_says_nothing_of_the_rewrite() -> None:
    def search(attempt: int, step: int, id_: str, **more: Any) -> Retrieval:
        return Retrieval(attempt=attempt, step=step, chunk_ids=(id_,), scores=(0.5,), **more)

    swapped = (
        search(0, 1, "a", grades=(False,)),
        search(1, 4, "a", grades=(False,)),
        search(1, 6, "web", grades=(True,)),
    )

    assert found("a")
    assert attempt_effects(swapped) == {1: names.SAME_CHUNKS_AND_SCORES}
