"""The generated cases, run by the real promtool, and mutants of the rules that they kill."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from promtool import passes, promtool

from dashboards import prometheus_rules, promtool_cases
from dashboards.cases import NEEDED
from dashboards.errors import MissingCasesError
from dashboards.failure import Failure
from dashboards.failures import SILENT_REJECTION
from dashboards.generators import generated
from dashboards.output import Tree
from dashboards.prometheus_rules import prometheus_failures
from dashboards.scenarios import SCENARIOS
from dashboards.settings import Settings, load_settings

FILES = sorted(path.rpartition("/")[2] for path in promtool_cases.files(Settings()))
SCALED = ("matrix.yml", "traffic_stopped.yml", "runaway_loop.yml")
"""Files run at the demo's scale as well: every failure is in the first."""

for_every_failure = pytest.mark.parametrize(
    "failure", prometheus_failures(), ids=lambda failure: failure.slug
)


@pytest.mark.servers
def test_promtool_accepts_every_rule_without_a_remark(tree: Path) -> None:
    done = promtool("check", "rules", "--lint=all", *sorted((tree / "prometheus").glob("*.yml")))

    assert done.returncode == 0, done.stderr
    assert "duplicate" not in done.stdout


@pytest.mark.servers
@pytest.mark.parametrize("file", FILES)
def test_alerts_fire_when_they_must_and_only_then(file: str, tree: Path) -> None:
    passed, said = passes(tree / "prometheus" / "tests" / file)

    assert passed, said


@pytest.mark.servers
@pytest.mark.parametrize("file", SCALED)
def test_the_same_holds_when_a_minute_lasts_a_second(file: str, demo_tree: Path) -> None:
    passed, said = passes(demo_tree / "prometheus" / "tests" / file)

    assert passed, said


@pytest.fixture(scope="module")
def other_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rules and cases with a cluster label, a selector and other words."""
    other = load_settings(
        group_by="job,cluster", selector='job!=""', severity_page="critical", uid_prefix="x"
    )
    out = tmp_path_factory.mktemp("other")
    Tree(out).write({**prometheus_rules.files(other), **promtool_cases.files(other)})
    return out


@pytest.mark.servers
@pytest.mark.parametrize("file", ["runaway_loop.yml", "metrics_absent.yml", "synonym_swap.yml"])
def test_the_same_holds_with_a_cluster_label_and_other_words(file: str, other_tree: Path) -> None:
    passed, said = passes(other_tree / "prometheus" / "tests" / file)

    assert passed, said


@for_every_failure
def test_every_failure_is_proven(failure: Failure) -> None:
    assert promtool_cases.unproven(failure) == []


def test_a_failure_without_proof_stops_the_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(SCENARIOS, "silent_rejection")

    with pytest.raises(MissingCasesError) as caught:
        promtool_cases.files(Settings())

    missing = [f"silent_rejection ({kind})" for kind in NEEDED]
    missing += ["RagSilentRejectionPage", "RagSilentRejectionTicket"]
    assert str(caught.value) == (
        f"alerts without proof: got no promtool cases for {', '.join(missing)}, expected each "
        "failure to have the five cases. Add them to dashboards/scenarios.py."
    )


@for_every_failure
def test_what_else_fires_is_a_named_consequence(failure: Failure) -> None:
    by_name = {f.alert_name(a): f.slug for f in prometheus_failures() for a in f.alerts}
    scenario = SCENARIOS[failure.slug]

    assert {by_name[name] for name in scenario.also} <= set(failure.consequences)


@for_every_failure
def test_a_firing_case_begins_with_not_yet(failure: Failure) -> None:
    first = min(SCENARIOS[failure.slug].firing)

    assert SCENARIOS[failure.slug].firing[first] == ()


# ---------------------------------------------------------------------------------------------
# Mutants
# ---------------------------------------------------------------------------------------------
Mutation = Callable[[str], str]


def _without(pattern: str) -> Mutation:
    return lambda text: re.sub(pattern, "", text)


def _with(pattern: str, other: str) -> Mutation:
    return lambda text: re.sub(pattern, other, text)


def _without_window(window: str) -> Mutation:
    """Drop the recordings of a window."""

    def mutate(text: str) -> str:
        content = yaml.safe_load(text)
        for group in content["groups"]:
            group["rules"] = [
                rule for rule in group["rules"] if rule.get("labels", {}).get("window") != window
            ]
        return yaml.safe_dump(content)

    return mutate


MUTANTS: list[Any] = [
    pytest.param("silent_rejection", _without(r"\n +and \(\S+ >= [\d.]+\)"), "low:", id="no-guard"),
    pytest.param(
        "silent_rejection", _with(r"\bincrease\(", "delta("), "reset:", id="delta-for-increase"
    ),
    pytest.param(
        "silent_rejection", _without(r',retrieved="no"'), "refusals after", id="retrieved-dropped"
    ),
    pytest.param(
        "silent_rejection", _without(r"\n +keep_firing_for: .*"), "the page goes on", id="no-keep"
    ),
    pytest.param("runaway_loop", _with(r"> 2\.5", "> 0.5"), "low:", id="lower-event-minimum"),
    pytest.param(
        "no_results_jump",
        _with(r"> (job:rag_not_found):threshold_page", r"> \1:baseline"),
        "a modest jump alone",
        id="no-margin",
    ),
    pytest.param(
        "no_results_jump",
        _without(r"\n +and on \(job\) job:rag_change:recent"),
        "a modest jump alone",
        id="no-change-test",
    ),
    pytest.param("silent_rejection", _without_window("6h"), "a quiet night", id="no-long-window"),
    pytest.param(
        "no_results_jump", _without(r"\n +unless on \(job\) .*rag_weak.*"), "chunks that hardly",
        id="no-better-explanation",
    ),
    pytest.param(
        "no_results_jump", _without(r"\n +unless group by[^\n]*"), "side by side",
        id="every-build-is-new",
    ),
    pytest.param(
        "silent_rejection_days", _with(r"sum_over_time\(\S+\[7d:6h\] offset 6h\)", "vector(0)"),
        "four days", id="no-past-in-the-baseline",
    ),
    pytest.param(
        "traffic_stopped_days", _with(r" unless \S+ offset 7d\)", ")"), "quiet now",
        id="the-hour-before-beats-the-week-before",
    ),
    pytest.param("metrics_absent", _without(r"\n +or absent_over_time.*"), "absent:",
                 id="never-seen-is-not-missed"),
    pytest.param("revise_at_cap", _without(r',end="at_cap"'), "healthy:", id="any-end-counts"),
    pytest.param(
        "score_not_rising", _without(r',effect="score_not_risen"'), "healthy:", id="any-effect"
    ),
    pytest.param("stale_critique", _with(r"> 0\.2\b", "> 0.02"), "now and then", id="a-few-tell"),
    pytest.param("recursion_limit_low", _with("<=", "<"), "reset:", id="equal-is-enough-room"),
    pytest.param("probe_flipped", _with(r"bool 2", "bool 1"), "healthy:", id="one-round-proves-it"),
    pytest.param("probe_flipped", _with(r"bool 2", "bool 3"), "low:", id="it-takes-three-rounds"),
    pytest.param(
        "probe_flipped", _with(r"max by \(job, question_id\)", "min by (job, question_id)"),
        "of two probers", id="the-best-prober-is-believed",
    ),
    pytest.param(
        "probe_flipped", _without(r"\n +keep_firing_for: .*"), "the page goes on", id="no-keep-here"
    ),
    pytest.param(
        "probe_absent", _without(r"\n +unless on[^\n]*"), "low:", id="a-prober-that-is-there"
    ),
    pytest.param("probe_absent", _without(r"\n +and on[^\n]*"), "absent:", id="told-twice"),
]  # fmt: skip


@pytest.mark.servers
@pytest.mark.parametrize(("cases", "mutate", "case"), MUTANTS)
def test_mutants_of_the_rules_are_killed(
    cases: str, mutate: Mutation, case: str, tree: Path, tmp_path: Path
) -> None:
    slug = cases.removesuffix("_days")
    rules = (tree / "prometheus" / f"{slug}.yml").read_text()
    content = yaml.safe_load((tree / "prometheus" / "tests" / f"{cases}.yml").read_text())
    content["tests"] = [test for test in content["tests"] if case in test["name"]]
    content["rule_files"] = ["rules.yml"]
    (tmp_path / "cases.yml").write_text(yaml.safe_dump(content))

    (tmp_path / "rules.yml").write_text(rules)
    healthy, said = passes(tmp_path / "cases.yml")
    mutant = mutate(rules)
    (tmp_path / "rules.yml").write_text(mutant)
    survived, _ = passes(tmp_path / "cases.yml")

    assert content["tests"]
    assert healthy, said
    assert mutant != rules
    assert promtool("check", "rules", tmp_path / "rules.yml").returncode == 0
    assert not survived


def test_a_settings_change_moves_rules_text_and_catalogue_together(files: dict[str, str]) -> None:
    after = generated(load_settings(page_add=0.33))
    changed = {path for path in files if files[path] != after[path]}

    assert {
        "prometheus/silent_rejection.yml",
        "runbooks/silent_rejection.md",
        "kubernetes/prometheusrule.yaml",
        "failures.json",
    } <= changed
    assert "0.33" in after["prometheus/silent_rejection.yml"]
    assert "b + 33 %" in after["runbooks/silent_rejection.md"]
    assert (
        SILENT_REJECTION.alerts[0].condition.told(load_settings(page_add=0.33))
        in (after["runbooks/silent_rejection.md"])
    )
