from __future__ import annotations

import re
import shlex
from pathlib import Path

import yaml
from click.testing import CliRunner

from dashboards.cli import dashboards
from dashboards.settings import Settings


def run(*arguments: str | Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(dashboards, list(map(str, arguments)))
    return done.exit_code, done.stdout, done.stderr


def test_generate_then_check_that_tells_the_command_which_repairs(tmp_path: Path) -> None:
    options = ("--rule-name", "mine", "--out", tmp_path / "my rules")
    code, out, err = run("generate", *options)

    assert (code, out) == (0, "")
    count, said = err.split(" files are up to date: ")
    assert said == f"{count} written in {tmp_path / 'my rules'}\n"
    assert run("generate", *options)[2].endswith(f": 0 written in {tmp_path / 'my rules'}\n")

    (tmp_path / "my rules" / "prometheus" / "synonym_swap.yml").write_text("mine\n")
    code, out, err = run("check", *options)

    assert (code, out) == (1, "")
    assert err.startswith(
        "error: generated files are out of date: prometheus/synonym_swap.yml differs."
    )
    (advice,) = re.findall("`(.*)`", err)
    program, group, command, *given = shlex.split(advice)
    assert (program, group, command) == ("loopscope", "dashboards", "generate")
    assert sorted(given) == sorted(map(str, options))


def test_the_committed_files_pass_the_check() -> None:
    assert run("check")[0] == 0


def test_a_time_scale_and_settings_reach_the_rules(tmp_path: Path) -> None:
    code, _, _ = run(
        "generate", "--out", tmp_path, "--time-scale", "1/60", "--scrape-interval", "1s",
        "--group-by", "job,cluster", "--rule-labels", "release=mine",
    )  # fmt: skip
    rules = yaml.safe_load((tmp_path / "prometheus" / "silent_rejection.yml").read_text())
    kubernetes = yaml.safe_load((tmp_path / "kubernetes" / "prometheusrule.yaml").read_text())

    assert code == 0
    assert rules["groups"][0]["interval"] == "1s"
    assert "sum by (job, cluster)" in rules["groups"][0]["rules"][0]["expr"]
    assert "[15s]" in rules["groups"][0]["rules"][0]["expr"]
    assert kubernetes["metadata"]["labels"] == {"release": "mine"}


def test_wrong_settings_are_wrong_usage(tmp_path: Path) -> None:
    code, out, err = run("generate", "--out", tmp_path, "--page-add", "2")

    assert (code, out) == (2, "")
    assert err.startswith("error: wrong settings: page_add got '2', expected less than 1.")


def test_every_setting_is_an_option() -> None:
    _, out, _ = run("generate", "--help")
    missing = [f for f in Settings.model_fields if f"--{f.replace('_', '-')} X" not in out]

    assert missing == []
