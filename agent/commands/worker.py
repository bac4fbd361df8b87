"""`loopscope worker`: a process of `loopscope serve --workers N`, started by that alone."""

from __future__ import annotations

import socket

import click

from agent.serving import Plan, serve_here
from agent.workers import is_ready, received


@click.command()
def worker() -> None:
    """Serve on a socket that was inherited."""
    settings, file, rates, is_quiet = received()
    plan = Plan(settings=settings, rates=rates, is_quiet=is_quiet)
    with socket.socket(fileno=file) as listening:
        serve_here(plan, listening, is_ready)
