"""What one process of the service has made before it tells its port."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from agent.compose import Composition
from agent.faults.catalogue import read_fault
from agent.serving import Plan, answering
from agent.settings import NO_RECORDS, Settings


def test_the_first_rewrite_waits_for_nothing_that_is_still_to_be_made() -> None:
    settings = Settings(model="golden", records=NO_RECORDS)
    composition = Composition(settings, registry=CollectorRegistry())

    answering(composition, Plan(settings=settings))

    assert {"drift", "default_agent"} <= vars(composition).keys()


def test_nor_does_that_of_a_game_day() -> None:
    settings = Settings(model="golden", records=NO_RECORDS)
    composition = Composition(settings, registry=CollectorRegistry())

    answering(composition, Plan(settings=settings, injection=read_fault("synonym-swap", seed=0)))

    assert "drift" in vars(composition)
