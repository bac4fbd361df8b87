from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.console.workbench import PUBLISHED, Experiment, Plan, Workbench
from agent.lab.stages import stages
from agent.settings import Settings

FIGURES = json.loads(
    (Path(__file__).parents[2] / "data" / "published-figures.json").read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def workbench() -> Workbench:
    return Workbench(Settings(model="golden"))


def test_the_published_example_gives_the_published_table(workbench: Workbench) -> None:
    experiment = Experiment(PUBLISHED)
    experiment.run(workbench)

    assert experiment.report is not None
    assert experiment.done == experiment.total > 0
    table = experiment.report.as_json()["table3_golden_set_by_bound"]
    assert table == FIGURES["table3_golden_set_by_bound"]


def test_a_cancelled_run_says_how_far_it_came(workbench: Workbench) -> None:
    experiment = Experiment(PUBLISHED)
    experiment.cancel()
    experiment.run(workbench)

    assert experiment.report is None
    assert experiment.problem == f"cancelled after 1 of {experiment.total} questions"


def test_a_model_that_does_not_exist_is_said(workbench: Workbench) -> None:
    experiment = Experiment(Plan(model="nobody"))
    experiment.run(workbench)

    assert experiment.problem is not None
    assert experiment.problem.startswith("unknown model")


def test_budget_first_runs_the_whole_lab_in_that_order(workbench: Workbench) -> None:
    right, wrong = (Experiment(Plan(router_order=o)) for o in ("evidence_first", "budget_first"))  # type: ignore[arg-type]  # literals of a loop
    for experiment in (right, wrong):
        experiment.run(workbench)

    assert right.report is not None and wrong.report is not None
    answered = [
        sum(row.answer.outcome == "answered" for row in report.checked[2])
        for report in (right.report, wrong.report)
    ]
    assert answered[1] < answered[0]


def test_the_student_discount_walk_is_the_published_one(workbench: Workbench) -> None:
    agent = workbench.agent(PUBLISHED, max_rewrites=2)
    walked = stages(agent, "Do you offer a student discount?")
    published = FIGURES["student_discount_running_total_of_calls"]

    assert [s.llm_calls for s in walked if s.node in
            ("validate_topic", "assess_relevance", "handle_no_results")
            ] == [row["llm_calls"] for row in published]  # fmt: skip
    assert walked[-1].outcome == "no_results"
    assert [s.next_node for s in walked[:-1]] == [s.node for s in walked[1:]]


def test_a_stage_after_the_search_shows_what_was_found(workbench: Workbench) -> None:
    walked = stages(workbench.agent(PUBLISHED, max_rewrites=0), "Do you offer a student discount?")
    search, grading = (next(s for s in walked if s.node == n)
                       for n in ("fetch_content", "assess_relevance"))  # fmt: skip

    assert search.latest is not None and grading.latest is not None
    assert {c["grade"] for c in search.latest["chunks"]} == {"ungraded"}
    assert {c["grade"] for c in grading.latest["chunks"]} == {"fail"}
