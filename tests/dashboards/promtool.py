"""Run the real promtool of Debian 12 (Prometheus 2.42)."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import native_servers
import yaml

FIRING = 'count by (alertname) (ALERTS{alertstate="firing"})'


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [native_servers.need("promtool"), *map(str, arguments)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def passes(test_file: Path) -> tuple[bool, str]:
    """Run a test file; return whether it passes and what promtool said."""
    done = promtool("test", "rules", test_file)
    return done.returncode == 0, done.stdout + done.stderr


def firing_by_minute(
    rule_files: list[Path], series: list[dict[str, str]], minutes: range, folder: Path
) -> dict[int, set[str]]:
    """Return which alerts fire in each minute: promtool tells what it got instead of a sentinel."""
    sentinel = {"labels": '{alertname="none"}', "value": 7}
    test = {
        "interval": "1m",
        "input_series": series,
        "promql_expr_test": [
            {"expr": FIRING, "eval_time": f"{minute}m", "exp_samples": [sentinel]}
            for minute in minutes
        ],
    }
    file = folder / "by_minute.yml"
    file.write_text(
        yaml.safe_dump(
            {
                "rule_files": [str(path) for path in rule_files],
                "evaluation_interval": "1m",
                "tests": [test],
            }
        )
    )
    _, said = passes(file)
    got = re.findall(r'exp: \{alertname="none"\} 7E\+00\s+got: (.*)', said)
    assert len(got) == len(minutes), said
    return {
        minute: set(re.findall(r'alertname="(\w+)"', line))
        for minute, line in zip(minutes, got, strict=True)
    }


def firing_details(
    rule_file: Path, series: list[dict[str, str]], alerts: Iterable[str], minute: int, folder: Path
) -> dict[str, str]:
    """Return firing alert -> its annotations, as Prometheus renders them.

    promtool tells what it got when it expected nothing.
    """
    test: dict[str, Any] = {
        "interval": "1m",
        "input_series": series,
        "alert_rule_test": [
            {"eval_time": f"{minute}m", "alertname": alert} for alert in sorted(alerts)
        ],
    }
    file = folder / "details.yml"
    file.write_text(
        yaml.safe_dump(
            {"rule_files": [str(rule_file)], "evaluation_interval": "1m", "tests": [test]}
        )
    )
    _, said = passes(file)
    return dict(re.findall(r'Labels:\{alertname="(\w+)".*\n\s+Annotations:(\{.*\})', said))
