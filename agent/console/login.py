"""The page that asks for a key, where the service has keys."""

from __future__ import annotations

import json

from nicegui import ui
from starlette.requests import Request

from agent.console.frame import PAGES, frame, text

_SHOW_KEY = """
const reply = await fetch('/console/session', {method: 'POST',
  headers: {'Content-Type': 'application/json'}, body: JSON.stringify({key: %s})});
if (reply.ok) { window.location.replace(%s); }
return reply.ok;
"""


def build(request: Request) -> None:
    """Draw the page; a right key leads to where the caller wanted to go."""
    wanted = request.query_params.get("next", "/")
    is_ours = wanted in dict(PAGES) or wanted.startswith("/turns/")
    following = wanted if is_ours else "/"
    with frame(LOGIN_PATH, "Who is there?", "The console takes the same keys as the API."):
        key = ui.input("Key", password=True).props('outlined autofocus aria-label="Key"')
        said = text("", "soft").props('role="alert"')

        async def show() -> None:
            script = _SHOW_KEY % (json.dumps(key.value or ""), json.dumps(following))
            if not await ui.run_javascript(script, timeout=5):
                said.say("This is none of the service's keys. Check it and try again.")

        key.on("keydown.enter", show)
        ui.button("Continue", on_click=show).props("unelevated").style("margin-top: 12px")


LOGIN_PATH = "/login"
