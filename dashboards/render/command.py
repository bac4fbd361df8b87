"""The sub-command `render`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final, get_args

import click

from dashboards import durations
from dashboards.boards.files import boards
from dashboards.boards.frame import dashboard_json
from dashboards.errors import BoardFileError, RangeError
from dashboards.render.board import Board, load_board, read_board
from dashboards.render.draw import draw
from dashboards.render.page import Theme
from dashboards.render.picture import take_picture
from dashboards.render.source import TIMEOUT_SECONDS, Prometheus
from dashboards.render.span import moment
from dashboards.settings import Settings, load_settings

DEFAULT_BOARD: Final = "overview"


@click.command()
@click.option("--prometheus", "url", required=True, metavar="URL", help="Base URL of Prometheus.")
@click.option(
    "--board",
    "name",
    default=DEFAULT_BOARD,
    show_default=True,
    help="A board's name (overview, failures, pipeline, bound, topic-check) or a generated file.",
)
@click.option("--row", help="Draw this row alone, by its title.")
@click.option("--range", "length", metavar="6h", help="Time range up to now, or up to --to.")
@click.option("--from", "start", metavar="TIME", help="ISO 8601 (UTC), Unix seconds or now-6h.")
@click.option("--to", "end", default="now", show_default=True, metavar="TIME", help="The same.")
@click.option(
    "--var",
    "limits",
    multiple=True,
    metavar="NAME=REGEX",
    help="Limit a variable, such as job=support-agent. Repeat for others.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write, .html or .png; default: the board's name with .html.",
)
@click.option("--theme", type=click.Choice(get_args(Theme)), default="auto", show_default=True)
@click.option(
    "--timeout",
    default=durations.text(TIMEOUT_SECONDS),
    show_default=True,
    metavar="DURATION",
    help="Longest wait for one reply of Prometheus, at most 1h.",
)
@click.option(
    "--width", type=click.IntRange(320, 4000), default=1440, show_default=True, help="Of a picture."
)
def render(
    *,
    url: str,
    name: str,
    row: str | None,
    length: str | None,
    start: str | None,
    end: str,
    limits: tuple[str, ...],
    out: Path | None,
    theme: Theme,
    timeout: str,
    width: int,
) -> None:
    """Draw a board from a live Prometheus as one HTML page or PNG, without Grafana."""
    board = find_board(name)
    if row is not None:
        board = board.row(row)
    if length is not None:
        if start is not None:
            raise RangeError(f"--range {length} with --from {start}", "one of the two")
        start = str(moment(end, time.time()) - durations.seconds(length))
    out = out or Path(f"{board.uid}.html")
    server = Prometheus(url=url, timeout_seconds=min(durations.seconds(timeout), 3_600))
    html = draw(board, server, start=start, end=end, limits=_limits(limits), theme=theme)
    if out.suffix == ".png":
        take_picture(html, out, width=width)
    else:
        out.write_text(html, encoding="utf-8")
    click.echo(out)


def find_board(name: str, settings: Settings | None = None) -> Board:
    """Return one of our boards by its name, or the board of a file.

    Args:
        name: A board's name, or the path of a `.json` file.
        settings: What the named board is generated with; default: the defaults.

    Raises:
        BoardFileError: It is neither.
    """
    if Path(name).suffix == ".json":
        return load_board(Path(name))
    known = {board.slug: board for board in boards()}
    if name not in known:
        raise BoardFileError(
            name, f"got no board of this name, expected a .json file or one of {', '.join(known)}"
        )
    return read_board(dashboard_json(known[name], settings or load_settings()), name)


def _limits(given: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    for text, (name, equals, value) in zip(given, pairs, strict=True):
        if not (name and equals and value):
            raise click.BadParameter(f"got {text!r}, expected NAME=REGEX", param_hint="--var")
    return {name: value for name, _, value in pairs}
