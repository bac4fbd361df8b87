"""The cases as promtool test files: one a failure, and one in which every rule is loaded."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, Final

from dashboards import durations
from dashboards.cases import NEEDED, WARM_UP, Case, fault_phases
from dashboards.errors import MissingCasesError
from dashboards.failure import Failure, recordings_by_group
from dashboards.grafana_rules import wrapped
from dashboards.prometheus_rules import groups, prometheus_failures
from dashboards.scenarios import SCENARIOS
from dashboards.settings import Settings
from dashboards.traffic import NOT_OURS, Phase, Replica, label_text
from dashboards.yaml_text import dump
from telemetry import names

MATRIX_PATH: Final = "prometheus/tests/matrix.yml"
MATRIX_STEP: Final = 5
"""Minutes between samples there: with every rule loaded, each evaluation costs more."""
MATRIX_WARM_UP: Final = 30


def files(settings: Settings) -> dict[str, str]:
    """Return path -> text of every test file; a file tests the rule file beside its folder.

    Raises:
        MissingCasesError: A failure lacks one of the five cases, or an alert one in which it fires.
    """
    failures = prometheus_failures()
    missing = [what for failure in failures for what in unproven(failure)]
    if missing:
        raise MissingCasesError(missing)
    matrix = [_matrix_test(failure, settings) for failure in failures]
    return {
        **{path: text for failure in failures for path, text in _of(failure, settings).items()},
        MATRIX_PATH: _test_file(failures, matrix, MATRIX_STEP, settings),
    }


def _of(failure: Failure, settings: Settings) -> dict[str, str]:
    """Return the files of a failure: the cases of minutes, and those of days, if there are any.

    promtool evaluates all cases of a file equally often, so that days need a file of their own.
    """
    by_step: dict[int, list[Case]] = {}
    for case in SCENARIOS[failure.slug].cases():
        by_step.setdefault(case.step_minutes, []).append(case)
    return {
        f"prometheus/tests/{failure.slug}{'' if step == 1 else '_days'}.yml": _test_file(
            [failure], [_test(failure, case, settings) for case in cases], step, settings
        )
        for step, cases in by_step.items()
    }


def unproven(failure: Failure) -> list[str]:
    """Return what a failure's cases do not prove: kinds of case, and alerts that never fire."""
    scenario = SCENARIOS.get(failure.slug)
    cases = scenario.cases() if scenario else []
    kinds = {case.kind for case in cases}
    fired = {name for c in cases if c.kind == "fires" for at in c.firing.values() for name in at}
    return [
        *(f"{failure.slug} ({kind})" for kind in NEEDED if kind not in kinds),
        *(name for name in map(failure.alert_name, failure.alerts) if name not in fired),
    ]


def _test_file(
    failures: Iterable[Failure], tests: list[dict[str, Any]], step_minutes: int, settings: Settings
) -> str:
    return dump(
        {
            "rule_files": [f"../{failure.slug}.yml" for failure in failures],
            "evaluation_interval": _minutes(step_minutes, settings),
            "group_eval_order": [
                name
                for failure in failures
                for name, _, _ in recordings_by_group(failure, settings)
            ],
            "tests": tests,
        },
        about="Run with: promtool test rules FILE. Holds for the default thresholds.",
    )


def _test(failure: Failure, case: Case, settings: Settings) -> dict[str, Any]:
    checks = [
        check
        for minute, alerts in sorted(case.firing.items())
        for check in (
            _firing_check(minute, alerts, settings),
            *(_twin_checks(failure, case, minute, alerts, settings)),
        )
    ]
    if case.kind in ("low", "absent"):
        last = max(case.firing)
        checks += [_never_nan(name, last, settings) for name in _recorded(failure, settings)]
    return {
        "name": f"{case.kind}: {case.title}",
        "interval": _minutes(case.step_minutes, settings),
        "input_series": _input([failure], case.replicas, case.step_minutes, settings),
        "promql_expr_test": checks,
    }


def _matrix_test(failure: Failure, settings: Settings) -> dict[str, Any]:
    """The failure in its last minute, beside a healthy service, with the rules of all failures."""
    scenario = SCENARIOS[failure.slug]
    end = math.ceil(max(scenario.firing) / MATRIX_STEP) * MATRIX_STEP
    ill = Replica(phases=(Phase(minutes=MATRIX_WARM_UP), *fault_phases(scenario)))
    well = Replica(job="healthy", phases=(Phase(minutes=MATRIX_WARM_UP + end),))
    told = (*scenario.firing[max(scenario.firing)], *scenario.also)
    checks = [(MATRIX_WARM_UP, ()), (MATRIX_WARM_UP + end, told)]
    return {
        "name": f"{failure.slug} and nothing else, {failure.title}",
        "interval": _minutes(MATRIX_STEP, settings),
        "input_series": _input(prometheus_failures(), (ill, well), MATRIX_STEP, settings),
        "promql_expr_test": [
            _firing_check(at, alerts, settings, "support") for at, alerts in checks
        ],
    }


def _firing_check(
    minute: int, alerts: Iterable[str], settings: Settings, job: str | None = None
) -> dict[str, Any]:
    """These alerts fire and no other; with `job`, only for it."""
    by = {"alertname": "", **({"job": job} if job else {})}
    samples = [
        {"labels": f"{{{label_text({**by, 'alertname': name})}}}", "value": 1}
        for name in sorted(alerts)
    ]
    firing = f'count by ({", ".join(by)}) (ALERTS{{alertstate="firing"}})'
    return _check(firing, minute, samples, settings)


def _twin_checks(
    failure: Failure, case: Case, minute: int, alerts: tuple[str, ...], settings: Settings
) -> list[dict[str, Any]]:
    """Grafana's form: 0 while healthy, 1 with the fault, nothing when the service is gone."""
    if case.kind not in ("fires", "absent") or minute not in (WARM_UP, max(case.firing)):
        return []
    if failure.slug == "metrics_absent":
        return []
    here = f"{{{label_text(_target(settings))}}}"
    checks = []
    for alert in failure.alerts:
        value = int(failure.alert_name(alert) in alerts)
        is_there = case.kind == "fires" and (value or minute == WARM_UP)
        if case.kind == "absent" or is_there:
            samples = [{"labels": here, "value": value}] if is_there else []
            checks.append(
                _check(wrapped(alert.condition.expr(settings), settings), minute, samples, settings)
            )
    return checks if minute == max(case.firing) or case.kind == "fires" else []


def _never_nan(recorded: str, minute: int, settings: Settings) -> dict[str, Any]:
    """Only NaN differs from itself."""
    return _check(f"{recorded} != {recorded}", minute, [], settings)


def _recorded(failure: Failure, settings: Settings) -> list[str]:
    groups = recordings_by_group(failure, settings)
    return list(dict.fromkeys(rule.name for _, recordings, _ in groups for rule in recordings))


def _check(
    expression: str, minute: int, samples: list[dict[str, Any]], settings: Settings
) -> dict[str, Any]:
    check = {"expr": expression, "eval_time": _minutes(minute, settings)}
    return {**check, "exp_samples": samples} if samples else check


def _input(
    failures: Iterable[Failure], replicas: Iterable[Replica], step_minutes: int, settings: Settings
) -> list[dict[str, str]]:
    """Return the series of the metrics that the failures' rules read."""
    read = _metrics_read(failures, settings)
    more = {label: "x" for label in settings.group_by if label != "job"}
    return [
        {"series": name, "values": values}
        for replica in replicas
        for name, values in replica.series(step_minutes, more).items()
        if name.partition("{")[0] in read
    ]


def _metrics_read(failures: Iterable[Failure], settings: Settings) -> set[str]:
    expressions = [
        rule.get("expr", "")
        for failure in failures
        for group in groups(failure, settings)
        for rule in group["rules"]
    ]
    return {
        NOT_OURS.partition("{")[0],
        names.BUILD_INFO,
        *re.findall(r"[a-z_]+", " ".join(expressions)),
    }


def _target(settings: Settings) -> dict[str, str]:
    return {label: "support" if label == "job" else "x" for label in settings.group_by}


def _minutes(minutes: int, settings: Settings) -> str:
    return durations.text(minutes * 60 * settings.time_scale) if minutes else "0s"
