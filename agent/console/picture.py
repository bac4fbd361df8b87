"""The graph's picture with a turn's path on it."""

from __future__ import annotations

from collections.abc import Collection

from nicegui import ui

from agent.graph import build_graph

_CONFIG = {"securityLevel": "strict", "theme": "neutral", "flowchart": {"curve": "basis"}}


def mermaid(visited: Collection[str], *, topic_check: bool = True) -> str:
    """Return the graph as Mermaid text, the nodes of a path marked.

    Args:
        visited: Names of nodes.
        topic_check: Whether the graph has the topic check.
    """
    graph = build_graph(topic_check=topic_check).get_graph()
    drawn = graph.draw_mermaid().split("---\n")[-1]
    kept = [line for line in drawn.splitlines() if "classDef" not in line]
    kept = [line.replace(":::first", "").replace(":::last", "") for line in kept]
    on_path = sorted(set(visited) & set(graph.nodes))
    style = "fill:#2f5d8a,color:#ffffff,stroke:#2f5d8a"
    return "\n".join([*kept, f"\tclassDef onpath {style}", f"\tclass {','.join(on_path)} onpath"])


def draw_path(visited: Collection[str], *, topic_check: bool = True) -> None:
    """Draw the graph with the nodes of a path marked."""
    ui.mermaid(mermaid(visited, topic_check=topic_check), config=_CONFIG).style(
        "max-width: 420px"
    ).props('role="img" aria-label="The graph with the path of this question"')
