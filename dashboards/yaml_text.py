"""YAML that is the same for the same data: keys in our order, long texts as blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import yaml

HEADER: Final = (
    "# Generated from dashboards/failures.py by `loopscope dashboards generate`. Do not edit.\n"
)


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, and repeats what is equal instead of pointing."""

    def ignore_aliases(self, _: Any) -> bool:
        """Never write an anchor: readers of rule files need not know them."""
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def dump(data: Mapping[str, Any], *, about: str = "") -> str:
    """Return the data as YAML under the header.

    Args:
        data: Plain values; keys stay in their order.
        about: One more comment line.
    """
    body = yaml.dump(
        dict(data), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=4096, indent=2
    )
    return HEADER + (f"# {about}\n" if about else "") + body
