from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from record_turns import NOW, Finding, make_retrieval, make_turn

from telemetry.content import digest
from telemetry.errors import RecordsMissingError, RecordsQueryError
from telemetry.records import Group, Labels, RecordReader, RecordSink, Selection, open_reader
from telemetry.records.database import connect, parse_address

TURNS = (
    # (seconds before now, changes, findings)
    (50, {"outcome": "answered", "rewrites": 0, "version": "1", "drafts": 2, "failed_calls": 3,
          "duration_seconds": 2.0, "retrievals": (
              make_retrieval(0, failed=True, chunk_ids=(), scores=(), grades=()),
              make_retrieval(0))}, ()),
    (40, {"outcome": "no_results", "rewrites": 3, "version": "1"}, ("synonym_swap", "drift")),
    (30, {"outcome": "off_topic", "rewrites": 0, "confidence": "low", "version": "1",
          "classification": "irrelevant", "retrievals": ()}, ("silent_rejection",)),
    (20, {"outcome": "answered", "rewrites": 1, "version": "2", "trace_id": "f" * 32}, ("drift",)),
    (10, {"outcome": "no_results", "rewrites": 3, "version": "2", "graph": "other",
          "conversation_id": "Ms. Miller"}, ()),
)  # fmt: skip


@pytest.fixture
def filled(url: str) -> Iterator[RecordReader]:
    sink = RecordSink(url, clock=lambda: NOW, labels=Labels(index="i1"))
    for ago, changes, findings in TURNS:
        turn = make_turn(**{"started_at": NOW - ago, "llm_calls": ago, **changes})
        sink.put(turn, [Finding(name) for name in findings])
    sink.close(10)
    with open_reader(url) as reader:
        yield reader


def ages(reader: RecordReader, selection: Selection) -> list[int]:
    """Seconds before now of the selected turns, newest first; `llm_calls` holds them too."""
    return [record.llm_calls for record in reader.list(selection).records]


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        pytest.param(Selection(), [10, 20, 30, 40, 50], id="all-newest-first"),
        pytest.param(Selection(outcome="answered"), [20, 50], id="one-outcome"),
        pytest.param(Selection(outcome=("answered", "off_topic")), [20, 30, 50], id="two-outcomes"),
        pytest.param(Selection(outcome=()), [], id="no-outcome-is-no-turn"),
        pytest.param(Selection(version="2"), [10, 20], id="version"),
        pytest.param(Selection(version="2", outcome="answered"), [20], id="fields-narrow"),
        pytest.param(Selection(graph="other"), [10], id="graph"),
        pytest.param(Selection(confidence="low"), [30], id="confidence"),
        pytest.param(Selection(classification="irrelevant"), [30], id="classification"),
        pytest.param(Selection(last_grade="none"), [30], id="last-grade"),
        pytest.param(Selection(index_label="i1"), [10, 20, 30, 40, 50], id="label"),
        pytest.param(Selection(index_label="i2"), [], id="another-label"),
        pytest.param(Selection(trace_id="f" * 32), [20], id="trace"),
        pytest.param(Selection(conversation_id="thread-7"), [20, 30, 40, 50], id="conversation"),
        pytest.param(Selection(conversation_id="Ms. Miller"), [10], id="a-hashed-conversation"),
        pytest.param(Selection(finding="drift"), [20, 40], id="finding"),
        pytest.param(Selection(finding="drift", version="2"), [20], id="finding-and-more"),
        pytest.param(Selection(since=NOW - 30), [10, 20, 30], id="since-is-inclusive"),
        pytest.param(Selection(until=NOW - 30), [40, 50], id="until-is-exclusive"),
        pytest.param(Selection(since=NOW - 30, until=NOW, finding="drift"), [20], id="a-span"),
        pytest.param(Selection(min_rewrites=1), [10, 20, 40], id="at-least-so-many-rewrites"),
        pytest.param(Selection(min_drafts=1), [50], id="at-least-so-many-drafts"),
        pytest.param(Selection(min_failed_calls=3), [50], id="at-least-so-many-failed-calls"),
        pytest.param(Selection(min_failed_calls=4), [], id="fewer-failed-calls"),
        pytest.param(Selection(min_failed_retrievals=1), [50], id="a-failed-search"),
        pytest.param(Selection(min_failed_judgements=1), [], id="no-failed-judgement"),
        pytest.param(Selection(longer_than=0.125), [50], id="longer-than-is-exclusive"),
        pytest.param(Selection(outcome="x' OR '1'='1"), [], id="an-injection-is-a-value"),
    ],
)  # fmt: skip
def test_selections(filled: RecordReader, selection: Selection, expected: list[int]) -> None:
    assert ages(filled, selection) == expected
    assert filled.count(selection) == len(expected)
    assert [record.llm_calls for record in filled.walk(selection)] == expected[::-1]
    assert [row[0] for row in filled.columns(["llm_calls"], selection)] == expected[::-1]


@pytest.mark.parametrize("selection", [Selection(), Selection(finding="drift")])
def test_pages_show_every_turn_once_even_when_new_ones_arrive(
    url: str, selection: Selection
) -> None:
    sink = RecordSink(url, clock=lambda: NOW)
    wanted = [sink.put(make_turn(started_at=NOW - n), [Finding("drift")]) for n in range(25)]
    assert sink.flush(10)
    seen: list[str] = []
    before = None
    with open_reader(url) as reader:
        while True:
            page = reader.list(selection, before=before, limit=10)
            seen += [record.id for record in page.records]
            before = page.next
            if before is None:
                break
            sink.put(make_turn(started_at=NOW + 1), [Finding("drift")])
            assert sink.flush(10)
    sink.close()

    assert seen == wanted


def test_groups(filled: RecordReader) -> None:
    groups = filled.aggregate(["version", "outcome"])

    assert [(group.key, group.turns, group.rewrites) for group in groups] == [
        (("1", "answered"), 1, 0),
        (("1", "no_results"), 1, 3),
        (("1", "off_topic"), 1, 0),
        (("2", "answered"), 1, 1),
        (("2", "no_results"), 1, 3),
    ]
    assert filled.aggregate([]) == (
        Group(key=(), turns=5, rewrites=7, llm_calls=150, input_tokens=2_100, output_tokens=185,
              duration_seconds=2.5),
    )  # fmt: skip


def test_sums_are_made_by_the_database(filled: RecordReader) -> None:
    columns = ["failed_calls", "retrievals", "failed_retrievals", "judgements"]

    # judged: the topic of each of five turns, eight graded searches of two chunks, two drafts
    assert filled.sums(columns) == (3, 8, 1, 5 + 2 * 7 + 2)
    assert filled.sums(["llm_calls"], Selection(graph="nobody")) == (0,)


def test_groups_by_finding_and_over_time(filled: RecordReader) -> None:
    by_finding = filled.aggregate(["finding"])
    over_time = filled.aggregate(["outcome"], Selection(outcome="no_results"), bucket_seconds=20)

    assert [(group.key, group.turns) for group in by_finding] == [
        (("drift",), 2),
        (("silent_rejection",), 1),
        (("synonym_swap",), 1),
    ]
    assert [group.key for group in over_time] == [
        ("no_results", int(NOW) - 40),
        ("no_results", int(NOW) - 20),
    ]


def test_groups_of_an_empty_selection(filled: RecordReader) -> None:
    assert filled.aggregate(["version"], Selection(graph="nobody")) == ()
    assert filled.aggregate([], Selection(graph="nobody"))[0].turns == 0


def test_groups_with_an_unknown_value_come_first(filled: RecordReader) -> None:
    groups = filled.aggregate(["prompt_label"])

    assert [(group.key, group.turns) for group in groups] == [((None,), 5)]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        pytest.param(
            lambda reader: reader.aggregate(["question"]),
            "cannot ask the turn records for the column 'question', expected one of ",
            id="no-text-to-group-by",
        ),
        pytest.param(
            lambda reader: reader.columns(["id; DROP TABLE turns"]),
            "cannot ask the turn records for the column 'id; DROP TABLE turns', expected one of ",
            id="no-injection-by-column",
        ),
        pytest.param(
            lambda reader: reader.list(limit=0),
            "cannot ask the turn records for a page of 0, expected one of 1 to 1000. ",
            id="a-page-holds-a-turn-at-least",
        ),
    ],
)
def test_what_cannot_be_asked(
    filled: RecordReader, ask: Callable[[RecordReader], object], message: str
) -> None:
    with pytest.raises(RecordsQueryError) as caught:
        ask(filled)

    assert str(caught.value).startswith(message)


def test_a_long_walk_reads_a_thousand_at_a_time(url: str) -> None:
    sink = RecordSink(url, clock=lambda: NOW)
    for n in range(2_500):
        sink.put(make_turn(started_at=NOW + n / 1000, llm_calls=n))
    sink.close(20)

    with open_reader(url) as reader:
        assert [record.llm_calls for record in reader.walk()] == list(range(2_500))


def test_a_reader_made_before_the_store_finds_it_later(url: str, sink: RecordSink) -> None:
    with open_reader(url) as reader:
        with pytest.raises(RecordsMissingError):
            reader.count()
        sink.put(make_turn())
        assert sink.flush(10)

        assert reader.count() == 1


def test_a_missing_file_is_not_created(tmp_path: Path) -> None:
    with open_reader(tmp_path / "typo.db") as reader, pytest.raises(RecordsMissingError):
        reader.count()

    assert list(tmp_path.iterdir()) == []


def test_many_threads_may_ask_one_reader(filled: RecordReader) -> None:
    counts: list[int] = []
    threads = [
        threading.Thread(target=lambda: counts.extend(filled.count() for _ in range(20)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert counts == [5] * 160


@pytest.mark.servers
def test_a_reader_survives_a_lost_connection(new_postgres_schema: Callable[[], str]) -> None:
    url = new_postgres_schema()
    sink = RecordSink(url, clock=lambda: NOW)
    sink.put(make_turn())
    sink.close(10)
    with open_reader(url) as reader:
        assert reader.count() == 1
        database = connect(parse_address(url))
        database.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'loopscope' AND pid <> pg_backend_pid()"
        )
        database.close()

        assert reader.count() == 1


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_opens_a_connection_of_its_own(filled: RecordReader) -> None:
    assert filled.count() == 5
    pid = os.fork()
    if pid == 0:
        os._exit(0 if filled.count() == 5 else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert filled.count() == 5


def test_records_show_the_conversation_as_a_hash(filled: RecordReader) -> None:
    (record,) = filled.list(Selection(graph="other")).records

    assert record.conversation_id == digest("Ms. Miller")
