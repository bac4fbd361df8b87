"""The code of docs/game-day.md runs as it stands, on a model, a retriever and a router."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from fakes import DictRetriever
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import SystemMessage
from starlette.applications import Starlette

PAGE = Path(__file__).parents[3] / "docs" / "game-day.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """What the page's code has made, block after block."""
    names: dict[str, Any] = {
        "model": FakeListChatModel(responses=["yes"]),
        "retriever": DictRetriever(),
        "route": lambda state: "generate_response" if state["found"] else "handle_no_results",
        "app": Starlette(),
    }
    for block in BLOCKS:
        exec(block, names)
    return names


def asked(system: str, text: str) -> list[Any]:
    return [SystemMessage(system), ("human", text)]


def test_every_block_is_run() -> None:
    assert len(BLOCKS) == 5


def test_a_model_that_is_down(page: dict[str, Any]) -> None:
    with pytest.raises(ConnectionError):
        page["down"].invoke("q?")


def test_a_topic_check_that_refuses_a_share(page: dict[str, Any]) -> None:
    said = [
        page["refusing"].invoke(asked("Is it on topic?", f"q{number}?")).text
        for number in range(100)
    ]

    assert 20 < said.count("no") < 60
    assert page["refusing"].invoke(asked("Answer.", "q?")).text == "yes"


def test_rewriters_that_do_not_help(page: dict[str, Any]) -> None:
    swapped = page["swapping"].invoke(asked("Rewrite it.", "How long are backups kept?")).text
    drifted = page["drifting"].invoke(asked("Rewrite it.", "How long are backups kept?")).text

    assert {"long", "backups", "kept?"} < set(swapped.split())
    assert drifted in page["subjects"]


def test_a_retriever_that_is_down(page: dict[str, Any]) -> None:
    with pytest.raises(ConnectionError):
        page["offline"].invoke("q?")


@pytest.mark.parametrize(
    ("router", "found", "rewrites", "expected"),
    [
        pytest.param("runaway", False, 2, "optimize_query", id="runs-away"),
        pytest.param("runaway", True, 2, "generate_response", id="answers-what-it-finds"),
        pytest.param("too_early", True, 2, "handle_no_results", id="gives-up-too-early"),
        pytest.param("too_early", True, 1, "generate_response", id="answers-while-budget-is-left"),
    ],
)
def test_routers(
    page: dict[str, Any], router: str, found: bool, rewrites: int, expected: str
) -> None:
    state = {"found": found, "rewrites": rewrites, "question": "q?"}

    assert page[router](state) == expected


async def test_metrics_that_are_gone(page: dict[str, Any]) -> None:
    transport = httpx.ASGITransport(app=page["app"])
    async with httpx.AsyncClient(transport=transport, base_url="http://service") as http:
        assert (await http.get("/metrics")).status_code == 503
