"""What is made of what Prometheus says, by a server that says what a test wants."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit

import pytest
from standing import standing

from agent.console.diagnosis import State
from agent.console.firing import prometheus_states
from agent.console.guide import guide
from telemetry.fetch import FetchError

SWAP = "RagSynonymSwapTicket"
REJECTED_PAGE, REJECTED_TICKET = "RagSilentRejectionPage", "RagSilentRejectionTicket"
NAMES = [alert.name for f in guide() if f.in_prometheus for alert in f.alerts]
EARLY, LATE = "2026-03-01T10:00:00.5Z", "2026-03-01T12:00:00Z"


def active(state: str, at: str, job: str = "support") -> dict[str, Any]:
    return {"state": state, "activeAt": at, "labels": {"job": job}}


def rule(name: str, *alerts: dict[str, Any], **more: str) -> dict[str, Any]:
    return {"name": name, "health": "ok", "alerts": list(alerts), **more}


@pytest.fixture
def states() -> Iterator[Callable[..., dict[str, State]]]:
    """Return the states by a Prometheus with these rules beside quiet ones, and this value."""

    def ask(
        *rules: dict[str, Any], without: str = "", value: object = "0.31", body: object = None
    ) -> dict[str, State]:
        changed = {one["name"]: one for one in rules}
        said = [changed.get(name, rule(name)) for name in NAMES if name != without]
        series = [] if value is None else [{"metric": {}, "value": [0, value]}]
        replies = {
            "/api/v1/rules": {"data": {"groups": [{"rules": said}]}} if body is None else body,
            "/api/v1/query": {"data": {"result": series}},
        }

        class Says(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(replies[urlsplit(self.path).path]).encode())

            def log_message(self, *_: object) -> None:
                """Stay silent."""

        return prometheus_states(guide(), f"{servers.enter_context(standing(Says))}/")

    with ExitStack() as servers:
        yield ask


def test_a_quiet_alert(states: Callable[..., dict[str, State]]) -> None:
    assert states()["synonym_swap"] == State(
        level="quiet", signal="31.0 %", threshold="ticket surely above 25 %"
    )


def test_a_firing_alert_says_since_when_and_where(states: Callable[..., dict[str, State]]) -> None:
    state = states(rule(SWAP, active("firing", LATE, "b"), active("firing", EARLY, "a")))

    swap = state["synonym_swap"]
    assert (swap.level, swap.since, swap.where) == ("ticket", 1_772_359_200.5, "a, b")


@pytest.mark.parametrize(
    ("page", "ticket", "level"),
    [
        pytest.param("firing", "firing", "page", id="a-page-before-a-ticket"),
        pytest.param("pending", "firing", "ticket", id="a-firing-ticket-before-a-pending-page"),
        pytest.param("pending", "inactive", "pending", id="a-pending-page-before-nothing"),
    ],
)
def test_the_worst_alert_counts(
    states: Callable[..., dict[str, State]], page: str, ticket: str, level: str
) -> None:
    found = states(
        rule(REJECTED_PAGE, active(page, LATE)), rule(REJECTED_TICKET, active(ticket, LATE))
    )

    assert found["silent_rejection"].level == level


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param(
            {"without": SWAP},
            f"Prometheus has no rule {SWAP}: load the generated rules",
            id="rules-that-are-not-loaded",
        ),
        pytest.param(
            {"rules": [rule(SWAP, health="err", lastError="many-to-many matching")]},
            "the rule fails: many-to-many matching",
            id="a-rule-that-fails",
        ),
    ],
)
def test_nothing_active_is_no_health_where_nobody_looks(
    states: Callable[..., dict[str, State]], given: dict[str, Any], said: str
) -> None:
    rules = given.pop("rules", [])

    state = states(*rules, **given)["synonym_swap"]

    assert (state.level, state.seen_by) == ("unknown", said)


def test_an_alert_fires_although_another_of_its_failure_is_not_loaded(
    states: Callable[..., dict[str, State]],
) -> None:
    found = states(rule(REJECTED_PAGE, active("firing", LATE)), without=REJECTED_TICKET)

    assert found["silent_rejection"].level == "page"


def test_what_grafana_alone_sees_is_not_known(states: Callable[..., dict[str, State]]) -> None:
    assert states()["datasource_down"].seen_by == "Grafana only"


def test_an_expression_without_series(states: Callable[..., dict[str, State]]) -> None:
    assert states(value=None)["synonym_swap"].signal == "no series"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({}, id="empty"),
        pytest.param({"data": []}, id="another-shape"),
        pytest.param({"data": {"groups": [None]}}, id="a-group-that-is-null"),
        pytest.param({"data": {"groups": [{"rules": [{}]}]}}, id="a-rule-without-a-name"),
        pytest.param(
            {"data": {"groups": [{"rules": [rule(REJECTED_PAGE, active("firing", "soon"))]}]}},
            id="a-time-that-is-none",
        ),
    ],
)
def test_something_else_that_answers_is_refused(
    states: Callable[..., dict[str, State]], body: object
) -> None:
    with pytest.raises(FetchError, match="is not answered as by Prometheus"):
        states(body=body)


def test_a_fault_of_our_own_is_not_laid_at_the_door_of_prometheus(
    states: Callable[..., dict[str, State]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(_: object) -> str:
        raise KeyError("ours")

    monkeypatch.setattr("agent.console.firing.usual_threshold", wrong)

    with pytest.raises(KeyError, match="ours"):
        states()
