"""Where notifications arrive until there is a pager: a webhook receiver that tells each alert.

`python -m dashboards.stack.inbox --host 0.0.0.0 --port 9099` prints one line an alert. A program
that starts its own Alertmanager uses `Inbox` and reads what came.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self

import click

from dashboards.errors import NotificationError

MAX_BYTES: Final = 1 << 20
"""Largest body read, in bytes. A notification of 100 alerts has about 100 kB."""
STOP_SECONDS: Final = 0.05
"""Longest wait until the server notices that it should stop."""
KEPT: Final = 1000
"""Notices kept; the oldest goes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One alert of one notification."""

    receiver: str
    """Name of Alertmanager's receiver: `page`, `ticket` or `default`."""
    status: str
    """`firing` or `resolved`."""
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    starts_at: str
    """When the alert began, as Alertmanager wrote it (RFC 3339)."""

    @property
    def alert(self) -> str:
        """Name of the alert."""
        return self.labels.get("alertname", "")

    def __str__(self) -> str:
        where = self.labels.get("job", "no job")
        summary = self.annotations.get("summary", "")
        text = f"{self.receiver}: {self.status} {self.alert} ({where}) {summary}"
        return " ".join(text.split())  # a line stays a line, whatever a label holds


def read_notices(body: bytes) -> list[Notice]:
    """Return the alerts of a notification in Alertmanager's webhook format, version 4.

    Raises:
        NotificationError: The body is no such notification.
    """
    try:
        message = json.loads(body)
        return [_notice(message["receiver"], alert) for alert in message["alerts"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NotificationError(body, error) from error


def _notice(receiver: str, alert: Mapping[str, Any]) -> Notice:
    return Notice(
        receiver=receiver,
        status=alert["status"],
        labels=dict(alert["labels"]),
        annotations=dict(alert.get("annotations", {})),
        starts_at=alert["startsAt"],
    )


class Inbox:
    """An HTTP server in a thread of its own, from `with` to the end of its block.

    Args:
        host: Address it binds to.
        port: 0 takes a free one.
        tell: Called with each notice as it comes, in a thread of the server.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tell: Callable[[Notice], object] | None = None,
    ) -> None:
        self._notices: deque[Notice] = deque(maxlen=KEPT)
        self._tell = tell
        self._server = _Server((host, port), self._take)
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": STOP_SECONDS},
            name="inbox",
            daemon=True,
        )

    @property
    def url(self) -> str:
        """Address for Alertmanager on this machine."""
        return f"http://127.0.0.1:{self._server.server_port}/"

    @property
    def notices(self) -> list[Notice]:
        """What came so far, oldest first."""
        return list(self._notices)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def wait(self) -> None:
        """Stay until the process is told to stop."""
        self._thread.join()

    def _take(self, notices: list[Notice]) -> None:
        for notice in notices:
            self._notices.append(notice)
            if self._tell is not None:
                self._tell(notice)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, at: tuple[str, int], take: Callable[[list[Notice]], None]) -> None:
        self.take = take
        super().__init__(at, _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        """Answer health checks."""
        self._reply(HTTPStatus.OK)

    def do_POST(self) -> None:
        """Take a notification; what is none is refused, so that Alertmanager counts the failure."""
        size = int(self.headers.get("Content-Length") or 0)
        if size > MAX_BYTES:
            self._reply(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        try:
            notices = read_notices(self.rfile.read(size))
        except NotificationError as error:
            self._reply(HTTPStatus.BAD_REQUEST, str(error))
            return
        self.server.take(notices)
        self._reply(HTTPStatus.OK)

    def _reply(self, status: HTTPStatus, text: str = "") -> None:
        body = (text or status.phrase).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing of requests: the notices are the log."""


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to bind to.")
@click.option("--port", default=9099, show_default=True, type=click.IntRange(0, 65535))
def main(host: str, port: int) -> None:
    """Print each alert that Alertmanager sends."""
    with Inbox(host=host, port=port, tell=click.echo) as inbox:
        click.echo(f"waiting for notifications at {inbox.url}", err=True)
        inbox.wait()


if __name__ == "__main__":
    main()
