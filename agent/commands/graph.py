"""`loopscope graph`: the picture of the graph as it really is wired."""

from __future__ import annotations

import click

from agent.commands.options import agent_options
from agent.graph import build_graph
from agent.routers import GRADING_ROUTERS
from agent.settings import Settings


@click.command()
@agent_options
def graph(settings: Settings) -> None:
    """Print the graph as Mermaid text."""
    wired = build_graph(
        topic_check=settings.topic_check,
        branches=settings.branches,
        route_after_grading=GRADING_ROUTERS[settings.router_order],
    )
    click.echo(wired.get_graph().draw_mermaid())
