"""The code of docs/telemetry.md runs as it stands, from its first block to its last."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tokenize
from io import StringIO
from pathlib import Path

import pytest
from otlp_stub import collector

import telemetry

TEXT = (Path(__file__).parents[2] / "docs/telemetry.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
GRAPH_OF_THE_READER = """
from typing import Any, TypedDict
from langgraph.graph import END, START, StateGraph


class State(TypedDict, total=False):
    question: str
    documents: list[dict[str, Any]]
    grade: str
    answer: str


builder = StateGraph(State)
builder.add_node("retrieve", lambda state: {"documents": [{"id": "reset", "score": 0.7}]})
builder.add_node("grade_documents", lambda state: {"grade": "yes"})
builder.add_node("rewrite_question", lambda state: {})
builder.add_node("generate", lambda state: {"answer": "On the account page."})
builder.add_node("give_up", lambda state: {})
builder.add_edge(START, "retrieve")
builder.add_edge("retrieve", "grade_documents")
builder.add_conditional_edges(
    "grade_documents",
    lambda state: "generate",
    ["generate", "rewrite_question", "give_up"],
)
builder.add_edge("rewrite_question", "retrieve")
builder.add_edge("generate", END)
builder.add_edge("give_up", END)
"""
WHAT_THE_SERVICE_SHOWS = """
from starlette.testclient import TestClient

for path in ("/metrics", "/metrics/"):
    page = TestClient(app).get(path, follow_redirects=False)
    print(path, page.status_code, page.text.count('outcome="answered",retrieved="yes"'))
print(readers.chunks({"hits": [{"key": "a", "rank": 1}]}, {}))
"""


def test_every_block_runs_and_does_what_the_page_says(tmp_path: Path) -> None:
    script = "\n".join([GRAPH_OF_THE_READER, *BLOCKS, WHAT_THE_SERVICE_SHOWS])
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_")}
    with collector() as collected:
        done = subprocess.run(
            [sys.executable, "-c", script.replace("server(9464", "server(0")],
            env=environment | {"OTEL_EXPORTER_OTLP_ENDPOINT": collected.url},
            cwd=tmp_path,
            check=False,
            capture_output=True,
            text=True,
        )

    said, record, *metrics, chunks = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert said.startswith(f"spans go to {collected.url}/v1/traces (http/protobuf) (0.1 of")
    assert said.endswith("as service support")
    assert record.startswith("answered 0 0.")
    assert [line.rsplit(maxsplit=1)[0] for line in metrics] == ["/metrics 200", "/metrics/ 200"]
    assert chunks == "Chunks(ids=('a',), scores=(1.0,), query=None, is_remote=False)"


def test_every_call_that_the_page_names_is_had_from_the_package() -> None:
    named = set(re.findall(r"`([A-Za-z_]+)\(", TEXT)) - {"interrupt", "Command"}

    assert named - set(telemetry.__all__) == set()


def test_names_are_imported_in_the_block_that_uses_them_first() -> None:
    known = set(telemetry.__all__)
    for block in BLOCKS:
        lines = re.findall(r"^from telemetry import (.*)$", block, re.MULTILINE)
        imported = {name for line in lines for name in line.split(", ")}

        assert names_of(block) & known == imported, block
        known -= imported


def names_of(code: str) -> set[str]:
    tokens = tokenize.generate_tokens(StringIO(code).readline)
    return {token.string for token in tokens if token.type == tokenize.NAME}


@pytest.mark.parametrize("name", telemetry.__all__)
def test_a_public_name_is_had_from_the_package(name: str) -> None:
    assert getattr(telemetry, name).__module__.startswith("telemetry.") or name == "DEFAULT_READERS"


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'instument'"):
        telemetry.instument  # noqa: B018 - the access is the test
