from __future__ import annotations

from typing import Any

from dashboards.render.board import Look, Panel, Target
from dashboards.render.evaluate import Evaluated, Series
from dashboards.render.tables import make_table


def panel(refs: str, organize: dict[str, Any], **options: Any) -> Panel:
    return Panel(
        id=1, kind="table", title="T", about="A", left=0, top=0, width=8, height=8,
        targets=tuple(
            Target(ref=ref, expr="up", legend="", is_instant=True, has_exemplars=False)
            for ref in refs
        ),
        look=Look(), overrides=(), options=options, links=(), interval=None,
        transformations=({"id": "merge", "options": {}}, {"id": "organize", "options": organize}),
    )  # fmt: skip


def series(ref: str, value: float, **labels: str) -> Series:
    return Series(name="", ref=ref, labels=labels, points=((0.0, value),), look=Look())


ORGANIZED = {
    "excludeByName": {"Time": True},
    "indexByName": {"window": 0, "job": 1, "Value #A": 2, "Value #B": 3},
    "renameByName": {"window": "window", "job": "job", "Value #A": "k", "Value #B": "n"},
}


def test_answers_with_the_same_labels_share_a_row() -> None:
    evaluated = Evaluated(
        panel=panel("AB", ORGANIZED),
        series=(
            series("A", 3.0, job="b", window="1h", __name__="k"),
            series("B", 9.0, job="b", window="1h", __name__="n"),
            series("B", 4.0, job="a", window="1h", __name__="n"),
            series("B", 2.0, job="a", window="15m", __name__="n"),
        ),
    )

    table = make_table(evaluated)

    assert table.columns == ("window", "job", "k", "n")
    assert table.rows == (
        ("15m", "a", None, 2.0),
        ("1h", "b", 3.0, 9.0),
        ("1h", "a", None, 4.0),
    )
    assert table.column("n") == [2.0, 9.0, 4.0]


def test_a_single_query_has_a_column_called_value() -> None:
    organized = {**ORGANIZED, "renameByName": {"Value": "replicas"}}
    evaluated = Evaluated(panel=panel("A", organized), series=(series("A", 2.0, job="a"),))

    assert make_table(evaluated).columns == ("job", "replicas")


def test_a_table_is_sorted_as_the_panel_says() -> None:
    by_n = [{"displayName": "n", "desc": True}]
    evaluated = Evaluated(
        panel=panel("AB", ORGANIZED, sortBy=by_n),
        series=tuple(series("B", value, job=str(value)) for value in (2.0, 9.0, 4.0)),
    )

    assert make_table(evaluated).column("n") == [9.0, 4.0, 2.0]


def test_no_answer_is_an_empty_table() -> None:
    assert make_table(Evaluated(panel=panel("AB", ORGANIZED))).rows == ()
