from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from dashboards.errors import NotificationError
from dashboards.stack.inbox import KEPT, MAX_BYTES, Inbox, Notice, read_notices


def message(**changes: Any) -> dict[str, Any]:
    alert = {
        "status": "firing",
        "labels": {"alertname": "RagRunawayLoopPage", "job": "support-agent"},
        "annotations": {"summary": "support-agent: a turn hit its limit"},
        "startsAt": "2026-01-01T00:00:00Z",
    }
    return {"version": "4", "receiver": "page", "status": "firing", "alerts": [alert], **changes}


def post(url: str, body: bytes) -> int:
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=5) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_each_alert_of_a_notification_is_kept_and_told() -> None:
    told: list[Notice] = []
    with Inbox(tell=told.append) as inbox:
        assert post(inbox.url, json.dumps(message()).encode()) == 200
        notices = inbox.notices

    assert notices == told
    assert [str(notice) for notice in notices] == [
        "page: firing RagRunawayLoopPage (support-agent) support-agent: a turn hit its limit"
    ]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{", id="broken-json"),
        pytest.param(b"[]", id="a-list"),
        pytest.param(b'{"receiver": "page"}', id="no-alerts"),
        pytest.param(b'{"receiver": "page", "alerts": [{"status": "firing"}]}', id="no-labels"),
        pytest.param(b'{"receiver": "page", "alerts": [7]}', id="a-number-for-an-alert"),
        pytest.param(b"\xff\xfe", id="no-text"),
    ],
)
def test_what_is_no_notification_is_refused_and_the_inbox_goes_on(body: bytes) -> None:
    with Inbox() as inbox:
        assert post(inbox.url, body) == 400
        assert post(inbox.url, json.dumps(message()).encode()) == 200
        assert len(inbox.notices) == 1


def test_refusal_says_what_was_expected() -> None:
    with pytest.raises(NotificationError) as refused:
        read_notices(b'{"receiver": "page"}')

    assert refused.value.code == "notification"
    assert str(refused.value) == (
        "no notification: got b'{\"receiver\": \"page\"}' (KeyError: 'alerts'), expected "
        "Alertmanager's webhook format with receiver and alerts. Send it from Alertmanager."
    )


def test_too_large_a_body_is_refused_unread() -> None:
    with Inbox() as inbox:
        request = urllib.request.Request(
            inbox.url, b"", {"Content-Length": str(MAX_BYTES + 1)}, method="POST"
        )
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=5)
        refused.value.close()

    assert refused.value.code == 413


def test_a_line_stays_a_line_whatever_a_label_holds() -> None:
    text = message()
    text["alerts"][0]["annotations"]["summary"] = "one\npage: firing Forged\r\n"

    assert "\n" not in str(read_notices(json.dumps(text).encode())[0])


def test_only_the_newest_notices_are_kept() -> None:
    alert = message()["alerts"][0]
    many = [{**alert, "labels": {"alertname": str(number)}} for number in range(KEPT + 5)]
    with Inbox() as inbox:
        post(inbox.url, json.dumps(message(alerts=many)).encode())
        notices = inbox.notices

    assert (len(notices), notices[0].alert, notices[-1].alert) == (KEPT, "5", str(KEPT + 4))


def test_health_check_is_answered() -> None:
    with Inbox() as inbox, urllib.request.urlopen(inbox.url, timeout=5) as reply:
        assert reply.status == 200
