from __future__ import annotations

import pytest

from agent.demo.cases import CASES, HEALTHY, Case
from agent.demo.guide import ALERTS, CONSEQUENCES, Guide
from agent.demo.matrix import Matrix
from agent.faults.catalogue import FAULTS

GUIDE = Matrix(rows=(), alerts=ALERTS, consequences=CONSEQUENCES)


def test_every_fault_has_a_row_and_one_service_stays_sound() -> None:
    assert [case.fault for case in CASES] == [None, *FAULTS]
    assert CASES[0].job == HEALTHY


@pytest.mark.parametrize("case", CASES[1:], ids=lambda case: case.job)
def test_each_row_names_a_failure_of_the_guide_that_has_an_alert(case: Case) -> None:
    assert case.failure in CONSEQUENCES
    assert GUIDE.needed(case)
    assert {a.name for a in GUIDE.needed(case)} <= {a.name for a in GUIDE.own(case)}


@pytest.mark.parametrize("scale", [1 / 72, 1 / 150, 1 / 400, 1.0])
def test_every_scale_gives_rules_that_can_be_evaluated(scale: float) -> None:
    guide = Guide(scale)

    assert guide.window_seconds == pytest.approx(3_600 * scale)
    assert guide.settings.window_short * scale >= 4 * guide.settings.scrape_interval
    assert guide.step_seconds < guide.window_seconds / 10
