"""Write the generated parts of README.md and docs/ between their markers, or check them.

python docs/generate.py            writes
python docs/generate.py --check    exits with 1 when something differs
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from prometheus_client import CollectorRegistry

from agent.demo.cases import CASES
from agent.faults.catalogue import FAULTS
from agent.graph import build_graph
from agent.settings import Settings
from telemetry.families import Family, metric_set
from telemetry.probe_metrics import ProbeMetrics

ROOT = Path(__file__).parents[1]


def graph() -> str:
    """Return the graph's picture as Mermaid."""
    drawn = build_graph().get_graph().draw_mermaid()
    # GitHub draws `graph TD` blocks; LangGraph's front matter and class lines are noise there.
    lines = drawn.split("---\n")[-1].splitlines()
    kept = [line for line in lines if not line.strip().startswith("classDef")]
    return "```mermaid\n" + "\n".join(kept).strip() + "\n```"


def settings() -> str:
    """Return the table of all settings."""
    rows = ["| variable | default | what it is |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        default = "" if field.default is None else f"`{field.default}`"
        rows.append(f"| `LOOPSCOPE_{name.upper()}` | {default} | {field.description} |")
    return "\n".join(rows)


def metrics() -> str:
    """Return the table of a service's metrics, as they are registered."""
    return _metrics(metric_set(CollectorRegistry()).all)


def probe_metrics() -> str:
    """Return the table of a prober's metrics."""
    return _metrics(ProbeMetrics(CollectorRegistry(), {}).families.values())


def _metrics(families: Iterable[Family]) -> str:
    rows = ["| metric | type | labels | what it counts |", "|---|---|---|---|"]
    for family in families:
        name = f"{family._name}_total" if family._type == "counter" else family._name
        labels = ", ".join(f"`{label}`" for label in family._labelnames)
        rows.append(f"| `{name}` | {family._type} | {labels} | {family._documentation} |")
    return "\n".join(rows)


def faults() -> str:
    """Return the table of all faults, with the failure that the demo looks for."""
    told = {case.fault: case for case in CASES}
    rows = ["| fault | wraps | share | what it does | failure |", "|---|---|---|---|---|"]
    for fault in FAULTS.values():
        case = told[fault.name]
        page = f"[{case.failure}](runbooks/{case.failure}.md)"
        cause = f", cause {case.cause}" if case.cause else ""
        rows.append(
            f"| `{fault.name}` | {fault.wraps} | {fault.share:g} | {fault.does} | {page}{cause} |"
        )
    return "\n".join(rows)


BLOCKS = {
    "faults": faults,
    "graph": graph,
    "metrics": metrics,
    "probe_metrics": probe_metrics,
    "settings": settings,
}
FILES = (
    "README.md", "docs/game-day.md", "docs/probe.md", "docs/reference.md", "docs/telemetry.md",
)  # fmt: skip


def filled(text: str) -> str:
    """Return the text with every marked block made anew."""
    for name, make in BLOCKS.items():
        pattern = rf"(<!-- generated: {name} -->\n).*?(\n<!-- end -->)"
        text = re.sub(pattern, lambda m, make=make: m[1] + make() + m[2], text, flags=re.DOTALL)
    return text


def main() -> int:
    """Write or check all files; return the exit code."""
    differing = []
    for name in FILES:
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        if filled(text) != text:
            differing.append(name)
            if "--check" not in sys.argv:
                path.write_text(filled(text), encoding="utf-8")
    if differing and "--check" in sys.argv:
        sys.stderr.write(f"out of date: {', '.join(differing)}; run python docs/generate.py\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
