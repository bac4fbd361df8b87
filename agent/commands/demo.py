"""`loopscope demo`: the golden questions, then every failure injected and told, on this machine."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from agent.commands.ask import print_answer
from agent.commands.options import agent_options
from agent.compose import Composition
from agent.demo.cases import CASES
from agent.demo.processes import missing_packages
from agent.demo.run import Result, Show
from agent.demo.show import print_result
from agent.demo.stage import RATE, TIME_SCALE, Plan, Stage, staged
from agent.errors import DemoError
from agent.settings import Settings
from telemetry.finite import FiniteRange

MATRIX_FILE = "matrix.json"
FAULTS = [case.fault for case in CASES if case.fault is not None]


@click.command()
@click.option(
    "--once", is_flag=True, help="Stop at the end; exit with 1 unless the matrix is right."
)
@click.option(
    "--only",
    type=click.Choice(FAULTS),
    multiple=True,
    help="Inject this fault alone; may be repeated.",
)
@click.option(
    "--rate",
    type=FiniteRange(0.1, 50),
    default=RATE,
    show_default=True,
    help="Questions a second for each service.",
)
@click.option(
    "--time-scale",
    type=FiniteRange(0.002, 1),
    default=TIME_SCALE,
    help="Factor on every duration of the guide, 1/72 by default; a smaller one needs a higher "
    "--rate.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("var/demo"),
    show_default=True,
    help=f"Folder for {MATRIX_FILE}.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the matrix as one JSON object.")
@agent_options
def demo(
    *,
    once: bool,
    only: Sequence[str],
    rate: float,
    time_scale: float,
    out: Path,
    as_json: bool,
    settings: Settings,
) -> None:
    """Ask the golden questions; then inject every fault and show which alerts fire.

    Without --once everything stays up afterwards, until Ctrl-C.
    """
    console = Console(soft_wrap=True, stderr=as_json)
    missing = missing_packages()
    if missing:
        _open(console, settings)
        console.print(
            f"\nNot shown, since not installed: {', '.join(missing)}. The faults and their alerts "
            f"need both servers; install them with: sudo apt-get install {' '.join(missing)}"
        )
        sys.exit(1 if once else 0)
    folder = Path(tempfile.mkdtemp(prefix="loopscope-demo-"))
    plan = Plan(
        folder=folder,
        cases=[case for case in CASES if not only or case.fault in (None, *only)],
        time_scale=time_scale,
        rate=rate,
        settings=settings,
    )
    stays = not once and sys.stdin.isatty()
    try:
        result = asyncio.run(_show(plan, console, out, stays=stays))
    except DemoError:
        raise  # its message names logs in the folder
    except _StoppedError as stop:
        shutil.rmtree(folder, ignore_errors=True)
        sys.exit(128 + stop.number)
    shutil.rmtree(folder, ignore_errors=True)
    if as_json:
        click.echo(json.dumps(result.as_json(), indent=2))
    if result.problems and not stays:
        sys.exit(1)


class _StoppedError(Exception):
    """The user ended the demo before its end."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)


async def _show(plan: Plan, console: Console, out: Path, *, stays: bool) -> Result:
    """Run the demo; a signal takes everything down first."""
    loop, signals = asyncio.get_running_loop(), list[int]()
    showing = asyncio.create_task(_on_stage(plan, console, out, stays=stays))

    def stop(number: int) -> None:
        signals.append(number)
        showing.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    try:
        return await showing
    except asyncio.CancelledError:
        raise _StoppedError(signals[0]) from None


async def _on_stage(plan: Plan, console: Console, out: Path, *, stays: bool) -> Result:
    began = time.monotonic()
    async with staged(plan, lambda: _open(console, plan.settings)) as stage:
        console.print(Text(f"\n{_parts(stage)}", style="dim"))
        result = await Show(stage, lambda line: console.print(Text(line))).run()
        print_result(result, console)
        _write(result, out, console)
        console.print(Text(f"{time.monotonic() - began:.0f} s in all", style="dim"))
        if stays:
            await _stay(stage, console)
    return result


def _open(console: Console, settings: Settings) -> None:
    """Ask the golden questions."""
    composition = Composition(settings)
    for golden in composition.golden:
        console.print(Text(f"\n> {golden.question}", style="bold"))
        print_answer(composition.default_agent.answer(golden.question), console)


def _parts(stage: Stage) -> str:
    services = len(stage.plan.cases)
    return (
        f"{services} services, Prometheus at {stage.addresses['Prometheus']}, "
        f"Alertmanager at {stage.addresses['Alertmanager']}; "
        f"an hour of the guide is {3600 * stage.plan.time_scale:.0f} s here"
    )


def _write(result: Result, out: Path, console: Console) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / MATRIX_FILE).write_text(json.dumps(result.as_json(), indent=2) + "\n")
    except OSError as error:
        console.print(Text(f"{out / MATRIX_FILE} was not written: {error.strerror}", "yellow"))


async def _stay(stage: Stage, console: Console) -> None:
    """Print where everything is, and wait for Ctrl-C."""
    console.print("\nEverything stays up until Ctrl-C:", style="bold")
    for name, url in stage.addresses.items():
        console.print(Text(f"  {name:18} {url}"))
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stopped.set)
    await stopped.wait()
