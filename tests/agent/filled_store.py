"""A store of many turns, written at once: what the console's pages are tested on."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from telemetry.records.database import connect, parse_address
from telemetry.records.record import Attempt, Labels, TurnRecord, new_id
from telemetry.records.schema import INSERT_FINDING, INSERT_TURN, migrate, to_row
from telemetry.turn import NodeRun

GAPS = (
    "Do you offer a student discount?",
    "Is there a discount for students?",
    "student discount please",
    "Can I rent a GPU by the hour?",
    "Do you have GPU servers?",
    "How do I become a reseller?",
    "Is there a mobile app?",
    "Does your mobile app run on a tablet?",
)
REFUSED = (
    "What's the weather like today?",
    "my box is acting up again",
    "Write me a poem about autumn",
    "why was I charged twice",
)
HOSTILE = "<script>document.title='owned'</script> **bold** <img src=x onerror=alert(1)>"
CHUNKS = ("export", "cancel", "sla", "incidents", "plans", "annual", "refunds", "sizing")


def turns(count: int, now: float, *, days: float, is_captured: bool = True) -> Iterator[TurnRecord]:
    """Yield turns, oldest first, ended in all the ways there are."""
    dice = random.Random(7)
    for number in range(count):
        at = now - days * 86_400 * (1 - number / count) - 1
        version = "2.0" if number > count * 0.6 else "1.9"
        yield _turn(dice, at, version, is_captured)


def _turn(dice: random.Random, at: float, version: str, is_captured: bool) -> TurnRecord:
    outcome = dice.choices(
        ["answered", "no_results", "off_topic", "error"],
        [70, 25 if version == "2.0" else 9, 14, 1],
    )[0]
    texts = {"no_results": GAPS, "off_topic": REFUSED}.get(outcome, ("How do I cancel?",))
    refused = outcome == "off_topic"
    rewrites = 0 if refused else 2 if outcome == "no_results" else dice.choice([0, 0, 0, 1])
    swaps = [n > 0 and dice.random() < 0.2 for n in range(rewrites + 1)]
    attempts = tuple(
        Attempt(
            attempt=n,
            query_hash=f"{dice.randrange(40):016x}",
            chunk_ids=tuple(dice.sample(CHUNKS, 2)),
            scores=(round(dice.uniform(0.2, 0.6), 3), round(dice.uniform(0, 0.2), 3)),
            grades=(outcome == "answered" and n == rewrites, False),
            similarity=round(dice.uniform(0.4, 1), 2) if n else None,
            effect=None if n == 0 else "same_chunks_and_scores" if swaps[n] else "new_chunks",
        )
        for n in range(0 if refused else rewrites + 1)
    )
    duration = dice.uniform(0.2, 3)
    return TurnRecord(
        id=new_id(at),
        started_at=round(at, 3),
        graph="support_agent",
        version=version,
        outcome=outcome,
        reason="classified_irrelevant" if refused else None,
        labels=Labels(index="i1", prompt="p1", grader="local", model="local"),
        classification="irrelevant" if refused else "relevant",
        confidence=dice.choices(["high", "medium", "low"], [6, 3, 1])[0],
        rewrites=rewrites,
        max_rewrites=2,
        last_grade="none" if refused else "pass" if outcome == "answered" else "fail",
        llm_calls=1 if refused else 4 + 3 * rewrites,
        input_tokens=800,
        output_tokens=60,
        duration_seconds=duration,
        attempts=attempts,
        nodes=_nodes(outcome, rewrites, duration),
        drafts=0,
        failed_calls=int(outcome == "error"),
        failed_judgements=0,
        findings=("synonym_swap",) if any(swaps) else (),
        question=dice.choice(texts) if is_captured else None,
        reply="A reply." if is_captured else None,
    )


def _nodes(outcome: str, rewrites: int, duration: float) -> tuple[NodeRun, ...]:
    """The nodes of such a turn, each as long as the others."""
    search = (("fetch_content", "retrieve"), ("assess_relevance", "grade"))
    path = [("enhance_query", "enhance", 0), ("validate_topic", "guard", 0)]
    if outcome == "off_topic":
        path.append(("handle_off_topic", "off_topic", 0))
    else:
        path += [(*node, 0) for node in search]
        for attempt in range(1, rewrites + 1):
            path += [("optimize_query", "rewrite", attempt), *((*node, attempt) for node in search)]
        is_answer = outcome == "answered"
        end = ("generate_response", "answer") if is_answer else ("handle_no_results", "no_results")
        path.append((*end, rewrites))
    each = duration / len(path)
    return tuple(
        NodeRun(node=node, role=role, attempt=attempt, began=round(each * n, 6),
                seconds=round(each, 6))
        for n, (node, role, attempt) in enumerate(path)
    )  # fmt: skip


def fill(path: Path, records: Iterator[TurnRecord]) -> None:
    """Write the turns into a SQLite store."""
    database = connect(parse_address(path))
    migrate(database)
    rows = list(records)
    with database.writing():
        database.execute_many(INSERT_TURN, [to_row(record) for record in rows])
        found = [(name, record.id) for record in rows for name in record.findings]
        database.execute_many(INSERT_FINDING, found)
    database.close()
