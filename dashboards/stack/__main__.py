"""Write the stack's generated configuration files anew."""

from __future__ import annotations

import click

from dashboards.settings import load_settings
from dashboards.stack.render import FOLDER, files

for path, text in files(load_settings()).items():
    (FOLDER / path).write_text(text, encoding="utf-8")
    click.echo(FOLDER / path)
