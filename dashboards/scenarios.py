"""The promtool cases of every failure, as data: the failure in numbers, and when it must be told.

Minutes and rates are those of real time and default thresholds; with a time scale the same cases
run on shorter minutes.
"""

from __future__ import annotations

from typing import Final

from dashboards import traffic as t
from dashboards.cases import Case, Scenario
from dashboards.traffic import GAUGES, HEALTHY, IDLE, Phase, Replica, changed, times

_REJECTED: Final = changed({t.OFF_TOPIC: 9, t.ANSWERED: 0.75, t.NO_RESULTS: 0.25, t.FAILED: 0})
_REJECTION_ALERTS: Final = ("RagSilentRejectionPage", "RagSilentRejectionTicket")
_NOT_FOUND: Final = changed({t.NO_RESULTS: 7, t.ANSWERED: 1.75})
_JUMP_ALERTS: Final = ("RagNoResultsJumpPage", "RagNoResultsJumpTicket")


def _alone(*phases: Phase) -> tuple[Replica, ...]:
    return (Replica(phases=phases),)


def _refusals(minutes: int) -> Phase:
    """One turn a minute, refused, and no other."""
    return Phase(minutes=minutes, rates={**IDLE, t.OFF_TOPIC: 1})


_OTHER_BUILD: Final = {
    **{key: value for key, value in GAUGES.items() if key != t.build()},
    t.build(grader="b"): 1,
}
_MODEST_JUMP: Final = changed({t.NO_RESULTS: 3, t.ANSWERED: 5.75})
"""A third of the searches: above the ticket's line, below the page's."""

_FLIP: Final = ("RagProbeFlippedPage",)
_UNPROBED: Final = {key: value for key, value in GAUGES.items() if key != t.LAST_ROUND}


def _wrong(first: int, second: int = 0) -> dict[str, float]:
    """Return the gauges with the rounds in a row in which two known questions came out wrong."""
    return {**GAUGES, t.in_a_row("1"): first, t.in_a_row("2"): second}


SCENARIOS: Final[dict[str, Scenario]] = {
    "silent_rejection": Scenario(
        fault=_REJECTED,
        firing={5: (), 15: _REJECTION_ALERTS},
        few={t.OFF_TOPIC: 7},
        more=(
            Case(
                kind="more",
                title="a quiet night: 14 of 14 refused within four hours page in the long window",
                replicas=_alone(
                    Phase(minutes=60, rates=IDLE),
                    *(_refusals(1) if i % 2 == 0 else Phase(minutes=16, rates=IDLE)
                      for i in range(28)),
                    Phase(minutes=30, rates=IDLE),
                ),
                firing={120: (), 325: _REJECTION_ALERTS},
            ),
            Case(
                kind="more",
                title="12 of 12 refused in a quarter of an hour page",
                replicas=_alone(
                    Phase(minutes=60, rates=IDLE), _refusals(12), Phase(minutes=10, rates=IDLE)
                ),
                firing={60: (), 80: _REJECTION_ALERTS},
            ),
            Case(
                kind="more",
                title="refusals after a retrieval are no silent rejections",
                replicas=_alone(
                    Phase(minutes=60),
                    Phase(minutes=60, rates=changed({t.REFUSED_LATE: 9, t.ANSWERED: 1})),
                ),
                firing={120: ()},
            ),
            Case(
                kind="more",
                title="one bad replica of three pages",
                replicas=(
                    Replica(phases=(Phase(minutes=60), Phase(minutes=90, rates=_REJECTED))),
                    Replica(name="b", phases=(Phase(minutes=150),)),
                    Replica(name="c", phases=(Phase(minutes=150),)),
                ),
                firing={60: (), 150: _REJECTION_ALERTS},
            ),
            Case(
                kind="more",
                title="a rolling deploy is quiet: old replicas go stale while new ones start",
                replicas=(
                    Replica(name="a", phases=(Phase(minutes=60), Phase(minutes=60, is_gone=True))),
                    Replica(name="b", phases=(Phase(minutes=70), Phase(minutes=50, is_gone=True))),
                    Replica(name="c", phases=(Phase(minutes=58, rates={}, gauges={}),
                                              Phase(minutes=62))),
                    Replica(name="d", phases=(Phase(minutes=68, rates={}, gauges={}),
                                              Phase(minutes=52))),
                ),
                firing={59: (), 61: (), 66: (), 71: (), 80: (), 120: ()},
            ),
            Case(
                kind="more",
                title="a scrape gap of 20 minutes is quiet",
                replicas=_alone(
                    Phase(minutes=60), Phase(minutes=20, is_scraped=False), Phase(minutes=40)
                ),
                firing={70: (), 81: (), 85: (), 120: ()},
            ),
            Case(
                kind="more",
                title="the page goes on for its keep time after the repair, then ends",
                replicas=_alone(
                    Phase(minutes=60), Phase(minutes=15, rates=_REJECTED), Phase(minutes=285)
                ),
                firing={75: _REJECTION_ALERTS, 92: _REJECTION_ALERTS, 120: _REJECTION_ALERTS[1:],
                        240: ()},
            ),
            Case(
                kind="more",
                title="two services do not disturb each other",
                replicas=(
                    Replica(phases=(Phase(minutes=60), Phase(minutes=60, rates=_REJECTED))),
                    Replica(job="other", phases=(Phase(minutes=120),)),
                ),
                firing={60: (), 120: _REJECTION_ALERTS},
            ),
            Case(
                kind="more",
                title="four days at a steady 30 % teach the baseline and stay quiet",
                step_minutes=10,
                replicas=_alone(
                    Phase(minutes=4 * 1440, rates=changed({t.OFF_TOPIC: 3, t.ANSWERED: 6})),
                ),
                firing={1440 * 2: (), 1440 * 4: ()},
            ),
            Case(
                kind="more",
                title="an incident of two days still pages on its second day",
                step_minutes=10,
                replicas=_alone(
                    Phase(minutes=3 * 1440), Phase(minutes=2 * 1440, rates=_REJECTED)
                ),
                firing={1440 * 3: (), 1440 * 5: _REJECTION_ALERTS},
            ),
        ),
    ),
    "runaway_loop": Scenario(
        fault=changed({t.LOOPED: 3, t.RECURSION_ERRORS: 3, t.ANSWERED: 5}),
        firing={0: (), 3: ("RagRunawayLoopTicket",),
                15: ("RagRunawayLoopPage", "RagRunawayLoopTicket")},
        few={t.LOOPED: 1, t.RECURSION_ERRORS: 1, t.ANSWERED: 2},
        few_firing=("RagRunawayLoopTicket",),
        more=(
            Case(
                kind="more",
                title="one error in a healthy hour raises the ticket once, and only it",
                replicas=_alone(
                    Phase(minutes=60),
                    Phase(minutes=1, rates=changed({t.RECURSION_ERRORS: 1, t.LOOPED: 1})),
                    Phase(minutes=180),
                ),
                firing={60: (), 62: ("RagRunawayLoopTicket",), 110: ("RagRunawayLoopTicket",),
                        240: ()},
            ),
            Case(
                kind="more",
                title="a counter that is born at 1 is missed: why every series must start at 0",
                replicas=_alone(
                    Phase(minutes=60, rates={t.ANSWERED: 10}),
                    Phase(minutes=1, rates={t.ANSWERED: 10, t.RECURSION_ERRORS: 1}),
                    Phase(minutes=60, rates={t.ANSWERED: 10, t.RECURSION_ERRORS: 0}),
                ),
                firing={62: (), 70: (), 120: ()},
            ),
            Case(
                kind="more",
                title="a slow burn of five in a hundred pages through the long windows",
                replicas=_alone(
                    Phase(minutes=60),
                    Phase(minutes=360, rates=changed({t.RECURSION_ERRORS: 0.5, t.LOOPED: 0.5})),
                ),
                firing={60: (), 420: ("RagRunawayLoopPage", "RagRunawayLoopTicket")},
            ),
        ),
    ),
    "budget_checked_first": Scenario(
        fault=changed({t.DISCARDED: 0.5, t.ANSWERED: 7.5}),
        firing={0: (), 3: ("RagBudgetCheckedFirstTicket",),
                15: ("RagBudgetCheckedFirstPage", "RagBudgetCheckedFirstTicket")},
        few={t.DISCARDED: 1, t.NO_RESULTS: 1},
        few_firing=("RagBudgetCheckedFirstTicket",),
    ),
    "synonym_swap": Scenario(
        fault=changed({t.SWAP: 2.5, t.NEW_CHUNKS: 0.25}),
        firing={15: (), 30: ("RagSynonymSwapTicket",)},
        few={t.SWAP: 4},
        more=(
            Case(
                kind="more",
                title="rewrites that match nothing are a gap in the documents, no swaps",
                replicas=_alone(
                    Phase(minutes=60),
                    Phase(minutes=60, rates=changed({t.NOTHING_MATCHED: 2.75, t.NEW_CHUNKS: 0})),
                ),
                firing={120: ()},
            ),
        ),
    ),
    "rewrite_drift": Scenario(
        fault=changed({t.DRIFTED: 0.75, t.DRIFTED_ANSWERS: 1}),
        firing={10: (), 30: ("RagRewriteDriftPage", "RagRewriteDriftTicket")},
        few={t.DRIFTED: 4, t.LATER: 4, t.DRIFTED_ANSWERS: 1, t.ANSWERED: 1},
        more=(
            Case(
                kind="more",
                title="three drifted answers of twenty in an hour prove nothing",
                replicas=_alone(
                    Phase(minutes=20, rates={**IDLE, t.ANSWERED: 1}),
                    Phase(minutes=1, rates={**IDLE, t.DRIFTED_ANSWERS: 3}),
                    Phase(minutes=19, rates=IDLE),
                ),
                firing={25: (), 40: ()},
            ),
        ),
    ),
    "no_results_jump": Scenario(
        fault=_NOT_FOUND,
        firing={5: (), 15: _JUMP_ALERTS},
        few={t.NO_RESULTS: 7},
        more=(
            Case(
                kind="more",
                title="a change alone is quiet",
                replicas=_alone(Phase(minutes=60), Phase(minutes=60, gauges=_OTHER_BUILD)),
                firing={61: (), 90: (), 120: ()},
            ),
            Case(
                kind="more",
                title="a modest jump alone is a ticket",
                replicas=_alone(Phase(minutes=60), Phase(minutes=70, rates=_MODEST_JUMP)),
                firing={60: (), 130: ("RagNoResultsJumpTicket",)},
            ),
            Case(
                kind="fires",
                title="a modest jump after a change pages with its cause, until the change is old",
                replicas=_alone(
                    Phase(minutes=60),
                    Phase(minutes=150, rates=_MODEST_JUMP, gauges=_OTHER_BUILD),
                ),
                firing={
                    60: (),
                    130: ("RagNoResultsJumpChangePage", "RagNoResultsJumpTicket"),
                    210: ("RagNoResultsJumpTicket",),
                },
            ),
            Case(
                kind="more",
                title="two builds that run side by side for long are no change",
                replicas=(
                    Replica(phases=(Phase(minutes=130), Phase(minutes=70, rates=_MODEST_JUMP))),
                    Replica(name="b", phases=(Phase(minutes=200, rates={}, gauges=_OTHER_BUILD),)),
                ),
                firing={130: (), 200: ("RagNoResultsJumpTicket",)},
            ),
            Case(
                kind="more",
                title="a restart and a first start are no change",
                replicas=_alone(
                    Phase(minutes=30, rates={}, gauges={}),
                    Phase(minutes=60, rates=_MODEST_JUMP),
                    Phase(minutes=60, rates=_MODEST_JUMP, restarts=True),
                ),
                firing={120: ("RagNoResultsJumpTicket",), 150: ("RagNoResultsJumpTicket",)},
            ),
            Case(
                kind="fires",
                title="retrievals that come back empty point at the index",
                replicas=_alone(
                    Phase(minutes=60),
                    Phase(
                        minutes=60,
                        rates=changed({t.EMPTY: 6, t.HIT: 3, t.PASSED: 2, t.GRADED_OUT: 3}),
                    ),
                ),
                firing={60: (), 120: ("RagNoResultsJumpIndexTicket",)},
            ),
            Case(
                kind="more",
                title="chunks that hardly match point at the index, though the grader fails them",
                replicas=_alone(
                    Phase(minutes=60),
                    Phase(
                        minutes=60,
                        rates=changed({t.WEAK: 15, t.PASSED: 0.5, t.GRADED_OUT: 17}),
                    ),
                ),
                firing={60: (), 90: ("RagNoResultsJumpIndexTicket",),
                        120: ("RagNoResultsJumpIndexTicket",)},
            ),
            Case(
                kind="fires",
                title="chunks that match as before and fail point at the grader",
                replicas=_alone(
                    Phase(minutes=60),
                    Phase(minutes=60, rates=changed({t.PASSED: 0.5, t.GRADED_OUT: 17.25})),
                ),
                firing={60: (), 120: ("RagNoResultsJumpGraderTicket",)},
            ),
        ),
    ),
    "answered_without_evidence": Scenario(
        fault=changed({t.UNFOUNDED: 3, t.ANSWERED: 5}),
        firing={0: (), 3: ("RagAnsweredWithoutEvidenceTicket",),
                25: ("RagAnsweredWithoutEvidencePage", "RagAnsweredWithoutEvidenceTicket")},
        few={t.UNFOUNDED: 1, t.ANSWERED: 1},
        few_firing=("RagAnsweredWithoutEvidenceTicket",),
    ),
    "two_ends": Scenario(
        fault=changed({t.TWO_ENDS: 1}),
        firing={0: (), 3: ("RagTwoEndsTicket",), 25: ("RagTwoEndsTicket",)},
        few={t.TWO_ENDS: 1},
        few_firing=("RagTwoEndsTicket",),
    ),
    "revise_at_cap": Scenario(
        fault=changed({t.LOOP_AT_CAP: 6, t.LOOP_PASSED: 2}),
        firing={15: (), 45: ("RagReviseAtCapTicket",)},
        few={t.LOOP_AT_CAP: 4},
        more=(
            Case(
                kind="more",
                title="a third of the answers at the cap are hard questions, no failure",
                replicas=_alone(
                    Phase(minutes=60),
                    Phase(minutes=90, rates=changed({t.LOOP_AT_CAP: 2.5, t.LOOP_PASSED: 5.5})),
                ),
                firing={105: (), 150: ()},
            ),
            Case(
                kind="more",
                title="loops that an outage stops are not at their cap",
                replicas=_alone(
                    Phase(minutes=60),
                    Phase(minutes=90, rates=changed({t.LOOP_STOPPED: 7, t.LOOP_PASSED: 1})),
                ),
                firing={150: ()},
            ),
        ),
    ),
    "score_not_rising": Scenario(
        fault=changed({t.NOT_RISEN: 1.75, t.ROSE: 0.25}),
        firing={15: (), 45: ("RagScoreNotRisingTicket",)},
        few={t.NOT_RISEN: 4},
    ),
    "stale_critique": Scenario(
        fault=changed({t.STALE: 1.5, t.ROSE: 0.25, t.NOT_RISEN: 0.25}),
        firing={15: (), 45: ("RagStaleCritiqueTicket",)},
        few={t.STALE: 4},
        more=(
            Case(
                kind="more",
                title="now and then the same note for another draft proves nothing",
                replicas=_alone(
                    Phase(minutes=60),
                    Phase(minutes=90, rates=changed({t.STALE: 0.25, t.ROSE: 1.25})),
                ),
                firing={150: ()},
            ),
        ),
    ),
    "probe_flipped": Scenario(
        fault=HEALTHY,
        phases=(Phase(minutes=5, gauges=_wrong(1)), Phase(minutes=10, gauges=_wrong(2))),
        firing={4: (), 7: _FLIP, 15: _FLIP},
        more=(
            Case(
                kind="healthy",
                title="each question comes out wrong now and then, never twice in a row",
                replicas=_alone(
                    Phase(minutes=60),
                    *(Phase(minutes=5, gauges=_wrong(nth % 2, 1 - nth % 2)) for nth in range(12)),
                ),
                firing={60: (), 90: (), 120: ()},
            ),
            Case(
                kind="low",
                title="nobody else asks anything, and it is told as soon",
                replicas=_alone(
                    Phase(minutes=10, rates=IDLE),
                    Phase(minutes=5, rates=IDLE, gauges=_wrong(0, 1)),
                    Phase(minutes=5, rates=IDLE, gauges=_wrong(0, 2)),
                ),
                firing={10: (), 14: (), 17: _FLIP, 20: _FLIP},
            ),
            Case(
                kind="reset",
                title="the prober restarts in the middle of the failure and finds it again",
                replicas=_alone(
                    Phase(minutes=30, gauges=_wrong(6)),
                    Phase(minutes=5, is_gone=True),
                    Phase(minutes=5, gauges=_wrong(1), restarts=True),
                    Phase(minutes=20, gauges=_wrong(2)),
                ),
                firing={30: _FLIP, 60: _FLIP},
            ),
            Case(
                kind="absent",
                title="service and prober vanish",
                replicas=_alone(Phase(minutes=30), Phase(minutes=30, is_gone=True)),
                firing={31: (), 60: ()},
            ),
            Case(
                kind="more",
                title="the page goes on for its keep time after the first right round, then ends",
                replicas=_alone(Phase(minutes=30, gauges=_wrong(9)), Phase(minutes=30)),
                firing={30: _FLIP, 38: _FLIP, 45: (), 60: ()},
            ),
            Case(
                kind="more",
                title="of two probers of a service the one that sees it is believed",
                replicas=(
                    Replica(phases=(Phase(minutes=30),)),
                    Replica(name="b", phases=(Phase(minutes=30, gauges=_wrong(0, 3)),)),
                ),
                firing={30: _FLIP},
            ),
        ),
    ),
    "probe_absent": Scenario(
        fault=HEALTHY,
        phases=(Phase(minutes=30, gauges=_UNPROBED),),
        firing={8: (), 15: ("RagProbeAbsentTicket",), 30: ("RagProbeAbsentTicket",)},
        more=(
            Case(
                kind="healthy",
                title="a service that nobody ever probed, beside one that is probed",
                replicas=(
                    Replica(phases=(Phase(minutes=60, gauges=_UNPROBED),)),
                    Replica(job="other", phases=(Phase(minutes=60),)),
                ),
                firing={30: (), 60: ()},
            ),
            Case(
                kind="low",
                title="probed while nobody else asks",
                replicas=_alone(Phase(minutes=60, rates=IDLE)),
                firing={60: ()},
            ),
            Case(
                kind="reset",
                title="the prober is away for five minutes",
                replicas=_alone(
                    Phase(minutes=30), Phase(minutes=5, gauges=_UNPROBED), Phase(minutes=30)
                ),
                firing={34: (), 45: (), 65: ()},
            ),
            Case(
                kind="absent",
                title="service and prober vanish: that is told once, by another rule",
                replicas=_alone(Phase(minutes=30), Phase(minutes=30, is_gone=True)),
                firing={31: (), 45: (), 60: ()},
            ),
            Case(
                kind="more",
                title="one prober of two may go",
                replicas=(
                    Replica(phases=(Phase(minutes=30), Phase(minutes=30, gauges=_UNPROBED))),
                    Replica(name="b", phases=(Phase(minutes=60),)),
                ),
                firing={45: (), 60: ()},
            ),
        ),
    ),
    "metrics_absent": Scenario(
        fault={},
        phases=(Phase(minutes=60, is_gone=True),),
        firing={8: (), 15: ("RagMetricsAbsentPage",), 60: ("RagMetricsAbsentPage",)},
        more=(
            Case(
                kind="healthy",
                title="idle, then a restart of five minutes",
                replicas=_alone(
                    Phase(minutes=60, rates=IDLE),
                    Phase(minutes=5, is_gone=True),
                    Phase(minutes=60, restarts=True),
                ),
                firing={60: (), 64: (), 75: (), 125: ()},
            ),
            Case(
                kind="low",
                title="nobody asks anything for hours",
                replicas=_alone(Phase(minutes=240, rates=IDLE)),
                firing={240: ()},
            ),
            Case(
                kind="reset",
                title="counters restart without a missed scrape",
                replicas=_alone(Phase(minutes=60), Phase(minutes=60, restarts=True)),
                firing={61: (), 120: ()},
            ),
            Case(
                kind="absent",
                title="no service was ever seen",
                replicas=_alone(Phase(minutes=60, rates={}, gauges={t.NOT_OURS: 0})),
                firing={5: (), 15: ("RagMetricsAbsentPage",), 60: ("RagMetricsAbsentPage",)},
            ),
            Case(
                kind="more",
                title="one replica of two may go",
                replicas=(
                    Replica(name="a", phases=(Phase(minutes=60), Phase(minutes=60, is_gone=True))),
                    Replica(name="b", phases=(Phase(minutes=120),)),
                ),
                firing={75: (), 120: ()},
            ),
            Case(
                kind="more",
                title="of two services the one that vanished is told",
                replicas=(
                    Replica(phases=(Phase(minutes=60), Phase(minutes=60, is_gone=True))),
                    Replica(job="other", phases=(Phase(minutes=120),)),
                ),
                firing={60: (), 75: ("RagMetricsAbsentPage",)},
            ),
        ),
    ),
    "traffic_stopped": Scenario(
        fault=IDLE,
        firing={15: (), 25: ("RagTrafficStoppedTicket",)},
        few={t.ANSWERED: 9},
        more=(
            Case(
                kind="more",
                title="two turns an hour say nothing when they stop",
                replicas=_alone(
                    Phase(minutes=360, rates=times(1 / 256)), Phase(minutes=120, rates=IDLE)
                ),
                firing={400: (), 480: ()},
            ),
            Case(
                kind="more",
                title="one turn every two minutes stops: told after an hour",
                replicas=_alone(
                    Phase(minutes=120, rates=times(1 / 16)), Phase(minutes=75, rates=IDLE)
                ),
                firing={150: (), 195: ("RagTrafficStoppedTicket",)},
            ),
            Case(
                kind="more",
                title="quiet now as it was a week ago is quiet",
                step_minutes=10,
                replicas=_alone(
                    Phase(minutes=1440, rates=IDLE),
                    Phase(minutes=6 * 1440),
                    Phase(minutes=480, rates=IDLE),
                ),
                firing={7 * 1440: (), 7 * 1440 + 60: (), 7 * 1440 + 480: ()},
            ),
            Case(
                kind="more",
                title="silent at a time that was busy a week ago is told for hours",
                step_minutes=10,
                replicas=_alone(Phase(minutes=8 * 1440), Phase(minutes=480, rates=IDLE)),
                firing={8 * 1440: (), 8 * 1440 + 60: ("RagTrafficStoppedTicket",),
                        8 * 1440 + 480: ("RagTrafficStoppedTicket",)},
            ),
        ),
    ),
    "recursion_limit_low": Scenario(
        fault=HEALTHY,
        phases=(Phase(minutes=10, gauges={**GAUGES, t.STEPS_NEEDED: 14}),),
        firing={3: (), 10: ("RagRecursionLimitLowTicket",)},
        more=(
            Case(
                kind="healthy",
                title="the limit is one above what is needed",
                replicas=_alone(Phase(minutes=120)),
                firing={60: (), 120: ()},
            ),
            Case(
                kind="low",
                title="no turn yet: the limit of the latest turn is unknown",
                replicas=_alone(
                    Phase(minutes=60, rates=IDLE, gauges={t.STEPS_NEEDED: 14, t.build(): 1})
                ),
                firing={60: ()},
            ),
            Case(
                kind="reset",
                title="a restart with the fault is told again",
                replicas=_alone(
                    Phase(minutes=30, gauges={**GAUGES, t.STEPS_NEEDED: 12}),
                    Phase(minutes=5, is_gone=True),
                    Phase(minutes=30, gauges={**GAUGES, t.STEPS_NEEDED: 12}, restarts=True),
                ),
                firing={30: ("RagRecursionLimitLowTicket",), 65: ("RagRecursionLimitLowTicket",)},
            ),
            Case(
                kind="absent",
                title="the service vanishes",
                replicas=_alone(Phase(minutes=30), Phase(minutes=30, is_gone=True)),
                firing={31: (), 60: ()},
            ),
        ),
    ),
    "spans_dropped": Scenario(
        fault=changed({t.DROPPED: 20}),
        firing={3: (), 10: ("RagSpansDroppedTicket",)},
        few={t.DROPPED: 1},
        few_firing=("RagSpansDroppedTicket",),
    ),
    "telemetry_errors": Scenario(
        fault=changed({t.BROKEN: 5}),
        firing={3: (), 10: ("RagTelemetryErrorsTicket",)},
        few={t.BROKEN: 1},
        few_firing=("RagTelemetryErrorsTicket",),
    ),
    "model_errors": Scenario(
        fault=changed({t.CALLS: 8, t.FAILED_CALLS: 20, t.FAILED: 7, t.ANSWERED: 1.25}),
        firing={4: (), 15: ("RagModelErrorsPage", "RagModelErrorsTicket")},
        few={t.FAILED_CALLS: 4},
        also=("RagTurnErrorsPage", "RagTurnErrorsTicket"),
        more=(
            Case(
                kind="more",
                title="one call in eight fails: a ticket, no page",
                replicas=_alone(
                    Phase(minutes=60), Phase(minutes=60, rates=changed({t.FAILED_CALLS: 6}))
                ),
                firing={60: (), 120: ("RagModelErrorsTicket",)},
            ),
        ),
    ),
    "judgement_failures": Scenario(
        fault=changed({t.UNPARSED: 6}),
        firing={5: (), 15: ("RagJudgementFailuresTicket",)},
        few={t.UNPARSED: 4, t.JUDGED: 4},
        more=(
            Case(
                kind="more",
                title="calls that time out are model errors, no verdicts that went wrong",
                replicas=_alone(
                    Phase(minutes=60), Phase(minutes=60, rates=changed({t.TIMED_OUT: 12}))
                ),
                firing={120: ()},
            ),
        ),
    ),
    "retriever_errors": Scenario(
        fault=changed({t.SEARCH_ERROR: 8, t.HIT: 1, t.FAILED: 8, t.ANSWERED: 1,
                       t.NO_RESULTS: 0.25}),
        firing={4: (), 15: ("RagRetrieverErrorsPage", "RagRetrieverErrorsTicket")},
        few={t.SEARCH_ERROR: 4},
        also=("RagTurnErrorsPage", "RagTurnErrorsTicket"),
    ),
    "turn_errors": Scenario(
        fault=changed({t.FAILED: 6, t.ANSWERED: 2.25}),
        firing={4: (), 15: ("RagTurnErrorsPage", "RagTurnErrorsTicket")},
        few={t.FAILED: 4},
    ),
    "latency_objective": Scenario(
        fault=changed({t.IN_TIME: 2}),
        firing={8: (), 25: ("RagLatencyObjectivePage", "RagLatencyObjectiveTicket")},
        few={t.DURATIONS: 4},
        more=(
            Case(
                kind="more",
                title="every bucket may be read at another scrape: more in time than there were",
                replicas=_alone(
                    Phase(minutes=60), Phase(minutes=60, rates=changed({t.IN_TIME: 10.5}))
                ),
                firing={60: (), 120: ()},
            ),
        ),
    ),
}  # fmt: skip
"""Slug -> scenario, for every failure whose alerts Prometheus evaluates."""
