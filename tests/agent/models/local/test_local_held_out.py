"""What the local model must reach on questions that it was never tuned on.

A topic check that is right in 95 % and refuses at most 3 % of the on-topic questions; 85 % of the
answerable questions answered from the right chunk; at most 15 % of the unanswerable ones answered.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from agent.context import AgentContext
from agent.golden import GoldenQuestion, GoldenSet
from agent.graph import build_graph
from agent.lab.quality import quality
from agent.lab.runs import ask_all
from agent.models.local.chat import LocalChat
from agent.models.support import SupportModel
from agent.retrieval.tfidf import TfidfIndex, TfidfRetriever
from agent.service import SupportAgent

HELD_OUT = Path(__file__).parents[3] / "data" / "questions_heldout.yaml"


@pytest.fixture(scope="module")
def figures(handbook_chat: LocalChat, handbook_index: TfidfIndex) -> dict[str, dict[str, Any]]:
    entries = yaml.safe_load(HELD_OUT.read_text(encoding="utf-8"))
    questions = tuple(
        GoldenQuestion(question=e["question"], topic=e["topic"], answers=tuple(e["answers"]))
        for e in entries
    )
    agent = SupportAgent(
        graph=build_graph(),
        context=AgentContext(
            model=SupportModel(handbook_chat), retriever=TfidfRetriever(index=handbook_index, k=2)
        ),
    )
    return quality(ask_all(agent, GoldenSet(path=HELD_OUT, questions=questions), lambda: None))


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        pytest.param("topic_check_right", 0.95, 1.0, id="topic-check-right"),
        pytest.param("on_topic_refused", 0.0, 0.03, id="few-on-topic-questions-refused"),
        pytest.param("answerable_answered_rightly", 0.85, 1.0, id="answered-from-the-right-chunk"),
        pytest.param("unanswerable_answered", 0.0, 0.15, id="unanswerable-not-answered"),
    ],
)
def test_share_of_the_held_out_questions(
    figures: dict[str, dict[str, Any]], name: str, least: float, most: float
) -> None:
    assert least <= figures[name]["share"] <= most
