"""The page Diagnosis by a real Prometheus with the generated rules: before, with and after it."""

from __future__ import annotations

import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from native_servers import free_port, wait_until
from ruled_prometheus import prometheus
from served_console import served

from dashboards.settings import load_settings

pytestmark = pytest.mark.servers

FAST = load_settings(scrape_interval="1s", time_scale=1 / 100)
"""An hour is 36 s."""
FIRING_SECONDS = 60


def row(page, title: str):
    return page.locator(".failure", has=page.get_by_text(title, exact=True))


def scraped(port: int) -> bool:
    address = f"http://127.0.0.1:{port}/api/v1/query"
    reply = httpx.get(address, params={"query": "rag_turns_total"}, trust_env=False)
    return bool(reply.json()["data"]["result"])


def test_an_alert_that_fires_is_shown_and_a_prometheus_that_is_away_is_said(
    tmp_path: Path, open_page
) -> None:
    """Takes as long as Prometheus needs for two scrapes and an evaluation, on a busy machine."""
    port = free_port()
    variables = {
        "LOOPSCOPE_MODEL": "golden",
        "LOOPSCOPE_PROMETHEUS_URL": f"http://127.0.0.1:{port}",
    }
    with served(tmp_path, "--fault", "budget-first", **variables) as (url, _):
        page = open_page(f"{url}/diagnosis")
        page.wait_for_selector("text=nobody listens at")

        with prometheus(tmp_path, FAST, {"support-agent": [urlsplit(url).port]}, port=port):
            page.reload()
            page.wait_for_selector(f"text=From Prometheus at http://127.0.0.1:{port}")
            asking = open_page(url)
            wait_until(lambda: scraped(port), "a scrape of the counter at 0")
            asking.get_by_label("Question").fill("What happens if my server goes down?")
            asking.keyboard.press("Enter")
            asking.wait_for_selector("text=a passed chunk was lost")
            budget = row(page, "Budget checked before the evidence")
            for _ in range(FIRING_SECONDS):
                if "Firing" in budget.inner_text():
                    break
                page.wait_for_timeout(1_000)
                page.reload()
                page.wait_for_selector(".failure")
            said = budget.inner_text()
            budget.click()
            unfolded = page.locator(".list", has=budget)
            unfolded.get_by_text("Runbook: docs/runbooks/budget_checked_first.md").wait_for()
            alerts = unfolded.get_by_text(" RagBudgetCheckedFirst").count()
            others = row(page, "Silent rejection").inner_text()
            grafana = row(page, "Data source does not answer").inner_text()

        page.reload()
        page.wait_for_selector("text=From the turn records")

        assert "Firing: " in said
        assert f"since {time.strftime('%Y-%m-%d', time.gmtime())}" in said
        assert "in support-agent" in said
        assert said.splitlines()[-2] in ("1", "about 1", "about 2")  # one turn, extrapolated
        assert alerts == 2
        assert "Quiet" in others
        assert "Grafana only" in grafana
        away = page.locator(".bad-note").inner_text()
        assert "Prometheus does not tell: nobody listens at" in away
        assert "Until it does, the turn records are shown." in away
        assert "Firing: ticket" in row(page, "Budget checked before the evidence").inner_text()
