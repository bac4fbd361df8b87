"""What all pages share: the bar at the top, the look, and small pieces of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from nicegui import ui

PAGES: Final = (
    ("/", "Ask"),
    ("/lab", "Lab"),
    ("/walk", "Walk"),
    ("/order", "Order"),
    ("/diagnosis", "Diagnosis"),
    ("/review", "Review"),
    ("/gaps", "Gaps"),
    ("/changes", "Changes"),
)
_CSS: Final = (Path(__file__).parent / "console.css").read_text(encoding="utf-8")


@contextmanager
def frame(path: str, title: str, lead: str) -> Iterator[None]:
    """Draw the bar and the heading of a page; what is drawn inside is its content.

    Args:
        path: Of the page, to mark it in the bar.
        title: Its heading.
        lead: What one does here, in one or two sentences.
    """
    ui.add_css(_CSS)
    ui.colors(primary="#2f5d8a")
    ui.page_title(f"{title} · Loopscope")
    dark = ui.dark_mode(value=None)
    with ui.element("header").classes("top"):
        with ui.element("a").classes("brand").props('href="/"'):
            ui.html("Loopscope", sanitize=False, tag="span")
        with ui.element("nav").classes("nav").props('aria-label="Pages"'):
            for place, name in PAGES:
                mark = ' aria-current="page"' if place == path else ""
                with ui.element("a").props(f'href="{place}"{mark}'):
                    text(name, tag="span")
        ui.button(icon="contrast", on_click=lambda: _turn(dark)).props(
            'flat round dense aria-label="Light or dark"'
        )
    with ui.element("div").classes("page"):
        text(title, tag="h1")
        text(lead, "lead", tag="p")
        yield


def _turn(dark: ui.dark_mode) -> None:
    dark.value = not dark.value


def text(content: str, classes: str = "", *, tag: str = "div") -> Text:
    """Show text as text: whatever is in it, nothing becomes a tag."""
    return Text(tag, content).classes(classes)


class Text(ui.element):
    """An element whose only child is text, which Vue puts in as a text node."""

    def __init__(self, tag: str, content: str) -> None:
        super().__init__(tag)
        self._text = content

    def say(self, content: str) -> None:
        """Show another text."""
        self._text = content
        self.update()


def note(content: str, *, is_bad: bool = False) -> None:
    """Say something about the page itself."""
    text(content, "note bad-note" if is_bad else "note").props('role="status"')


def chip(content: str, kind: str = "") -> None:
    """Show a word or two as a mark; `kind` is `good`, `bad`, `warn` or empty."""
    text(content, f"chip {kind}", tag="span")


def fact(number: str, what: str) -> None:
    """Show a figure and what it counts."""
    with ui.element("span"):
        text(number, "num", tag="b")
        text(f" {what}", tag="span")


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: frozenset[int] = frozenset(),
    chosen: int | None = None,
) -> None:
    """Draw a table of texts.

    Args:
        heads: One a column.
        rows: As many texts as there are heads in each.
        numbers: Columns that are set to the right.
        chosen: A row to mark.
    """
    with ui.element("div").classes("scroll"), ui.element("table").classes("table"):
        with ui.element("thead"), ui.element("tr"):
            for place, head in enumerate(heads):
                text(head, "num" if place in numbers else "", tag="th")
        with ui.element("tbody"):
            for number, row in enumerate(rows):
                with ui.element("tr").classes("chosen" if number == chosen else ""):
                    for place, cell in enumerate(row):
                        text(cell, "num" if place in numbers else "", tag="td")
