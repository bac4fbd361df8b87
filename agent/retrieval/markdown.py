"""Read a markdown file into sections: one for each heading, its text without the markup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

_FRONT_MATTER: Final = re.compile(r"\A---[ \t]*\n(.*?\n)??(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_ANCHOR: Final = re.compile(r"\s*\{#([^\s{}\[\]]+)\}\s*\Z")
_HTML: Final = re.compile(r"<!--.*?(?:-->|\Z)|</?[a-zA-Z][^>]*>", re.DOTALL)
_LINE_BREAK: Final = re.compile(r"<br\s*/?>", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What stands between two headings."""

    titles: tuple[str, ...]
    """The heading and those above it, outermost first; empty before the first heading."""
    anchor: str | None
    """The name given by hand as `## Heading {#name}`."""
    text: str
    """The body as plain text, blocks parted by blank lines; may be empty."""


def read_sections(source: str) -> tuple[str | None, list[Section]]:
    """Cut markdown at its headings; a `#` in code, a quote or a list is none.

    Link targets, comments and tags are left out, so that they are neither searched nor quoted.

    Args:
        source: CommonMark with tables; may start with YAML front matter.

    Returns:
        The front matter's title, if any, and the sections in order of appearance.
    """
    title, body = _split_front_matter(source)
    tokens = MarkdownIt("commonmark").enable("table").parse(body)
    heads = [i for i, t in enumerate(tokens) if t.type == "heading_open" and t.level == 0]
    found = [Section(titles=(), anchor=None, text=_text(tokens[: heads[0] if heads else None]))]
    above: list[tuple[int, str]] = []
    for head, stop in pairwise([*heads, len(tokens)]):
        level = int(tokens[head].tag[1:])
        heading = _inline_text(tokens[head + 1].children or [])
        anchor = _ANCHOR.search(heading)
        above = [outer for outer in above if outer[0] < level]
        above.append((level, _ANCHOR.sub("", heading)))
        found.append(
            Section(
                titles=tuple(text for _, text in above if text),
                anchor=anchor and anchor.group(1),
                text=_text(tokens[head + 3 : stop]),
            )
        )
    return title, found


def _split_front_matter(source: str) -> tuple[str | None, str]:
    """Take YAML front matter off; one that is no YAML gives no title."""
    match = _FRONT_MATTER.match(source)
    if match is None:
        return None, source
    try:
        fields = yaml.safe_load(match.group(1) or "")
    except yaml.YAMLError:
        fields = None
    title = fields.get("title") if isinstance(fields, dict) else None
    return (title if isinstance(title, str) else None), source[match.end() :]


def _text(tokens: Sequence[Token]) -> str:
    """Join the blocks: items of a list and rows of a table by line, others by a blank line."""
    text, last = "", ""
    for kind, block in _blocks(tokens):
        if block.strip():
            text += ("\n" if kind == last != "block" else "\n\n") if text else ""
            text, last = text + block.strip("\n"), kind
    return text


def _blocks(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Yield the blocks of plain text, each with its kind: `item`, `row` or `block`."""
    item, cells = "", list[str]()
    is_cell = False
    for token in tokens:
        if token.type == "list_item_open":
            item = f"{token.info}. " if token.info else "- "
        elif token.type in {"th_open", "td_open"}:
            is_cell = True
        elif token.type == "tr_close":
            yield "row", " | ".join(cells)
            cells = []
        elif token.type in {"fence", "code_block"}:
            yield "block", token.content
        elif token.type == "html_block":
            yield "block", _HTML.sub("", _LINE_BREAK.sub("\n", token.content)).strip()
        elif token.type == "inline":
            text = _inline_text(token.children or [])
            if is_cell:
                cells.append(text)
                is_cell = False
            else:
                yield ("item" if item else "block"), item + text
                item = ""


def _inline_text(children: Sequence[Token]) -> str:
    """Return the words of a line of markdown; lines of a paragraph are joined by a blank."""
    parts = []
    for child in children:
        if child.type in {"text", "code_inline", "image"}:
            parts.append(child.content)
        elif child.type == "softbreak":
            parts.append(" ")
        elif child.type == "hardbreak" or _LINE_BREAK.fullmatch(child.content):
            parts.append("\n")
    return "".join(parts).strip()
