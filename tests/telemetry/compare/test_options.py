"""Which source a comparison reads when options and variables name several."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from agent.cli import main

RECORDS, PROMETHEUS = "/nowhere/turns.db", "http://127.0.0.1:1"
IN_VARIABLES = {"LOOPSCOPE_RECORDS": RECORDS, "LOOPSCOPE_PROMETHEUS_URL": PROMETHEUS}


@pytest.mark.parametrize("command", ["compare", "canary --canary 2 --stable 1 --once"])
@pytest.mark.parametrize(
    ("variables", "options", "told"),
    [
        pytest.param([], ["--records", RECORDS], "no turn records", id="records"),
        pytest.param(["LOOPSCOPE_RECORDS"], [], "no turn records", id="records-in-a-variable"),
        pytest.param(["LOOPSCOPE_PROMETHEUS_URL"], [], "nobody listens", id="prometheus-in-one"),
        pytest.param(
            list(IN_VARIABLES), ["--records", RECORDS], "no turn records",
            id="records-typed-before-prometheus-in-a-variable",
        ),
        pytest.param(
            list(IN_VARIABLES), ["--prometheus", PROMETHEUS], "nobody listens",
            id="prometheus-typed-before-records-in-a-variable",
        ),
        pytest.param(list(IN_VARIABLES), [], "source: got 'both'", id="both-in-variables"),
        pytest.param([], [], "source: got 'neither'", id="none"),
    ],
)  # fmt: skip
def test_what_is_typed_comes_before_what_a_variable_says(
    command: str, variables: list[str], options: list[str], told: str
) -> None:
    environment = {
        name: IN_VARIABLES.get(name) if name in variables else None for name in IN_VARIABLES
    }
    result = CliRunner().invoke(main, [*command.split(), *options], env=environment)

    assert told in result.output
    assert result.exit_code in (2, 3, 4)


BOTH = ["--records", RECORDS, "--prometheus", PROMETHEUS]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        pytest.param("canary --canary 2 --stable 1 --once", "source: got 'both'", id="canary"),
        pytest.param(
            "compare --before 2d..1d --after 1d..", "source: got 'both'", id="sides-need-no-marks"
        ),
        pytest.param("compare", "no turn records: got '/nowhere/turns.db'", id="marks-of-a-store"),
    ],
)
def test_records_that_are_typed_beside_prometheus_hold_marks_alone(line: str, told: str) -> None:
    result = CliRunner().invoke(main, [*line.split(), *BOTH])

    assert told in result.output
    assert result.exit_code == (2 if "both" in told else 4)
