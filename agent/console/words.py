"""Codes and numbers as the console says them: outcomes and reasons in words, figures with units."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

OUTCOMES: Final = {
    "answered": "Answered",
    "no_results": "No results",
    "off_topic": "Off topic",
    "clarify": "Asked back",
    "gave_up": "Gave up",
    "recursion_limit": "Recursion limit",
    "error": "Failed",
    "cancelled": "Cancelled",
    "interrupted": "Paused",
}
_REASONS: Final = {
    "passing_chunk": "a chunk passed the grading",
    "classified_irrelevant": "the topic check said that the question is not about the documents",
    "low_confidence": "the topic check was unsure, so it asked back",
    "nothing_passed": "the grader passed no chunk within the allowed rewrites",
    "nothing_retrieved": "the search brought no chunk",
    "evidence_discarded": "the budget was checked before the evidence, and a passed chunk was lost",
    "fallback_failed": "the second source failed",
    "uncritiqued_draft": "the draft was sent without a critique",
    "drafts_used": "no draft was good enough within the budget",
    "draft_failed": "the model wrote no usable draft",
    "recursion_limit": "the graph took more steps than it may",
    "timeout": "the turn took longer than it may",
    "service_stopped": "the service was stopped",
}
_NODES: Final = {
    "enhance_query": "Understand the question",
    "validate_topic": "Check the topic",
    "handle_off_topic": "Refuse",
    "ask_clarification": "Ask back",
    "fetch_content": "Search",
    "assess_relevance": "Grade the chunks",
    "generate_response": "Answer",
    "optimize_query": "Rewrite the search",
    "handle_no_results": "Say that nothing was found",
    "search_fallback": "Search the second source",
    "assess_fallback": "Grade its chunks",
}
EFFECTS: Final = {
    "new_chunks": "brought new chunks",
    "same_chunks": "brought the same chunks",
    "same_chunks_and_scores": "synonym swap: same chunks, same scores",
    "nothing_matched": "matched nothing, as before: a gap in the documents",
}
NOT_CAPTURED: Final = "text was not captured"
HOW_TO_CAPTURE: Final = (
    "The words of questions and replies are not kept, only ids and counts. Set "
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY before `loopscope serve` to "
    "keep them from then on."
)


def outcome(code: str) -> str:
    """Return an outcome as a person says it."""
    return OUTCOMES.get(code, code.replace("_", " "))


def reason(code: str | None) -> str:
    """Return a reason as half a sentence; an unknown code as it is."""
    return "" if code is None else _REASONS.get(code, code.replace("_", " "))


def node(name: str) -> str:
    """Return what a node does."""
    return _NODES.get(name, name)


def counted(number: int, what: str) -> str:
    """Return a number with its noun: `1 call`, `2,000 calls`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def estimated(number: float) -> str:
    """Return a count that Prometheus extrapolated, never as 0 when there was something."""
    whole = max(round(number), int(number > 0))
    return f"{whole:,}" if number == whole else f"about {whole:,}"


def seconds(value: float) -> str:
    """Return a duration in the unit that suits it."""
    if value < 0.000095:
        return f"{value * 1e6:.0f} µs"
    if value < 0.0995:
        return f"{value * 1000:.1f} ms" if value < 0.00995 else f"{value * 1000:.0f} ms"
    return f"{value:.2f} s" if value < 60 else f"{value / 60:.1f} min"


def span(value: float) -> str:
    """Return a stretch of time as a person says it: `15 min`, `6 h`, `3 d`."""
    for length, unit in ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min")):
        if value >= length:
            return f"{value / length:.3g} {unit}"
    return f"{value:.0f} s"


def percent(value: float) -> str:
    """Return a limit of 0 to 1 in per cent, without zeros at its end."""
    return f"{round(value * 100, 1):g} %"


def share(value: float | None) -> str:
    """Return a share of 0 to 1 in per cent; a dash for one of nothing."""
    return "–" if value is None else f"{value * 100:.1f} %"


def score(value: float | None) -> str:
    """Return a chunk's score."""
    return "no score" if value is None else f"{value:.3f}"


def moment(unix_seconds: float) -> str:
    """Return a time in UTC, to the second."""
    return datetime.fromtimestamp(unix_seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
