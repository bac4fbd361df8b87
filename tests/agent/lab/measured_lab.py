"""The lab on a golden set of a user's own, with the stand-in model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent.compose import Composition
from agent.lab.report import Lab, LabReport
from agent.service import SupportAgent
from agent.settings import Settings

FOLLOW_UP = """
- question: And for students?
  standalone: Do you offer a student discount?
  topic: on
  answers: []
  rewrites: [student price]
  history:
    - {question: "What does a plan cost?", reply: From 5 euros a month.}
- {question: "Refund?", topic: on, answers: [refunds]}
- {question: Tell me a joke, topic: off, answers: []}
"""


def composed(golden: Path, **changes: Any) -> Composition:
    return Composition(Settings(**{"model": "golden", "golden": golden, **changes}))


def lab_of(composition: Composition, *, clarify: bool = False) -> Lab:
    settings = composition.settings

    def make_agent(**varied: Any) -> SupportAgent:
        return composition.agent(settings.model_copy(update=varied))

    return Lab(
        make_agent=make_agent, golden=composition.golden, k=settings.k, max_bound=2,
        recursion_limits=(), clarify=clarify,
    )  # fmt: skip


def measure(composition: Composition) -> LabReport:
    return lab_of(composition).run(lambda: None)
