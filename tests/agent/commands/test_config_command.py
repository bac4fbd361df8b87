"""`loopscope config`: what holds, where it comes from, and nothing that nobody may read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from agent.cli import main
from agent.masking import shown
from agent.settings import Settings


def config(*arguments: str, **environment: str) -> dict[str, dict[str, Any]]:
    result = CliRunner(env=environment).invoke(main, ["config", "--json", *arguments])
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout))


def test_every_setting_is_there_with_its_variable() -> None:
    found = config()

    assert list(found) == list(Settings.model_fields)
    assert found["max_rewrites"] == {
        "name": "max_rewrites", "variable": "LOOPSCOPE_MAX_REWRITES", "value": 2,
        "source": "default",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "environment", "name", "value", "source"),
    [
        pytest.param([], {"LOOPSCOPE_K": "5"}, "k", 5, "environment", id="a-variable"),
        pytest.param(["--k", "4"], {"LOOPSCOPE_K": "5"}, "k", 4, "option", id="an-option-wins"),
        pytest.param([], {"LOOPSCOPE_K": ""}, "k", 2, "default", id="an-empty-variable-is-none"),
        pytest.param(["--no-topic-check"], {}, "topic_check", False, "option", id="a-flag"),
        pytest.param(["--docs", "d"], {"LOOPSCOPE_INDEX": "i"}, "index", None, "default",
                     id="what-an-option-takes-back"),
        pytest.param([], {"LOOPSCOPE_API_KEYS": "ann:s3cret"}, "api_keys", "********",
                     "environment", id="keys-are-masked"),
        pytest.param([], {"LOOPSCOPE_MEMORY": "postgresql://u:s3cret@h:1/d"}, "memory",
                     "postgresql://u:********@h:1/d", "environment", id="a-password-is-masked"),
    ],
)  # fmt: skip
def test_the_value_in_effect_and_its_source(
    arguments: list[str], environment: dict[str, str], name: str, value: Any, source: str
) -> None:
    found = config(*arguments, **environment)

    assert (found[name]["value"], found[name]["source"]) == (value, source)
    assert "s3cret" not in json.dumps(found)


def test_people_get_a_table() -> None:
    result = CliRunner(env={"LOOPSCOPE_API_KEYS": "ann:s3cret"}).invoke(main, ["config"])
    row = next(line for line in result.stdout.splitlines() if "API_KEYS" in line)

    assert row.split() == ["LOOPSCOPE_API_KEYS", "********", "environment"]


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("MAX_TURNS", "0", "max_turns got '0', expected: greater than or equal to 1"),
        ("MAX_WAITING", "-1", "max_waiting got '-1', expected: greater than or equal to 0"),
        ("RATE_PER_MINUTE", "often", "rate_per_minute got 'often', expected: a valid integer"),
        ("MAX_BODY_BYTES", "1", "max_body_bytes got '1', expected: greater than or equal to 1024"),
        ("TURN_TIMEOUT_SECONDS", "0", "turn_timeout_seconds got '0', expected: greater than 0"),
        ("ROUTER_ORDER", "x", "router_order got 'x', expected: 'evidence_first' or 'budget_first'"),
        ("BASE_URL", "ftp://u:p@h", "base_url got 'ftp://u:********@h', expected: "),
        ("API_KEYS", "ann:", "api_keys got '********', expected: a key of ASCII characters"),
    ],
)
def test_a_wrong_value_is_refused_with_its_name_and_what_was_expected(
    variable: str, value: str, expected: str
) -> None:
    result = CliRunner(env={f"LOOPSCOPE_{variable}": value}).invoke(main, ["config"])

    assert (result.exit_code, expected in result.output) == (2, True), result.output


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("postgresql://u:p@h/d", "postgresql://u:********@h/d"),
        ("postgresql://:p@h/d", "postgresql://:********@h/d"),
        ("postgresql://h/d?user=u&password=p", "postgresql://h/d?user=u&password=********"),
        ("https://h/v1?api_key=p#x", "https://h/v1?api_key=********#x"),
        ("http://h:80/p@q", "http://h:80/p@q"),
        ("turns.sqlite", "turns.sqlite"),
        (None, None),
        (0.5, 0.5),
    ],
)
def test_passwords_in_addresses_are_hidden(value: Any, expected: Any) -> None:
    assert shown(value) == expected
