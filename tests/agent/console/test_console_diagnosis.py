"""The states of the guide's failures, by records that a test writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from filled_store import fill

from agent.console.diagnosis import RecordedStates, State, usual_threshold
from agent.console.guide import GuideFailure, guide
from telemetry.records import Attempt, RecordReader, TurnRecord
from telemetry.records.record import new_id

NOW = 1_700_000_000.0
DAY = 86_400.0
BY_SLUG: dict[str, GuideFailure] = {failure.slug: failure for failure in guide()}
Read = Callable[..., RecordReader]

ANSWERED = TurnRecord(
    id="", started_at=0.0, graph="g", version="1", outcome="answered", last_grade="pass",
    classification="relevant", confidence="high", llm_calls=4, duration_seconds=1.0,
    attempts=(Attempt(attempt=0, chunk_ids=("a", "b"), scores=(0.5, 0.1), grades=(True, False)),),
    drafts=0, failed_calls=0, failed_judgements=0,
)  # fmt: skip
REFUSED = replace(
    ANSWERED, outcome="off_topic", last_grade="none", classification="irrelevant", llm_calls=1,
    attempts=(),
)  # fmt: skip
NOTHING = replace(ANSWERED, outcome="no_results", last_grade="fail", rewrites=2)
BROKEN = replace(ANSWERED, outcome="error", last_grade="none")
LOOPED = replace(ANSWERED, outcome="recursion_limit", last_grade="fail")
REWRITTEN = replace(ANSWERED, rewrites=2)
REVISED = replace(ANSWERED, drafts=2)


def at(record: TurnRecord, count: int, ago: float = 100.0) -> list[TurnRecord]:
    """The record so many times, begun so many seconds before now."""
    moment = NOW - ago
    return [replace(record, id=new_id(moment), started_at=moment) for _ in range(count)]


def with_failed_search(record: TurnRecord) -> TurnRecord:
    return replace(record, attempts=(Attempt(attempt=0, failed=True),))


@pytest.fixture
def state_of(tmp_path: Path) -> Iterator[Callable[[str, list[TurnRecord]], State]]:
    readers = []

    def state(slug: str, records: list[TurnRecord]) -> State:
        fill(tmp_path / "turns.sqlite", iter(records))
        readers.append(RecordReader(tmp_path / "turns.sqlite"))
        return RecordedStates(readers[-1], NOW).of(BY_SLUG[slug])

    yield state
    for reader in readers:
        reader.close()


ROWS = [
    # (failure, records, level, id)
    ("silent_rejection", at(REFUSED, 60) + at(ANSWERED, 40), "page", "most-turns-refused"),
    ("silent_rejection", at(REFUSED, 8) + at(ANSWERED, 92), "quiet", "the-usual-share"),
    ("silent_rejection", at(REFUSED, 4), "quiet", "too-few-to-say"),
    ("silent_rejection", at(REFUSED, 60) + at(ANSWERED, 40)
     + at(REFUSED, 6_000, 2 * DAY) + at(ANSWERED, 4_000, 2 * DAY), "quiet",
     "what-was-always-so-is-no-rise"),
    ("silent_rejection", at(REFUSED, 60, 7 * 3600) + at(ANSWERED, 90), "quiet", "long-over"),
    ("runaway_loop", at(LOOPED, 1) + at(ANSWERED, 30), "ticket", "one-runaway-loop"),
    ("runaway_loop", at(LOOPED, 3) + at(ANSWERED, 9), "page", "the-budget-burns"),
    ("runaway_loop", at(LOOPED, 3, 2_000) + at(ANSWERED, 9, 2_000) + at(ANSWERED, 50), "ticket",
     "the-budget-burnt-but-does-no-more"),
    ("runaway_loop", at(LOOPED, 1, 2 * 3600) + at(ANSWERED, 30), "quiet", "a-loop-two-hours-ago"),
    ("budget_checked_first", at(replace(NOTHING, last_grade="pass"), 1), "ticket",
     "a-passed-chunk-thrown-away-once"),
    ("budget_checked_first", at(replace(NOTHING, last_grade="pass"), 3) + at(NOTHING, 3), "page",
     "passed-chunks-thrown-away"),
    ("budget_checked_first", at(NOTHING, 40), "quiet", "honest-no-results"),
    ("answered_without_evidence", at(replace(ANSWERED, last_grade="fail"), 3) + at(ANSWERED, 5),
     "page", "answers-after-failing-grades"),
    ("two_ends", at(replace(ANSWERED, findings=("two_ends",)), 1) + at(ANSWERED, 40), "ticket",
     "one-turn-with-two-ends"),
    ("two_ends", at(ANSWERED, 40), "quiet", "turns-with-one-end"),
    ("no_results_jump", at(NOTHING, 60) + at(ANSWERED, 40), "page", "most-searches-find-nothing"),
    ("no_results_jump", at(NOTHING, 10) + at(ANSWERED, 90), "quiet", "some-searches-find-nothing"),
    ("synonym_swap", at(replace(REWRITTEN, findings=("synonym_swap",)), 40) + at(REWRITTEN, 10),
     "ticket", "most-rewrites-are-swaps"),
    ("synonym_swap", at(replace(REWRITTEN, findings=("synonym_swap",)), 5) + at(REWRITTEN, 45),
     "quiet", "some-rewrites-are-swaps"),
    ("rewrite_drift",
     at(replace(REWRITTEN, findings=("rewrite_drift",)), 30) + at(ANSWERED, 100), "page",
     "answers-after-drift"),
    ("rewrite_drift",
     at(replace(NOTHING, findings=("rewrite_drift",)), 30) + at(ANSWERED, 100), "ticket",
     "drift-that-answered-nothing"),
    ("revise_at_cap", at(replace(REVISED, findings=("revise_at_cap",)), 30) + at(ANSWERED, 500),
     "ticket", "drafts-used-up"),
    ("revise_at_cap", at(replace(REVISED, findings=("revise_at_cap",)), 5) + at(REVISED, 30),
     "quiet", "drafts-seldom-used-up"),
    ("score_not_rising", at(replace(REVISED, findings=("score_not_rising",)), 30), "ticket",
     "scores-do-not-rise"),
    ("stale_critique", at(replace(REVISED, findings=("stale_critique",)), 30), "ticket",
     "critiques-of-earlier-drafts"),
    ("stale_critique", at(replace(REVISED, drafts=1), 30), "quiet", "no-revision-at-all"),
    ("traffic_stopped", at(ANSWERED, 30, 7 * DAY + 600), "ticket", "busy-a-week-ago"),
    ("traffic_stopped", at(ANSWERED, 30, 1_500), "ticket", "young-and-busy-just-before"),
    ("traffic_stopped", at(ANSWERED, 30, 1_500) + at(ANSWERED, 1), "quiet", "one-turn-just-now"),
    ("traffic_stopped", at(ANSWERED, 3, 1_500), "quiet", "never-busy"),
    ("traffic_stopped", at(ANSWERED, 5, 8 * DAY) + at(ANSWERED, 30, 3 * DAY), "quiet",
     "as-silent-a-week-ago"),
    ("model_errors", at(replace(ANSWERED, failed_calls=2), 40), "page", "half-of-the-calls-fail"),
    ("model_errors", at(replace(ANSWERED, failed_calls=1), 20) + at(ANSWERED, 20), "ticket",
     "an-eighth-of-the-calls-fails"),
    ("model_errors", at(ANSWERED, 200) + at(replace(ANSWERED, failed_calls=1), 5), "quiet",
     "few-calls-fail"),
    ("judgement_failures", at(replace(ANSWERED, failed_judgements=1), 50), "ticket",
     "a-third-of-the-verdicts-is-missing"),
    ("judgement_failures", at(ANSWERED, 50), "quiet", "all-verdicts-are-there"),
    ("retriever_errors", at(with_failed_search(BROKEN), 50) + at(ANSWERED, 50), "page",
     "half-of-the-searches-fail"),
    ("retriever_errors", at(with_failed_search(BROKEN), 15) + at(ANSWERED, 100), "ticket",
     "an-eighth-of-the-searches-fails"),
    ("turn_errors", at(BROKEN, 50) + at(ANSWERED, 50), "page", "half-of-the-turns-fail"),
    ("latency_objective", at(replace(ANSWERED, duration_seconds=21.0), 50) + at(ANSWERED, 50),
     "page", "half-of-the-turns-are-slow"),
    ("latency_objective", at(replace(ANSWERED, duration_seconds=20.0), 50), "quiet",
     "just-within-the-objective"),
    ("silent_rejection", at(REFUSED, 60, 2 * DAY), "unknown", "no-turn-for-days"),
    ("spans_dropped", at(ANSWERED, 9), "unknown", "records-cannot-tell"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("slug", "records", "level"),
    [pytest.param(*row[:3], id=f"{row[0]}-{row[3]}") for row in ROWS],
)
def test_the_level_of_a_failure(
    state_of: Callable[[str, list[TurnRecord]], State],
    slug: str,
    records: list[TurnRecord],
    level: str,
) -> None:
    assert state_of(slug, records).level == level


@pytest.mark.parametrize(
    ("slug", "records", "signal", "threshold"),
    [
        pytest.param(
            "silent_rejection", at(REFUSED, 60) + at(ANSWERED, 40),
            "60.0 % (60 of 100) in 15 min",
            "page surely above 30.8 %; ticket surely above 25 %",
            id="a-share-that-rose",
        ),
        pytest.param(
            "runaway_loop", at(LOOPED, 3) + at(ANSWERED, 9),
            "25.0 % (3 of 12) in 6 h",
            "page above 7.2 % in 1 h or 3 % in 6 h; ticket at the first",
            id="a-budget-that-burns",
        ),
        pytest.param(
            "traffic_stopped", at(ANSWERED, 30, 1_500),
            "last turn 25 min ago",
            "ticket: none in a stretch that held more than 20 before",
            id="silence",
        ),
        pytest.param(
            "synonym_swap", at(replace(REWRITTEN, findings=("synonym_swap",)), 1)
            + at(REWRITTEN, 9, 3_000),
            "10.0 % (1 of 10) in 1 h", "ticket surely above 25 %",
            id="not-the-stretch-with-too-little-to-say",
        ),
        pytest.param(
            "stale_critique", at(ANSWERED, 9), "nothing to judge in 6 h",
            "ticket surely above 20 %", id="nothing-that-could",
        ),
        pytest.param(
            "spans_dropped", at(ANSWERED, 9), "–", "", id="nothing-to-tell",
        ),
    ],
)  # fmt: skip
def test_what_is_said_of_a_failure(
    state_of: Callable[[str, list[TurnRecord]], State],
    slug: str,
    records: list[TurnRecord],
    signal: str,
    threshold: str,
) -> None:
    state = state_of(slug, records)

    assert (state.signal, state.threshold) == (signal, threshold)


def test_every_alert_has_a_threshold_in_words() -> None:
    for failure in guide():
        for alert in failure.alerts:
            assert alert.severity in usual_threshold(alert)
