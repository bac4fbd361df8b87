"""The report fits a terminal of 80 columns without tearing names and numbers apart."""

from __future__ import annotations

import io
import re

from rich.console import Console

from agent.compose import Composition
from agent.lab.render import print_report
from agent.lab.report import Lab
from agent.settings import Settings


def test_names_and_numbers_stay_whole_on_eighty_columns() -> None:
    composition = Composition(Settings(model="golden"))
    settings = composition.settings
    lab = Lab(
        make_agent=lambda **varied: composition.agent(settings.model_copy(update=varied)),
        golden=composition.golden,
        k=settings.k,
        max_bound=2,
        recursion_limits=(25,),
    )
    text = io.StringIO()
    print_report(lab.run(lambda: None), Console(file=text, width=80))

    lines = text.getvalue().splitlines()
    cells = {cell.strip() for line in lines for cell in re.split("[│┃]", line)}
    assert max(map(len, lines)) <= 80
    assert {"no_results", "off_topic", "evidence_first", "retrievals", "rewrites"} <= cells
