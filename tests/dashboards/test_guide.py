"""Laws that hold over every definition of the guide."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest
from promql_parser import parse

from agent.cli import main
from dashboards.failure import Alert, Failure
from dashboards.failures import FAILURES, RETIRED_UIDS
from dashboards.settings import Settings
from dashboards.wording import filled
from telemetry import names

CONTRACT = (
    "silent_rejection", "runaway_loop", "budget_checked_first", "synonym_swap", "rewrite_drift",
    "no_results_jump", "metrics_absent", "traffic_stopped", "recursion_limit_low",
    "spans_dropped", "model_errors", "retriever_errors", "latency_objective",
)  # fmt: skip
ALERTS = [(failure, alert) for failure in FAILURES for alert in failure.alerts]
IDS = Path(__file__).with_name("ids.json")
"""Alert -> uid and panel, as released. A changed line here breaks links and silences: add lines,
and when an alert goes, leave its line and add its uid to `RETIRED_UIDS`."""

by_slug = pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.slug)
by_alert = pytest.mark.parametrize(
    ("failure", "alert"), [pytest.param(f, a, id=f.alert_name(a)) for f, a in ALERTS]
)


def test_every_failure_of_the_contract_is_there() -> None:
    assert set(CONTRACT) <= {failure.slug for failure in FAILURES}


def test_nothing_has_the_identity_of_another(settings: Settings) -> None:
    for identities in (
        [failure.slug for failure in FAILURES],
        [failure.title for failure in FAILURES],
        [failure.panel.id for failure in FAILURES],
        [failure.panel.title for failure in FAILURES],
        [failure.alert_name(alert) for failure, alert in ALERTS],
        [failure.alert_uid(alert, settings) for failure, alert in ALERTS],
    ):
        assert len(set(identities)) == len(identities)


def test_identities_are_those_of_earlier_releases(settings: Settings) -> None:
    now = {
        failure.alert_name(alert): {
            "uid": failure.alert_uid(alert, settings),
            "panel": failure.panel.id,
        }
        for failure, alert in ALERTS
    }
    released = json.loads(IDS.read_text())
    gone = {name: ids for name, ids in released.items() if name not in now}

    assert {name: now[name] for name in released if name in now} == {
        name: ids for name, ids in released.items() if name in now
    }
    assert now.keys() <= released.keys(), "add the new alert to tests/dashboards/ids.json"
    assert {ids["uid"].removeprefix("rag-") for ids in gone.values()} == set(RETIRED_UIDS)


def test_the_example_names_are_those_of_the_contract() -> None:
    alert_names = {failure.alert_name(alert) for failure, alert in ALERTS}

    assert {"RagSilentRejectionPage", "RagNoResultsJumpIndexTicket"} <= alert_names
    assert all(re.fullmatch(r"Rag[A-Z][A-Za-z]+(Page|Ticket)", name) for name in alert_names)


@by_alert
def test_labels_are_constants(failure: Failure, alert: Alert, settings: Settings) -> None:
    labels = failure.labels(alert, settings)

    assert labels["failure"] == failure.slug
    assert labels["severity"] in ("page", "ticket")
    assert labels.get("cause") in (None, "index", "grader", "change")
    assert not any("{" in value or "$" in value for value in labels.values())


@by_slug
def test_every_part_of_a_failure_is_written(failure: Failure) -> None:
    texts = [failure.sentence, failure.hurts, failure.meaning, *failure.diagnosis,
             *failure.mitigation, *failure.false_causes]  # fmt: skip

    assert all(text.endswith((".", "?", "`.")) for text in texts), texts
    assert len(failure.diagnosis) >= 2
    assert len(failure.mitigation) >= 2
    assert all(alert.why for alert in failure.alerts)


@by_slug
def test_consequences_are_other_failures(failure: Failure) -> None:
    assert set(failure.consequences) <= {f.slug for f in FAILURES} - {failure.slug}


@by_slug
def test_commands_can_be_typed(failure: Failure, settings: Settings) -> None:
    for command in failure.commands:
        text = filled(command, settings)
        program, *rest = text.split()
        if program == "promtool":
            query = re.fullmatch(r"promtool query instant \"\$PROMETHEUS\" '([^']+)'", text)
            assert query, text
            parse(query[1])
        elif program == "loopscope":
            assert main.get_command(click.Context(main), rest[0]), text
        else:
            assert program == "curl"


@by_slug
def test_trace_queries_ask_for_attributes_that_spans_have(
    failure: Failure, settings: Settings
) -> None:
    query = filled(failure.traces, settings)
    asked = set(re.findall(r"span\.([a-z_.]+)", query))
    known = {value for value in vars(names).values() if isinstance(value, str)}

    assert asked or "name" in query
    assert asked <= known
    assert query.count("{") == query.count("}")


@by_alert
def test_an_alert_for_a_rate_waits_and_one_for_an_event_does_not(
    failure: Failure, alert: Alert, settings: Settings
) -> None:
    """A page on a rate must hold for two evaluations; a rare event already happened."""
    is_event = type(alert.condition).__name__ in ("Happened", "Share", "Burns", "Flipped")

    assert is_event or alert.pending_seconds >= 2 * settings.evaluation_interval


def test_retired_uids_are_never_used_again(settings: Settings) -> None:
    used = {f.alert_uid(a, settings).removeprefix("rag-") for f, a in ALERTS}

    assert used.isdisjoint(RETIRED_UIDS)
