from __future__ import annotations

import math
from dataclasses import fields

import pytest
from record_turns import Finding, Node, make_retrieval, make_turn

from telemetry import names
from telemetry.content import ContentGate, digest
from telemetry.records.record import (
    MAX_ATTEMPTS,
    MAX_CHUNKS,
    MAX_LABEL_LENGTH,
    MAX_NODE_RUNS,
    Labels,
    first_id,
    new_id,
    query_hash,
    record_of,
)
from telemetry.turn import NodeRun

CANARY = "ZQX-CANARY"
OPEN = ContentGate(spans=True)


def test_a_record_holds_the_books_of_its_turn() -> None:
    record = record_of(
        make_turn(),
        (Finding("drift"), Finding("synonym_swap"), Finding("drift")),
        labels=Labels(index="i1", prompt="p1", grader="g1", model="golden"),
    )

    assert record.started_at == 1_700_000_000.25
    assert (record.graph, record.version, record.outcome) == ("support_agent", "1.0", "answered")
    assert (record.classification, record.confidence) == ("relevant", "high")
    assert (record.rewrites, record.max_rewrites, record.llm_calls) == (1, 3, 6)
    assert (record.input_tokens, record.output_tokens) == (420, 37)
    assert record.last_grade == "pass"
    assert record.findings == ("drift", "synonym_swap")
    assert record.labels == Labels(index="i1", prompt="p1", grader="g1", model="golden")
    assert [attempt.attempt for attempt in record.attempts] == [0, 1]
    assert record.attempts[0].query_hash == query_hash("cancel plan")
    assert record.attempts[0].scores == (0.5, 0.0)


@pytest.mark.parametrize(
    ("build", "labels"),
    [
        pytest.param({}, Labels(index="i1", model="local"), id="a-turn-that-tells-nothing"),
        pytest.param(
            {"index": "i2", "grader": "g2"},
            Labels(index="i2", grader="g2", model="local"),
            id="what-the-turn-tells-comes-before-what-the-process-tells",
        ),
        pytest.param(
            {"index": "i" * 999, "model": "a\0b"},
            Labels(index="i" * MAX_LABEL_LENGTH, model="a\ufffdb"),
            id="labels-are-bounded-and-storable",
        ),
    ],
)
def test_labels_are_those_of_the_agent_that_answered(build: dict[str, str], labels: Labels) -> None:
    record = record_of(make_turn(build=build), labels=Labels(index="i1", model="local"))

    assert record.labels == labels


def test_the_effect_of_each_rewrite_is_kept() -> None:
    effects = (None, names.NEW_CHUNKS, names.SAME_CHUNKS_AND_SCORES)
    retrievals = tuple(make_retrieval(n, effect=effect) for n, effect in enumerate(effects))

    attempts = record_of(make_turn(retrievals=retrievals)).attempts

    assert tuple(attempt.effect for attempt in attempts) == effects
    assert [attempt.is_synonym_swap for attempt in attempts] == [False, False, True]


def make_canary_turn() -> object:
    return make_turn(
        question=CANARY,
        reply=CANARY,
        conversation_id=f"{CANARY} of Ms. Miller",
        retrievals=(make_retrieval(0, query=CANARY),),
    )


def test_no_text_without_content_capture() -> None:
    record = record_of(make_canary_turn())  # type: ignore[arg-type]

    assert CANARY not in repr(record)
    assert record.conversation_id == digest(f"{CANARY} of Ms. Miller")


def test_text_with_content_capture_is_in_its_own_fields_only() -> None:
    record = record_of(make_canary_turn(), gate=OPEN)  # type: ignore[arg-type]

    assert (record.question, record.reply, record.attempts[0].query) == (CANARY,) * 3
    holders = {
        field.name for field in fields(record) if CANARY in repr(getattr(record, field.name))
    }
    assert holders == {"question", "reply", "attempts", "conversation_id"}


@pytest.mark.parametrize(
    ("redact", "expected"),
    [
        pytest.param(lambda text: text.replace("4111", "####"), "card #### 1111", id="masked"),
        pytest.param(lambda text: 1 / 0, None, id="a-broken-hook-keeps-the-text-inside"),
    ],
)
def test_redaction_runs_before_the_text_is_kept(redact: object, expected: str | None) -> None:
    gate = ContentGate(spans=True, redact=redact)  # type: ignore[arg-type]

    assert record_of(make_turn(question="card 4111 1111"), gate=gate).question == expected


def test_a_record_is_bounded_whatever_the_turn_holds() -> None:
    many = tuple(f"chunk-{'x' * 1_000}-{number}" for number in range(500))
    retrievals = tuple(
        make_retrieval(n, chunk_ids=many, scores=(math.nan,) * 500) for n in range(100)
    )

    executions = tuple((Node("n" * 1_000, "none"), float(n), 1.0, 0) for n in range(500))

    record = record_of(make_turn(retrievals=retrievals, reason="r" * 10_000, executions=executions))

    assert len(record.attempts) == MAX_ATTEMPTS
    assert len(record.attempts[0].chunk_ids) == MAX_CHUNKS
    assert record.attempts[0].scores == (None,) * MAX_CHUNKS
    assert max(map(len, record.attempts[0].chunk_ids)) <= 200
    assert len(record.reason or "") <= 200
    assert [run.began for run in record.nodes] == list(range(MAX_NODE_RUNS))
    assert max(len(run.node) for run in record.nodes) <= 200


def test_nodes_are_kept_in_the_order_in_which_they_began() -> None:
    inner, outer = Node("outer/inner", "grade"), Node("outer", "none")
    ended = ((inner, 10.25, 0.1234567, 1), (outer, 10.0, 0.5, 1))

    record = record_of(make_turn(clock=10.0, executions=ended))

    assert record.nodes == (
        NodeRun(node="outer", role="none", attempt=1, began=0.0, seconds=0.5),
        NodeRun(node="outer/inner", role="grade", attempt=1, began=0.25, seconds=0.123457),
    )


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        pytest.param((("grade", "unparsed"), ("guard", "none")), 2, id="replies-without-verdict"),
        pytest.param((("grade", "timeout"),), 0, id="a-call-that-failed-gave-no-reply"),
        pytest.param((("rewrite", "refused"),), 0, id="a-rewrite-is-no-verdict"),
    ],
)
def test_failed_judgements_are_those_that_the_guide_counts(
    failures: tuple[tuple[str, str], ...], expected: int
) -> None:
    assert record_of(make_turn(judgement_failures=failures)).failed_judgements == expected


def test_ids_sort_by_time_and_never_repeat() -> None:
    moments = [0.0, 1.5, 1_700_000_000.0, 1_700_000_000.001, 2**44 / 1000]
    ids = [new_id(moment) for moment in moments]

    assert ids == sorted(ids)
    assert all(first_id(moment) <= new_id(moment) for moment in moments)
    assert len({new_id(1.0) for _ in range(1_000)}) == 1_000
    assert {len(record_id) for record_id in ids} == {32}


def test_equal_queries_have_equal_hashes_whatever_their_case_and_spacing() -> None:
    assert query_hash("Cancel  my\nplan ") == query_hash("cancel my plan")
    assert query_hash("cancel my plan") != query_hash("cancel plan")
