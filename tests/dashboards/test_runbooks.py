from __future__ import annotations

import re
from pathlib import Path

import pytest

from dashboards import prometheus_rules
from dashboards.failure import Failure
from dashboards.failures import FAILURES
from dashboards.runbooks import index, page
from dashboards.settings import Settings, load_settings

HEADINGS = ("Meaning", "Impact", "Diagnosis", "Mitigation", "Known false causes", "Alerts")

by_slug = pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.slug)


@by_slug
def test_a_page_has_every_part(failure: Failure, settings: Settings) -> None:
    text = page(failure, settings)

    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == list(HEADINGS)
    assert failure.traces.replace("<latency_seconds>", "20") in text
    assert "amtool silence add" in text
    assert "First three commands" in text
    assert not re.search(r"<[a-z_]+>", text), "a place that was not filled in"
    assert "{service" not in text


@by_slug
def test_every_alert_has_its_heading_condition_query_and_detection(
    failure: Failure, settings: Settings
) -> None:
    text = page(failure, settings)
    for alert in failure.alerts:
        _, found, section = text.partition(f"### {failure.alert_name(alert)}\n")
        section = section.partition("\n### ")[0]

        assert found
        assert alert.condition.expr(settings) in section
        assert alert.condition.told(settings) in section
        assert "Detection" in section
        assert settings.span(settings.group_wait) in section


def test_every_runbook_address_leads_to_a_page_and_a_heading(tree: Path) -> None:
    settings = Settings()
    for failure in FAILURES:
        for alert in failure.alerts:
            path, _, anchor = failure.runbook_url(alert, settings).partition("#")
            folder, _, file = path.rpartition("/")
            text = (tree / "runbooks" / file).read_text()
            anchors = [h.lower() for h in re.findall(r"^#+ (\S+)$", text, re.MULTILINE)]

            assert folder == "docs/runbooks"
            assert anchor in anchors


def test_links_between_pages_lead_somewhere(tree: Path) -> None:
    pages = list((tree / "runbooks").glob("*.md"))
    for file in pages:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", file.read_text()):
            assert (file.parent / target).is_file(), f"{file.name} links to {target}"
    assert len(pages) == len(FAILURES) + 1


def test_the_index_lists_every_alert(settings: Settings) -> None:
    text = index(settings)

    assert all(f.alert_name(alert) in text for f in FAILURES for alert in f.alerts)


def test_the_base_address_is_a_setting() -> None:
    elsewhere = load_settings(runbook_base="https://runbooks.example/rag/")
    text = prometheus_rules.files(elsewhere)["prometheus/synonym_swap.yml"]

    assert "runbook_url: https://runbooks.example/rag/synonym_swap.md#ragsynonymswapticket" in text


def test_a_demo_page_tells_scaled_times(demo_settings: Settings) -> None:
    failure = next(f for f in FAILURES if f.slug == "silent_rejection")
    text = page(failure, demo_settings)

    assert "with 2s of waiting time, evaluated every 1s" in text
    assert "in the last 15s, 1m or 6m" in text


def test_pages_carry_no_registry_address_and_no_long_dash(tree: Path) -> None:
    for file in (tree / "runbooks").glob("*.md"):
        assert "\u2014" not in file.read_text()
