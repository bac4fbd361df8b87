"""`loopscope demo`: the golden questions first, then your own."""

from __future__ import annotations

import sys

import click
from rich.console import Console
from rich.text import Text

from agent.commands.ask import print_answer
from agent.commands.options import agent_options
from agent.compose import Composition
from agent.errors import AgentError
from agent.settings import Settings


@click.command()
@click.option("--once", is_flag=True, help="Stop after the golden questions.")
@agent_options
def demo(once: bool, settings: Settings) -> None:
    """Ask the golden questions, then take questions from the terminal."""
    console = Console(soft_wrap=True)
    composition = Composition(settings)
    agent = composition.default_agent
    for golden in composition.golden:
        console.print(Text(f"\n> {golden.question}", style="bold"))
        print_answer(agent.answer(golden.question), console)
    if once or not sys.stdin.isatty():
        return
    console.print("\nAsk anything; an empty line ends.", style="bold")
    while question := click.prompt(">", default="", show_default=False, prompt_suffix=" "):
        try:
            print_answer(agent.answer(question), console)
        except AgentError as error:
            console.print(Text(f"error: {error}", style="red"))
