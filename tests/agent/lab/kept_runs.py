"""Kept runs of the lab, made by hand: each starts from one good run."""

from __future__ import annotations

from typing import Any

from agent.lab.kept import KeptQuestion, KeptRun

SETTINGS = {"k": 2, "second_model": None, "revise_model": None, "fallback": None}


def make_question(question: str = "Q1", **changes: Any) -> KeptQuestion:
    given: dict[str, Any] = {
        "question": question, "history": None, "expected": "answered", "answers": ("a",),
        "outcome": "answered", "is_expected": True, "citations": ("a",), "llm_calls": 4,
    }  # fmt: skip
    return KeptQuestion(**{**given, **changes})


def make_wrong(question: str = "Q1", **changes: Any) -> KeptQuestion:
    wrong = {"outcome": "no_results", "is_expected": False, "citations": (), "llm_calls": 9}
    return make_question(question, **{**wrong, **changes})


def make_run(*questions: KeptQuestion, model: str = "local", **changes: Any) -> KeptRun:
    given: dict[str, Any] = {
        "format": 1, "id": "0000000a", "at": "2026-12-01T03:00:00Z",
        "build": {"version": "1", "index": "i", "prompt": "p", "grader": model, "model": model},
        "bound": 2, "settings": SETTINGS, "golden_name": "g.yaml", "golden_digest": "0" * 12,
        "questions": questions or (make_question(),),
    }  # fmt: skip
    return KeptRun.model_validate({**given, **changes})


def make_runs(
    *, right: int = 0, lost: int = 0, won: int = 0, wrong: int = 0, **changes: Any
) -> tuple[KeptRun, KeptRun]:
    """Return two runs of the same questions, of which so many went each way."""
    before, after = [], []
    for kind, number in (("right", right), ("lost", lost), ("won", won), ("wrong", wrong)):
        for place in range(number):
            name = f"{kind} {place}"
            before.append((make_question if kind in ("right", "lost") else make_wrong)(name))
            after.append((make_question if kind in ("right", "won") else make_wrong)(name))
    return make_run(*before, **changes), make_run(*after, **{"id": "0000000b", **changes})
