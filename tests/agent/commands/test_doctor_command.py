from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from agent.cli import main


def test_the_doctor_sends_its_own_turn_whatever_documents_are_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LOOPSCOPE_DOCS", "/no/such/folder")
    monkeypatch.setenv("LOOPSCOPE_GOLDEN", "/no/such/file")

    result = CliRunner().invoke(main, ["doctor", "--json"])

    (turn,) = [hop for hop in json.loads(result.stdout)["hops"] if hop["name"] == "turn"]
    assert turn["status"] == "ok"
