from __future__ import annotations

from collections.abc import Iterator

import pytest
from fake_prometheus import TRACE_ID, Answers, fake_prometheus

from dashboards.errors import PrometheusError
from dashboards.render.board import Look, Marks, Panel, Target
from dashboards.render.evaluate import Evaluator, legend
from dashboards.render.source import Prometheus
from dashboards.render.span import Span

START = 1_800_000_000.0


@pytest.fixture
def server() -> Iterator[tuple[str, Answers]]:
    with fake_prometheus() as found:
        found[1].job = "agent"
        yield found


def evaluator(url: str, seconds: float = 240) -> Evaluator:
    return Evaluator(
        source=Prometheus(url=url),
        span=Span(start=START, end=START + seconds),
        chosen={"job": "agent|shop"},
        scrape_seconds=15,
    )


def panel(*targets: Target, interval: str | None = None) -> Panel:
    return Panel(
        id=1, kind="timeseries", title="T", about="A", left=0, top=0, width=8, height=8,
        targets=targets, look=Look(), overrides=(), options={}, transformations=(), links=(),
        interval=interval,
    )  # fmt: skip


def target(**changes: object) -> Target:
    given = {"ref": "A", "expr": "up", "legend": "", "is_instant": False, "has_exemplars": False}
    return Target(**(given | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("expr", "step", "expected"),
    [
        pytest.param('a{job=~"$job"}', 1, 'a{job=~"agent|shop"}', id="a-chosen-label"),
        pytest.param('a{job=~"${job}"}', 1, 'a{job=~"agent|shop"}', id="in-braces"),
        pytest.param("rate(a[$__rate_interval])", 1, "rate(a[1m])", id="four-scrapes-at-least"),
        pytest.param("rate(a[$__rate_interval])", 90, "rate(a[105s])", id="a-step-and-a-scrape"),
        pytest.param("a offset $__interval", 90, "a offset 90s", id="the-step"),
        pytest.param("increase(a[$__range])", 1, "increase(a[4m])", id="the-whole-range"),
        pytest.param('label_replace(a, "b", "$1", "c", "(.+)")', 1,
                     'label_replace(a, "b", "$1", "c", "(.+)")', id="a-group-stays"),
        pytest.param("$unknown", 1, "$unknown", id="what-is-unknown-stays"),
    ],
)  # fmt: skip
def test_filled(expr: str, step: float, expected: str) -> None:
    assert evaluator("http://127.0.0.1:9").filled(expr, step) == expected


def test_a_range_query_has_a_value_a_step(server: tuple[str, Answers]) -> None:
    url, answers = server
    evaluated = evaluator(url).panel(panel(target(legend="{{job}} {{le}}"), interval="5m"))

    assert [series.name for series in evaluated.series] == ["agent 0.5", "agent 2.5", "agent +Inf"]
    assert evaluated.step == 300
    assert answers.asked[0].method == "POST"
    assert answers.asked[0].parameters["step"] == "300.0"


def test_an_instant_query_is_asked_at_the_end(server: tuple[str, Answers]) -> None:
    url, answers = server
    evaluated = evaluator(url).panel(panel(target(is_instant=True)))

    assert answers.asked[0].path == "/api/v1/query"
    assert evaluated.series[1].points == ((START + 240, 2.0),)
    assert evaluated.series[1].last == 2.0


def test_exemplars_come_with_their_trace(server: tuple[str, Answers]) -> None:
    url, _ = server
    (exemplar,) = evaluator(url).panel(panel(target(has_exemplars=True))).exemplars

    assert (exemplar.value, exemplar.trace_id) == (3.0, TRACE_ID)


def test_a_refused_query_is_told_on_its_panel(server: tuple[str, Answers]) -> None:
    url, answers = server
    answers.error = "parse error"

    assert evaluator(url).panel(panel(target())).error == "parse error"


def test_marks_are_where_series_begin(server: tuple[str, Answers]) -> None:
    url, _ = server
    marks = Marks(name="Deploys", expr="up", title="{{job}} runs", text="le {{ le }}", step="1m")
    found = evaluator(url).marks(marks)

    assert [(mark.time, mark.title, mark.text) for mark in found] == [
        (START, "agent runs", f"le {edge}") for edge in ("0.5", "2.5", "+Inf")
    ]


def test_label_values_and_the_scrape_interval_are_asked_for(server: tuple[str, Answers]) -> None:
    url, answers = server
    source = Prometheus(url=url + "/")

    assert source.label_values('up{job="a"}', "job", 0, 1) == ["agent"]
    assert answers.asked[-1].parameters["match[]"] == 'up{job="a"}'
    assert source.scrape_seconds() == 20


def test_a_server_that_is_not_there_is_named() -> None:
    with pytest.raises(PrometheusError) as caught:
        Prometheus(url="http://127.0.0.1:1").instant("up", 0)

    assert str(caught.value).startswith(
        "Prometheus at http://127.0.0.1:1 gave no answer: got ConnectionRefusedError"
    )
    assert str(caught.value).endswith("Check the address with `curl URL/-/ready`.")


def test_legend_leaves_out_what_is_missing() -> None:
    assert legend("{{job}}: {{ nothing }}k", {"job": "a"}) == "a: k"
