"""Ask: a chat whose every reply stands beside the path that led to it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from nicegui import ui

from agent.console import words
from agent.console.frame import frame, note, text
from agent.console.sources import Sources
from agent.console.steps import ShownTurn, of_answer, path_of, steps_of
from agent.console.waterfall import draw_end, draw_steps
from agent.errors import AgentError
from agent.events import NodeStarted, Token, Withdrawn
from agent.http.desk import Answered
from agent.memory.thread import Thread

LEAD = "Ask about the documents. Each reply stands beside the steps that led to it and their cost."
EXAMPLES = (
    "Can I export my data after I cancel my plan?",
    "What happens if my server goes down?",
    "Do you offer a student discount?",
    "What's the weather like today?",
)
LEAVING = "loopscope_leaving"
_TELL_LEAVING = f"window.addEventListener('pagehide', () => emitEvent('{LEAVING}'))"
_SHOW = "getHtmlElement(%d)?.scrollIntoView({behavior: 'smooth', block: 'start'})"


def build(sources: Sources, caller: str) -> None:
    """Draw the page for a caller: a new conversation."""
    with frame("/", "Ask", LEAD):
        if sources.is_read_only:
            note("This console is read-only: it takes no questions.")
            return
        _Chat(sources, caller).draw()


class _Chat:
    """One conversation in one tab."""

    def __init__(self, sources: Sources, caller: str) -> None:
        self._sources = sources
        self._caller = caller
        self._thread = Thread.new(caller)
        self._asking: asyncio.Task[object] | None = None
        """The question under way."""

    def draw(self) -> None:
        ui.on(LEAVING, self._leave)
        ui.context.client.on_connect(lambda: ui.run_javascript(_TELL_LEAVING))
        ui.context.client.on_delete(self._leave)  # a browser that vanished and told nothing
        self._turns = ui.element("section").props('aria-label="Conversation" aria-live="polite"')
        with self._turns:
            self._hint = ui.element("div").classes("row")
            with self._hint:
                text("Try one of these:", "soft small", tag="span")
                for example in EXAMPLES:
                    ui.button(example, on_click=lambda _, q=example: self._ask(q)).props(
                        "outline dense no-caps padding='4px 12px'"
                    )
        with ui.element("div").classes("ask-bar"), ui.element("div").classes("row"):
            self._field = ui.input(placeholder="Ask a question and press Enter")
            self._field.props('outlined dense autofocus aria-label="Question"').classes("grow")
            self._send = ui.button("Ask").props("unelevated")
            self._field.on("keydown.enter", self._ask_field)
            self._send.on_click(self._ask_field)

    async def _ask_field(self) -> None:
        await self._ask(self._field.value or "")

    async def _ask(self, question: str) -> None:
        if self._asking is not None or not question.strip():
            return
        self._asking = asyncio.current_task()
        self._hint.set_visibility(False)
        self._field.value = ""
        self._send.disable()
        try:
            with self._turns:
                await _Reply(self._sources, self._caller, self._thread, question).run()
        finally:
            self._asking = None
            self._send.enable()

    def _leave(self) -> None:
        """Cancel the turn that nobody waits for any more, as the API does for a closed stream."""
        if self._asking is not None:
            self._asking.cancel()


class _Reply:
    """One question on the page, and its answer as it comes."""

    def __init__(self, sources: Sources, caller: str, thread: Thread, question: str) -> None:
        self._sources, self._caller, self._thread = sources, caller, thread
        self._question = question
        self._card = ui.element("article").classes("panel two")
        with self._card:
            with ui.element("div"):
                text(question, "ask-q text")
                self._reply = ui.label("").classes("text")
                self._doing = text("Waiting for a place …", "soft small").props('role="status"')
            self._beside = ui.element("div")

    async def run(self) -> None:
        """Ask, show what is told meanwhile, and draw the end."""
        events = self._sources.desk.stream(self._question, caller=self._caller, thread=self._thread)
        try:
            async with aclosing(events):
                async for event in events:
                    match event:
                        case NodeStarted():
                            self._say(f"{words.node(event.node)} …")
                        case Token():
                            self._reply.text += event.text
                        case Withdrawn():
                            self._reply.text = ""
                        case Answered():
                            self._end(of_answer(event.answer))
        except asyncio.CancelledError:
            self._doing.say("Cancelled: the page was left before the reply.")
            raise
        except AgentError as error:  # the edge: a refusal is shown where the reply would be
            self._doing.delete()
            with self._beside:
                note(str(error), is_bad=True)

    def _say(self, doing: str) -> None:
        self._doing.say(doing)

    def _end(self, turn: ShownTurn) -> None:
        self._doing.delete()
        self._reply.text = turn.reply or ""
        with self._beside:
            draw_end(
                turn,
                self._sources.settings.trace_url,
                permalink=self._sources.may_see_turns(self._caller),
            )
            draw_steps(steps_of(turn, path_of(turn)), turn.duration_seconds)
        ui.run_javascript(_SHOW % self._card.id)
