"""A step before the end is taken once, by whatever way a child of `multiprocessing` was started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import atexit, multiprocessing, os, sys
from telemetry.ending import before_child_ends

def step():
    os.write(1, b"step ")

def work():
    atexit.register(os.write, 1, b"atexit ")
    before_child_ends(step)

if __name__ == "__main__":
    before_child_ends(step)
    child = multiprocessing.get_context(sys.argv[1]).Process(target=work)
    child.start()
    child.join()
    sys.exit(child.exitcode)
"""


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        pytest.param("fork", "step", id="a forked child skips atexit"),
        pytest.param("forkserver", "step", id="so does one that a server forked"),
        pytest.param("spawn", "atexit", id="a spawned child does not"),
    ],
)
def test_a_step_stands_in_for_atexit_where_that_is_skipped(
    way: str, expected: str, tmp_path: Path
) -> None:
    script = tmp_path / "children.py"
    script.write_text(SCRIPT)
    result = subprocess.run(
        [sys.executable, str(script), way],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
    )

    assert (result.returncode, result.stdout.split(), result.stderr) == (0, [expected], "")
