"""The scrape: both paths answer, both formats, zeros before the first turn, workers added up."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import httpx
import pytest
from loop_graphs import LOOP_ROLES, loop_graph
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from telemetry.exposition import metrics_app, start_metrics_server
from telemetry.sampling import TailSampler
from telemetry.testing import Kit

QUESTION = {"question": "where is it?"}
OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def over_asgi(kit: Kit, path: str, accept: str) -> tuple[int, dict[str, str], str]:
    import asyncio

    async def get() -> httpx.Response:
        transport = httpx.ASGITransport(metrics_app(kit.registry))
        async with httpx.AsyncClient(transport=transport, base_url="http://metrics") as client:
            return await client.get(path, headers={"accept": accept}, follow_redirects=False)

    response = asyncio.run(get())
    return response.status_code, dict(response.headers), response.text


def over_http(kit: Kit, path: str, accept: str) -> tuple[int, dict[str, str], str]:
    with start_metrics_server(0, registry=kit.registry) as server:
        assert server.url.endswith("/metrics")
        request = Request(f"http://127.0.0.1:{server.port}{path}", headers={"Accept": accept})
        try:
            with urlopen(request, timeout=5) as response:
                headers = {key.lower(): value for key, value in response.headers.items()}
                return response.status, headers, response.read().decode()
        except HTTPError as error:
            return error.code, dict(error.headers), error.read().decode()


WAYS = pytest.mark.parametrize(
    "get", [pytest.param(over_asgi, id="ASGI"), pytest.param(over_http, id="own server")]
)


@WAYS
@pytest.mark.parametrize("path", ["/metrics", "/metrics/"])
@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        pytest.param("*/*", "text/plain", id="text"),
        pytest.param(OPENMETRICS, "application/openmetrics-text", id="OpenMetrics"),
    ],
)
def test_both_paths_answer_at_once(
    get: Callable[..., Any], path: str, accept: str, content_type: str
) -> None:
    kit = Kit()
    kit.watch(loop_graph(), LOOP_ROLES)
    status, headers, body = get(kit, path, accept)

    assert status == 200
    assert headers["content-type"].startswith(content_type)
    assert "location" not in headers
    assert "rag_turns_total{" in body


@WAYS
def test_other_paths_are_not_found(get: Callable[..., Any]) -> None:
    assert get(Kit(), "/", "*/*")[0] == 404


@WAYS
def test_single_metrics_can_be_asked_for(get: Callable[..., Any]) -> None:
    kit = Kit()
    kit.watch(loop_graph(), LOOP_ROLES)
    body = get(kit, "/metrics?name[]=rag_recursion_errors_total", "*/*")[2]

    names = {line.partition("{")[0] for line in body.splitlines() if not line.startswith("#")}
    assert names == {"rag_recursion_errors_total"}


def test_every_series_is_there_at_0_before_the_first_turn() -> None:
    kit = Kit()
    kit.watch(loop_graph(), {**LOOP_ROLES, "begin": "guard"}, max_rewrites=2)
    before = set(kit.series())
    assert kit.value("rag_turns_total") == 0
    for outcome in ("answered", "no_results", "off_topic", "recursion_limit", "error", "cancelled"):
        assert any(f'outcome="{outcome}"' in line for line in before)


def test_turns_of_a_sound_graph_add_no_series() -> None:
    kit = Kit()
    graph = kit.watch(loop_graph(bound=1), LOOP_ROLES, max_rewrites=1)
    before = set(kit.series())
    for _ in range(3):
        graph.invoke(QUESTION)

    new = {line.partition("{")[0] for line in set(kit.series()) - before}
    assert new == {"rag_recursion_limit"}


def test_no_series_is_called_created_and_openmetrics_is_valid() -> None:
    kit = Kit()
    kit.watch(loop_graph(), LOOP_ROLES).invoke(QUESTION)
    text = over_asgi(kit, "/metrics", OPENMETRICS)[2]

    assert "_created" not in text
    assert len(list(text_string_to_metric_families(text))) > 20


@pytest.mark.parametrize("sampled", [True, False], ids=["sampled", "not sampled"])
def test_an_exemplar_leads_to_the_trace_of_a_sampled_turn(sampled: bool) -> None:
    kit = Kit() if sampled else Kit(ALWAYS_OFF)
    kit.watch(loop_graph(), LOOP_ROLES).invoke(QUESTION)
    text = over_asgi(kit, "/metrics", OPENMETRICS)[2]
    with_exemplar = [line for line in text.splitlines() if " # {" in line]

    if not sampled:
        assert with_exemplar == []
        return
    root = kit.span("invoke_workflow loop").context
    link = f'trace_id="{root.trace_id:032x}"'
    assert {line.partition("{")[0] for line in with_exemplar} == {
        "rag_turns_total",
        "rag_turn_duration_seconds_bucket",
    }
    assert all(link in line for line in with_exemplar)


@pytest.mark.parametrize(
    ("answered", "kept"),
    [
        pytest.param(True, False, id="a good turn that the tail sampler drops"),
        pytest.param(False, True, id="a failed one that it keeps"),
    ],
)
def test_an_exemplar_never_leads_to_a_trace_that_is_thrown_away(answered: bool, kept: bool) -> None:
    kit = Kit()
    sampler = TailSampler(SpanProcessor(), ratio=0.0)
    graph = loop_graph(bound=0, grade=lambda _: "yes" if answered else "no")
    kit.watch(graph, LOOP_ROLES, keeps=sampler.keeps).invoke(QUESTION)

    assert (" # {" in over_asgi(kit, "/metrics", OPENMETRICS)[2]) == kept


WORKER = """
import sys
sys.path[:0] = {paths!r}
from loop_graphs import LOOP_ROLES, loop_graph
from telemetry import instrument
from telemetry.exposition import scrape
graph = instrument(loop_graph(bound=1), roles=LOOP_ROLES, max_rewrites=1)
for _ in range(int(sys.argv[1])):
    graph.invoke({{"question": "where?"}})
print(scrape("/metrics").body.decode())
"""


def values(text: str, metric: str) -> list[float]:
    lines = [line for line in text.splitlines() if line.startswith((f"{metric}{{", f"{metric} "))]
    return [float(line.rpartition(" ")[2]) for line in lines]


def test_the_counters_of_several_workers_add_up(tmp_path: Path) -> None:
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[2])]
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    texts = []
    for turns in ("3", "4"):
        run = subprocess.run(
            [sys.executable, "-c", WORKER.format(paths=paths), turns],
            env=environment, capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        texts.append(run.stdout)

    assert [sum(values(text, "rag_turns_total")) for text in texts] == [3, 7]
    assert sum(values(texts[1], "rag_rewrites_total")) == 7
    assert values(texts[1], "rag_open_turns") == [0]
    assert "pid=" not in texts[1]


KILLED = """
half_read = graph.stream({"question": "where?"})
next(half_read)
print("--", scrape("/metrics").body.decode(), flush=True)
import os
os.kill(os.getpid(), 9)
"""


def test_a_worker_that_is_killed_leaves_its_counts_and_takes_its_gauges(tmp_path: Path) -> None:
    script = WORKER.format(paths=[str(Path(__file__).parent), str(Path(__file__).parents[2])])
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    killed = subprocess.Popen(
        [sys.executable, "-c", script + KILLED, "5"],
        env=environment, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    before, _ = killed.communicate(timeout=60)
    bury = "\nfrom telemetry import worker_died\nworker_died(int(sys.argv[2]))\n"
    after = subprocess.run(
        [sys.executable, "-c", script + bury + 'print("--", scrape("/metrics").body.decode())',
         "3", str(killed.pid)],
        env=environment, capture_output=True, text=True, check=True, timeout=60,
    ).stdout  # fmt: skip
    still_there, _, buried = after.partition("--")

    shown = [
        (sum(values(text, "rag_turns_total")), sum(values(text, "rag_open_turns")))
        for text in (before.partition("--")[2], still_there, buried)
    ]
    assert killed.returncode == -9
    assert shown == [(5, 1), (8, 1), (8, 0)]
