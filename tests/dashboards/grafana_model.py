"""What Grafana does to a provisioned text: expand variables, then render Go templates."""

from __future__ import annotations

import re
from collections.abc import Callable


def expand_everything(text: str, environment: dict[str, str]) -> str:
    """Grafana's expansion of most fields: $NAME and ${NAME}; $$ stands for a dollar."""

    def value(match: re.Match[str]) -> str:
        if match.group(0) == "$$":
            return "$"
        return environment.get(match.group(1) or match.group(2), "")

    return re.sub(r"\$\$|\$\{(\w+)\}|\$(\w+)", value, text)


def expand_braced(text: str, environment: dict[str, str]) -> str:
    """Grafana's expansion of annotations: only ${NAME}."""
    return re.sub(r"\$\{(\w+)\}", lambda match: environment.get(match.group(1), ""), text)


def render(text: str, labels: dict[str, str], value: float, value_name: str) -> str:
    """Render the few template forms that the guide uses; anything else is an error.

    Raises:
        ValueError: A form this model does not know.
    """
    forms: list[tuple[str, Callable[[re.Match[str]], str]]] = [
        (r"\$labels\.(\w+)", lambda m: labels.get(m[1], "")),
        (r'or \$labels\.(\w+) "([^"]*)"', lambda m: labels.get(m[1]) or m[2]),
        (re.escape(value_name) + r" \| humanizePercentage", lambda _: f"{value * 100:.4g}%"),
        (r'printf "%.0f" ' + re.escape(value_name), lambda _: f"{value:.0f}"),
    ]

    def one(match: re.Match[str]) -> str:
        for pattern, result in forms:
            if found := re.fullmatch(pattern, match[1].strip()):
                return result(found)
        raise ValueError(f"no such template: {match[0]}")

    return re.sub(r"\{\{(.*?)\}\}", one, text)
