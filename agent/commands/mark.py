"""`loopscope mark`: say what changed and no process can know."""

from __future__ import annotations

import time
from dataclasses import asdict
from datetime import UTC, datetime

import click

from agent.commands.options import load_settings, records_of
from agent.commands.output import print_json
from agent.settings import Settings
from telemetry.compare.window import read_time
from telemetry.errors import MarkNotShownError
from telemetry.fetch import FetchError
from telemetry.grafana import annotate
from telemetry.records.database import parse_address
from telemetry.records.marks import Mark, make_mark, put_mark


@click.command()
@click.argument("what")
@click.option(
    "--at", metavar="TIME", help="When: ISO 8601 in UTC, or a duration ago as 10m; default: now."
)
@click.option("--tag", "tags", multiple=True, help="A word to look for; may be repeated.")
@click.option("--records", metavar="PATH|URL", help="The turn records; default: those of `serve`.")
@click.option("--json", "as_json", is_flag=True, help="Print the mark as one JSON object.")
def mark(
    what: str, at: str | None, tags: tuple[str, ...], records: str | None, as_json: bool
) -> None:
    """Mark WHAT changed: in the turn records, for `compare`, and on every board.

    Grafana shows it when LOOPSCOPE_GRAFANA_URL is set. Exits with 1 when Grafana did not take it;
    the records have kept it then.
    """
    settings = load_settings(records=records)
    url = records_of(settings)
    now = time.time()
    made = make_mark(what, at=read_time("at", at, now) if at else now, tags=tags, now=now)
    put_mark(url, made)
    annotation = _shown(settings, made)
    if as_json:
        print_json({**asdict(made), "annotation": annotation})
        return
    places = [parse_address(settings.records).url]
    if annotation is not None:
        places.append(f"Grafana (annotation {annotation})")
    click.echo(f"marked {_moment(made)} in {' and '.join(places)}: {made.what}")


def _shown(settings: Settings, made: Mark) -> int | None:
    """Return the id of the mark's annotation, None where no Grafana is set."""
    if settings.grafana_url is None:
        return None
    token = settings.grafana_token
    try:
        return annotate(settings.grafana_url, token.get_secret_value() if token else None, made)
    except FetchError as error:
        raise MarkNotShownError(str(error), error.fix, _moment(made)) from error


def _moment(made: Mark) -> str:
    at = datetime.fromtimestamp(made.at, UTC).isoformat(timespec="milliseconds")
    return at.replace("+00:00", "Z")
