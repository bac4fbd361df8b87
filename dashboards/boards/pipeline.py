"""The pipeline: every step of the loop, and the watch on the watcher."""

from __future__ import annotations

from dashboards.boards.layout import Board, Make, Placed, Row
from dashboards.boards.panels import models, nodes, probes, search, turns, versions, watch

HEIGHT = 8


def board() -> Board:
    """Return the board."""
    return Board(
        slug="pipeline",
        title="Loopscope: pipeline",
        about="Every step of the loop from the topic check to the reply, by role, so that any "
        "instrumented graph fits; below, versions side by side and the health of what watches.",
        has_versions=True,
        rows=(
            _row(1, "Topic check and steps", search.verdicts, nodes.runs, nodes.slow_roles),
            _row(2, "Retrieval", search.retrievals, search.scores, search.scores_by_grade),
            _row(
                3, "Grading", search.grades, search.passed, search.retrievals_by_attempt
            ),
            _row(
                4, "Rewriting", search.effects, search.rewrites_by_attempt,
                search.rewrites_per_turn, search.swaps_by_attempt, search.similarity,
                search.answered_after_drift,
            ),
            _row(
                5, "Models", models.calls_by_role, models.slow_models, models.failed_calls,
                models.tokens, models.tokens_per_call, models.judgement_failures,
            ),
            _row(
                6, "Routes and bounds", nodes.routes, nodes.room, nodes.room_used,
                turns.recursion_errors, turns.conflicts, nodes.node_errors,
            ),
            _row(
                7, "Turns", turns.duration_heat, turns.calls_per_turn, turns.open_turns,
                turns.conversations, turns.conversation_bytes,
            ),
            Row(
                id=8,
                title="Canary: versions side by side (choose them in the variable Version)",
                panels=tuple(
                    Placed(id=place, make=make, width=width, height=HEIGHT)
                    for place, make, width in (
                        (85, versions.traffic_by_version, 8),
                        (82, versions.nothing_found_by_version, 8),
                        (86, versions.off_topic_by_version, 8),
                        (87, versions.gone_wrong_by_version, 8),
                        (88, versions.rewrote_by_version, 8),
                        (81, versions.answered_by_version, 8),
                        (83, watch.replicas, 8),
                        (84, watch.builds, 16),
                    )
                ),
            ),
            _row(
                9, "Watch on the watcher", watch.dropped, watch.telemetry_errors,
                watch.rule_evaluations, watch.rule_time,
            ),
            _row(
                10, "Probes: known questions", probes.came_out, probes.by_question,
                probes.seconds, probes.last_round, probes.apart,
            ),
        ),
    )  # fmt: skip


def _row(place: int, title: str, *makes: Make) -> Row:
    """A row whose panels are a third wide each, or a quarter when there are four.

    The id of a panel is its place in the row: add new ones at the end.
    """
    width = 6 if len(makes) == 4 else 8
    return Row(
        id=place,
        title=title,
        panels=tuple(
            Placed(id=10 * place + nth, make=make, width=width, height=HEIGHT)
            for nth, make in enumerate(makes, 1)
        ),
    )
