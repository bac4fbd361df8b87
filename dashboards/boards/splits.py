"""What tells the causes of a failure apart: for each failure the panels beside its signal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dashboards.boards.layout import Make
from dashboards.boards.panels import drafts, models, nodes, probes, search, turns, versions, watch

SPLITS: Final[Mapping[str, tuple[Make, ...]]] = {
    "silent_rejection": (search.verdicts, versions.refused_by_version),
    "runaway_loop": (turns.recursion_errors, turns.calls_per_turn),
    "budget_checked_first": (versions.discarded_by_version, nodes.routes),
    "synonym_swap": (search.effects, search.swaps_by_attempt),
    "rewrite_drift": (search.similarity, search.answered_after_drift),
    "no_results_jump": (versions.no_results_by_version,),
    "answered_without_evidence": (versions.unfounded_by_version, nodes.routes),
    "two_ends": (turns.conflicts, nodes.routes),
    "revise_at_cap": (drafts.ends, drafts.revisions),
    "score_not_rising": (drafts.revisions, models.calls_by_role),
    "stale_critique": (drafts.revisions,),
    "probe_flipped": (probes.by_question, probes.came_out),
    "metrics_absent": (watch.replicas,),
    "traffic_stopped": (turns.open_turns,),
    "probe_absent": (probes.last_round,),
    "recursion_limit_low": (nodes.budget,),
    "spans_dropped": (watch.dropped,),
    "telemetry_errors": (watch.telemetry_errors,),
    "model_errors": (models.failed_calls, models.judgement_failures),
    "judgement_failures": (models.judgement_failures,),
    "retriever_errors": (search.retrievals, nodes.node_errors),
    "turn_errors": (nodes.node_errors, versions.failed_by_version),
    "latency_objective": (nodes.slow_roles, models.slow_models),
    "datasource_down": (watch.rule_evaluations,),
}
"""Slug of a failure -> its panels, in the order of their ids: add new ones at the end."""
