"""What goes to standard output: JSON for machines, and text that leaves a terminal as it was."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import click


def print_json(value: Any, *, indent: int | None = None) -> None:
    """Print one JSON object on standard output.

    It is ASCII: then the terminal's encoding does not matter, and no character in it (U+2028,
    U+0085) ends a line for a reader that splits at more than the line feed.

    Args:
        value: Built-ins with finite numbers.
        indent: Blanks a level; None for one line.
    """
    click.echo(json.dumps(value, indent=indent, allow_nan=False))


def counted(number: int, what: str) -> str:
    """Return a number with its noun in agreement: `1 chunk`, `2,000 chunks`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def visible(text: str) -> str:
    """Return text without the control characters that steer a terminal; they become U+FFFD.

    Documents, file names and models' replies may hold them, line feed and tab are kept.
    """
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) == "Cc" and c not in "\n\t" else c
        for c in text
    )
