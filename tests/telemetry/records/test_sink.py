from __future__ import annotations

import json
import logging
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest
from record_turns import NOW, Finding, make_turn

from telemetry.batching import BatchLimits
from telemetry.content import ContentGate
from telemetry.errors import RecordsMissingError
from telemetry.records import Labels, RecordReader, RecordSink, Retention, Selection, open_reader
from telemetry.records.database import connect, parse_address
from telemetry.records.record import new_id
from telemetry.records.schema import MIGRATIONS

DAY = 86_400.0


class Books:
    def __init__(self) -> None:
        self.lost: Counter[str] = Counter()

    def __call__(self, signal: str, count: int) -> None:
        self.lost[signal] += count


def make_sink(url: str | Path, books: Books | None = None, **options: object) -> RecordSink:
    return RecordSink(url, clock=lambda: NOW, dropped=books or Books(), **options)  # type: ignore[arg-type]


def run_python(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script, *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": f".:{Path(__file__).parent}"},
    )


def test_a_put_turn_can_be_read_while_the_sink_goes_on(
    url: str, sink: RecordSink, reader: RecordReader
) -> None:
    first = sink.put(make_turn(), (Finding("drift"),))
    assert sink.flush(10)
    before = reader.count()
    sink.put(make_turn(started_at=1_700_000_001.0))
    assert sink.flush(10)

    record = reader.get(first)

    assert (before, reader.count()) == (1, 2)
    assert record is not None
    assert (record.outcome, record.findings) == ("answered", ("drift",))


def test_labels_of_the_process_are_on_every_record(url: str, reader: RecordReader) -> None:
    sink = make_sink(url, labels=Labels(index="i2", model="local"))
    record_id = sink.put(make_turn())
    sink.close()

    record = reader.get(record_id)

    assert record is not None
    assert record.labels == Labels(index="i2", model="local")


@pytest.mark.parametrize(
    ("retention", "kept"),
    [
        pytest.param(Retention(max_age_seconds=3.5 * DAY), [1, 2, 3], id="by-age"),
        pytest.param(Retention(max_turns=2), [1, 2], id="by-count"),
        pytest.param(Retention(max_age_seconds=1.5 * DAY, max_turns=3), [1], id="by-both"),
        pytest.param(Retention(max_turns=0), [], id="nothing-is-kept"),
    ],
)
def test_old_and_surplus_turns_are_deleted(
    url: str, retention: Retention, kept: list[int], reader: RecordReader
) -> None:
    sink = make_sink(url, retention=retention)
    for days in range(9, 0, -1):
        sink.put(make_turn(started_at=NOW - days * DAY, llm_calls=days), (Finding("drift"),))
    sink.close()

    assert [row[0] for row in reader.columns(["llm_calls"])] == kept[::-1]
    assert reader.count(Selection(finding="drift")) == len(kept)


def test_the_store_stays_bounded_while_it_is_written(url: str, reader: RecordReader) -> None:
    now = [NOW]
    sink = RecordSink(url, clock=lambda: now[0], retention=Retention(max_turns=10))
    for round_number in range(5):
        for second in range(20):
            sink.put(make_turn(started_at=NOW + 100 * round_number + second))
        now[0] += 61.0
        assert sink.flush(10)

    assert reader.count() == 10
    sink.close()


@pytest.mark.parametrize("left", ["nothing", "its log", "a copy"])
def test_a_store_that_is_deleted_is_begun_anew_and_read_anew(tmp_path: Path, left: str) -> None:
    path, books = tmp_path / "turns.sqlite", Books()
    with open_reader(path) as reader:
        sink = make_sink(path, books)
        sink.put(make_turn())
        assert sink.flush(10)
        assert reader.count() == 1
        if left == "a copy":  # as a rotation of files leaves it
            path.rename(tmp_path / "turns.1.sqlite")
        else:
            path.unlink()
        if left != "its log":
            for end in ("-wal", "-shm"):
                path.with_name(f"{path.name}{end}").unlink()
        sink.put(make_turn())
        sink.put(make_turn())
        assert sink.flush(10)

        assert reader.count() == 2
        sink.close(10)
        assert reader.count() == 2
    assert books.lost == {}


def test_a_store_stays_bounded_after_a_clock_that_was_set_back(
    url: str, reader: RecordReader
) -> None:
    now = [NOW + DAY]
    sink = RecordSink(url, clock=lambda: now[0], retention=Retention(max_turns=1))
    sink.put(make_turn())
    assert sink.flush(10)
    now[0] = NOW
    sink.put(make_turn())
    assert sink.flush(10)
    sink.close(10)

    assert reader.count() == 1


@pytest.mark.parametrize(
    "strange",
    [{"recursion_limit": 10**30}, {"duration_seconds": "long"}, {"retrievals": 5}],
    ids=["a number too large", "a text for a number", "what is no list"],
)
def test_a_turn_that_no_column_takes_takes_no_other_turn_along(
    url: str,
    reader: RecordReader,
    caplog: pytest.LogCaptureFixture,
    strange: dict[str, object],
) -> None:
    books = Books()
    sink = make_sink(url, books)
    sink.put(make_turn())
    sink.put(make_turn(**strange))
    sink.put(make_turn())
    assert sink.flush(10)
    sink.close(10)

    assert reader.count() == 2
    assert books.lost == {"records": 1}
    said = [record for record in caplog.records if record.name.startswith("telemetry")]
    assert len(said) == 1  # psycopg may add a warning of its own


def test_a_question_that_no_text_of_postgresql_holds_is_kept(
    url: str, reader: RecordReader
) -> None:
    books = Books()
    sink = make_sink(url, books, gate=ContentGate(spans=True))
    sink.put(make_turn(question="where is\x00it?\ud800", reply="here\x00"))
    assert sink.flush(10)
    sink.close(10)

    assert books.lost == {}
    assert reader.count() == 1


def test_two_writers_share_one_store(url: str, reader: RecordReader) -> None:
    sinks = [make_sink(url) for _ in range(2)]

    def produce(sink: RecordSink) -> None:
        for _ in range(500):
            sink.put(make_turn())

    threads = [threading.Thread(target=produce, args=(sink,)) for sink in sinks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for sink in sinks:
        sink.close(20)

    assert reader.count() == 1_000


def test_a_locked_store_costs_the_request_nothing_and_loses_nothing(tmp_path: Path) -> None:
    path, books = tmp_path / "turns.db", Books()
    sink = make_sink(path, books)
    sink.put(make_turn())
    assert sink.flush(10)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")

    times = []
    for _ in range(200):
        started = time.perf_counter()
        sink.put(make_turn())
        times.append(time.perf_counter() - started)
    was_done = sink.flush(0.8)
    other.execute("ROLLBACK")
    other.close()

    assert median(times) < 0.001
    assert was_done is False
    assert sink.flush(10)
    sink.close()
    with open_reader(path) as reader:
        assert reader.count() == 201
    assert books.lost == {}


@pytest.mark.servers
def test_a_lost_connection_loses_no_turn(new_postgres_schema: Callable[[], str]) -> None:
    url, books = new_postgres_schema(), Books()
    sink = make_sink(url, books)
    sink.put(make_turn())
    assert sink.flush(10)
    database = connect(parse_address(url))
    database.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = 'loopscope' AND pid <> pg_backend_pid()"
    )

    sink.put(make_turn())
    assert sink.flush(10)

    assert database.execute("SELECT COUNT(*) FROM turns")[0][0] == 2
    assert books.lost == {}
    database.close()
    sink.close()


def make_directory(path: Path) -> None:
    path.mkdir()


def make_noise(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 64)


def make_newer(path: Path) -> None:
    database = sqlite3.connect(path)
    database.executescript(
        "PRAGMA journal_mode = WAL; CREATE TABLE schema_version (version BIGINT);"
        "INSERT INTO schema_version VALUES (99)"
    )
    database.close()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        pytest.param(make_directory, "Is a directory", id="a-directory"),
        pytest.param(make_noise, "file is not a database", id="a-corrupt-file"),
        pytest.param(
            make_newer, f"has version 99, expected {len(MIGRATIONS)}", id="a-newer-schema"
        ),
    ],
)
def test_a_spoilt_store_breaks_nothing_is_counted_and_said_once(
    tmp_path: Path,
    spoil: Callable[[Path], None],
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    path, books = tmp_path / "turns.db", Books()
    spoil(path)
    content = path.read_bytes() if path.is_file() else None
    sink = make_sink(
        path, books, limits=BatchLimits(capacity=20, batch_size=5, interval_seconds=0.01)
    )

    with caplog.at_level(logging.WARNING):
        ids = [sink.put(make_turn())]
        assert not sink.flush(0.2)
        ids += [sink.put(make_turn()) for _ in range(49)]
        sink.close(5)

    assert len(set(ids)) == 50
    assert books.lost == {"records": 50}
    assert len(caplog.messages) == 1
    assert reason in caplog.messages[0]
    assert content is None or path.read_bytes() == content


READ_ONLY = """
import os, sys
from record_turns import make_turn
from telemetry.records import RecordSink
if os.geteuid() == 0:
    os.setuid(65534)  # no mode keeps root out
sink = RecordSink(sys.argv[1], dropped=lambda signal, count: print(signal, count))
sink.put(make_turn())
sink.close()
"""


def test_a_read_only_store_is_counted(tmp_path: Path) -> None:
    make_sink(tmp_path / "turns.db").put(make_turn())
    path = tmp_path / "turns.db"
    path.touch()
    for file in [path, tmp_path]:
        file.chmod(file.stat().st_mode & 0o555)

    result = run_python(READ_ONLY, str(path))

    tmp_path.chmod(0o755)
    assert (result.returncode, result.stdout) == (0, "records 1\n")
    assert result.stderr.count("\n") == 1
    assert "records are not delivered" in result.stderr


FULL_DISK = """
import resource, signal, sys
from record_turns import make_turn
from telemetry.batching import BatchLimits
from telemetry.content import ContentGate
from telemetry.records import RecordSink
lost = []
sink = RecordSink(sys.argv[1], dropped=lambda signal, count: lost.append(count),
    limits=BatchLimits(capacity=100, batch_size=10, interval_seconds=0.01))
sink.put(make_turn(started_at=2e9))
assert sink.flush(10)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
for _ in range(500):
    sink.put(make_turn(started_at=2e9))
assert not sink.flush(0.3)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert sink.flush(20)
sink.close()
print(sum(lost))
"""


def test_a_full_disk_loses_only_what_does_not_fit_the_queue(tmp_path: Path) -> None:
    path = tmp_path / "turns.db"

    result = run_python(FULL_DISK, str(path))

    assert result.returncode == 0, result.stderr
    lost = int(result.stdout)
    assert 390 <= lost <= 400
    with open_reader(path) as reader:
        assert reader.count() == 501 - lost


KILLED = """
import sys, time
from record_turns import make_turn
from telemetry.records import RecordSink
sink = RecordSink(sys.argv[1])
while True:
    record_id = sink.put(make_turn(started_at=time.time()))
    print(record_id, time.monotonic(), flush=True)
    time.sleep(0.002)
"""


def test_kill_9_loses_at_most_the_last_second(url: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, url],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f".:{Path(__file__).parent}"},
    )
    assert process.stdout is not None
    puts: list[tuple[str, float]] = []
    while len(puts) < 2 or puts[-1][1] - puts[0][1] < 2.5:
        record_id, moment = process.stdout.readline().split()
        puts.append((record_id, float(moment)))
    process.send_signal(signal.SIGKILL)
    killed_at = time.monotonic()
    puts += [(i, float(m)) for i, m in map(str.split, process.stdout.read().splitlines())]
    process.stdout.close()
    process.wait()

    with open_reader(url) as reader:
        kept = {row[0] for row in reader.columns(["id"])}

    lost = [moment for record_id, moment in puts if record_id not in kept]
    assert len(puts) > 100
    assert not lost or killed_at - min(lost) <= 1.0
    sink = make_sink(url)  # and the store goes on
    sink.put(make_turn(started_at=time.time()))
    sink.close(10)
    with open_reader(url) as reader:
        assert reader.count() == len(kept) + 1


FORKED = """
import os, sys
from record_turns import make_turn
from telemetry.records import RecordSink
sink = RecordSink(sys.argv[1], clock=lambda: 1_700_000_100.0)
sink.put(make_turn())
assert sink.flush(10)
children = []
for _ in range(2):
    pid = os.fork()
    if pid == 0:
        sink.put(make_turn())
        sys.exit(0)
    children.append(pid)
codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
sink.put(make_turn())
print(codes, sink.flush(10))
"""


def test_forked_workers_write_on_their_own(url: str, reader: RecordReader) -> None:
    result = run_python(FORKED, url)

    assert (result.returncode, result.stdout, result.stderr) == (0, "[0, 0] True\n", "")
    assert reader.count() == 4


CHILDREN = """
import multiprocessing, sys
from record_turns import make_turn
from telemetry.records import RecordSink
sink = RecordSink(sys.argv[1], clock=lambda: 1_700_000_100.0)
def work(n):
    for _ in range(n):
        sink.put(make_turn())
if __name__ == "__main__":
    sink.put(make_turn())
    children = [
        multiprocessing.get_context("fork").Process(target=work, args=(n,)) for n in (1, 2)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join()
    print([child.exitcode for child in children], sink.flush(10))
"""


def test_children_of_multiprocessing_have_written_their_turns_when_they_end(
    url: str, reader: RecordReader
) -> None:
    result = run_python(CHILDREN, url)

    assert (result.returncode, result.stdout, result.stderr) == (0, "[0, 0] True\n", "")
    assert reader.count() == 4


ENDING = """
import sys
from record_turns import make_turn
from telemetry.records import RecordSink
RecordSink(sys.argv[1], clock=lambda: 1_700_000_100.0).put(make_turn())
"""


def test_a_process_that_ends_at_once_has_written_its_turn(url: str, reader: RecordReader) -> None:
    result = run_python(ENDING, url)

    assert (result.returncode, result.stderr) == (0, "")
    assert reader.count() == 1


@pytest.mark.servers
def test_a_black_holed_postgresql_does_not_hold_the_process() -> None:
    with socket.create_server(("127.0.0.1", 0)) as hole:
        url = f"postgresql://me@127.0.0.1:{hole.getsockname()[1]}/turns"

        started = time.monotonic()
        result = run_python(ENDING, url)
        took = time.monotonic() - started

    assert result.returncode == 0
    assert result.stderr.count("\n") == 1
    assert took < 10  # the box is 1.5 s; the rest is Python starting on a busy machine


def opened_when_there(url: str, patience_seconds: float = 30.0) -> RecordReader:
    """Open a reader as soon as the other process has committed for the first time."""
    deadline = time.monotonic() + patience_seconds
    while True:
        try:
            return open_reader(url)
        except RecordsMissingError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def test_readers_see_committed_turns_while_another_process_writes(url: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, url],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f".:{Path(__file__).parent}"},
    )
    assert process.stdout is not None
    counts: list[int] = []
    try:
        for _ in range(300):
            process.stdout.readline()
        with opened_when_there(url) as reader:
            while not counts or counts[-1] < counts[0] + 100:
                process.stdout.readline()
                counts.append(reader.count())
    finally:
        process.kill()
        process.stdout.close()
        process.wait()

    assert counts == sorted(counts)


def test_ids_given_out_are_the_ids_kept(url: str, sink: RecordSink, reader: RecordReader) -> None:
    ids = {sink.put(make_turn(started_at=NOW - n)) for n in range(20)}
    assert sink.flush(10)

    assert {row[0] for row in reader.columns(["id"])} == ids
    assert reader.get(new_id(NOW)) is None
    assert json.dumps(sorted(ids))
