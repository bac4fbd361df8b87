"""The documents as the local model keeps them: chunks cut into a heading and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_SENTENCE_END: Final = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])")
_ABBREVIATION: Final = re.compile(r"\b(?:e\.g|i\.e|etc|vs|approx|no|nr|st|mr|mrs|dr|incl)\.$", re.I)
_LIST_ITEM: Final = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")
_HEADING_MARK: Final = re.compile(r"^\s*#+\s*|\s*\{#[^}]*\}\s*$|\s*#+\s*$")
_TABLE_RULE: Final = re.compile(r"^[\s|:=-]+$")
HEADING_CHARS: Final = 100
"""A longer first line is text, not a heading; chosen by us."""


def split_chunk(text: str) -> tuple[str, list[str]]:
    """Return a chunk's heading, empty when it has none, and its sentences in order.

    Lists give one sentence an item, tables one a row.
    """
    lines = text.strip().splitlines()
    heading = ""
    if len(lines) > 1 and _is_heading(lines[0], lines[1]):
        heading = _HEADING_MARK.sub("", _HEADING_MARK.sub("", lines[0]))
        lines = lines[1:]
    sentences = [
        sentence for block in _blocks(lines) for sentence in _sentences(block) if sentence.strip()
    ]
    return heading, sentences


def _is_heading(line: str, following: str) -> bool:
    if line.lstrip().startswith("#"):
        return True
    is_short = len(line) <= HEADING_CHARS and not line.rstrip().endswith((".", "!", ":", ",", ";"))
    return is_short and not following.strip()


def _blocks(lines: Iterable[str]) -> Iterable[str]:
    """Join wrapped lines; a list item, a table row and a heading each stand alone."""
    block: list[str] = []
    for line in lines:
        is_alone = line.lstrip().startswith(("|", "#"))
        if block and (not line.strip() or is_alone or _LIST_ITEM.match(line)):
            yield " ".join(block)
            block = []
        if _TABLE_RULE.match(line) or not line.strip():
            continue
        if is_alone:
            yield " ".join(line.replace("|", " ").strip(" #").split())
        else:
            block.append(_LIST_ITEM.sub("", line).strip())
    if block:
        yield " ".join(block)


def _sentences(block: str) -> list[str]:
    """Cut a block at the ends of sentences, not after an abbreviation."""
    found: list[str] = []
    for part in _SENTENCE_END.split(block):
        if found and _ABBREVIATION.search(found[-1]):
            found[-1] = f"{found[-1]} {part}"
        else:
            found.append(part)
    return found
