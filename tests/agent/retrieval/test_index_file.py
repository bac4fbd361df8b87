"""The saved index."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.errors import EmptyCorpusError, IndexFileError
from agent.retrieval.corpus import HANDBOOK, read_corpus
from agent.retrieval.files import SkippedFile
from agent.retrieval.index_file import build_index, read_index, write_index
from agent.retrieval.tfidf import CorpusChunk, TfidfIndex


@pytest.fixture
def index_path(tmp_path: Path) -> Path:
    path = tmp_path / "docs.index"
    write_index(TfidfIndex.fit([CorpusChunk(id="a", text="Reset the password")]), path)
    return path


def replace_part(path: Path, name: str, data: bytes) -> None:
    """Write the index again with one part changed."""
    with zipfile.ZipFile(path) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for part, old in parts.items():
            archive.writestr(part, data if part == name else old)


def test_loaded_index_searches_like_the_fitted_one(tmp_path: Path) -> None:
    fitted = TfidfIndex.fit(read_corpus().chunks)

    report = build_index(HANDBOOK, tmp_path / "new" / "handbook.index")
    loaded = read_index(report.path)

    assert loaded.fingerprint == fitted.fingerprint == report.fingerprint
    for query in ("Do I get my money back?", "outage", "xyzzy"):
        assert loaded.search(query, 5) == fitted.search(query, 5)


def test_report_says_what_was_made_and_skipped(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# One\nfirst text\n# Two\nsecond text")
    (docs / "b.png").write_text("x")

    report = build_index(docs, tmp_path / "out.index")

    assert (report.n_files, report.n_chunks, report.n_words) == (1, 2, 5)
    assert report.n_bytes == (tmp_path / "out.index").stat().st_size
    assert report.skipped == [SkippedFile(path="b.png", reason="neither markdown nor text (.png)")]
    assert report.warnings == []


def test_progress_names_each_stage_and_ends_complete(tmp_path: Path) -> None:
    last: dict[str, tuple[int, int]] = {}

    def on_progress(stage: str, done: int, total: int) -> None:
        last[stage] = (done, total)

    build_index(HANDBOOK, tmp_path / "out.index", on_progress)

    assert list(last) == ["reading", "fitting", "writing"]
    assert all(done == total > 0 for done, total in last.values())


def test_text_whose_words_are_not_told_apart_is_warned_of(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.txt").write_text("keys " + "x" * 200)
    (docs / "b.txt").write_text("Reset your password on the account page.")

    report = build_index(docs, tmp_path / "out.index")

    assert report.warnings == [
        "1 of 2 chunks have fewer than 1 word per 20 characters: they may be encoded data, or in a "
        "script whose words are not told apart, and will hardly be found"
    ]


def test_equal_documents_give_equal_bytes(tmp_path: Path) -> None:
    build_index(HANDBOOK, tmp_path / "a.index")
    build_index(HANDBOOK, tmp_path / "b.index")

    assert (tmp_path / "a.index").read_bytes() == (tmp_path / "b.index").read_bytes()


def test_a_failed_build_keeps_the_old_index(index_path: Path) -> None:
    before = index_path.read_bytes()
    empty = index_path.parent / "empty"
    empty.mkdir()

    with pytest.raises(EmptyCorpusError):
        build_index(empty, index_path)

    assert index_path.read_bytes() == before


def test_an_interrupted_write_leaves_no_file_behind(index_path: Path) -> None:
    before = index_path.read_bytes()

    def interrupt(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_index(read_index(index_path), index_path, on_part=interrupt)

    assert index_path.read_bytes() == before
    assert [path.name for path in index_path.parent.iterdir()] == [index_path.name]


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        pytest.param("version", 2, "got version 2, expected version 1", id="newer-format"),
        pytest.param("tokenizer", 0, "got tokenizer 0, expected tokenizer 1", id="old-tokenizer"),
        pytest.param(
            "format", "x", "got format 'x', expected format 'loopscope-index'", id="other-format"
        ),
    ],
)
def test_index_of_another_kind_is_refused(
    key: str, value: Any, expected: str, index_path: Path
) -> None:
    manifest = {"format": "loopscope-index", "version": 1, "tokenizer": 1} | {key: value}
    replace_part(index_path, "manifest.json", json.dumps(manifest).encode())

    with pytest.raises(IndexFileError) as caught:
        read_index(index_path)

    assert str(caught.value) == (
        f"index file {str(index_path)!r} cannot be used: {expected}. "
        "Build it with `loopscope index DIR`."
    )


@pytest.mark.parametrize(
    ("part", "data"),
    [
        pytest.param("manifest.json", b"7", id="manifest-is-a-number"),
        pytest.param("manifest.json", b"\xff", id="manifest-is-no-text"),
        pytest.param("chunks.jsonl", b'{"id": "a"}\n', id="chunk-without-text"),
        pytest.param("chunks.jsonl", b"", id="chunks-gone"),
        pytest.param("vocabulary.json", b'["a"]', id="other-vocabulary"),
        pytest.param("norms.npy", b"", id="empty-array"),
    ],
)
def test_damaged_index_is_one_clear_line(part: str, data: bytes, index_path: Path) -> None:
    replace_part(index_path, part, data)

    with pytest.raises(IndexFileError, match="it is damaged or no index, expected an index file"):
        read_index(index_path)


def test_an_array_that_holds_objects_is_never_unpickled(index_path: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "evil.npy", np.array([print], object), allow_pickle=True)
    replace_part(index_path, "norms.npy", (tmp_path / "evil.npy").read_bytes())

    with pytest.raises(IndexFileError, match="damaged"):
        read_index(index_path)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(None, "No such file or directory when reading it", id="missing"),
        pytest.param(b"no zip", "it is damaged or no index", id="not-a-zip"),
        pytest.param(b"", "it is damaged or no index", id="empty-file"),
    ],
)
def test_file_that_is_no_index(data: bytes | None, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "x.index"
    if data is not None:
        path.write_bytes(data)

    with pytest.raises(IndexFileError, match=expected):
        read_index(path)


def test_path_that_cannot_be_written(index_path: Path) -> None:
    with pytest.raises(IndexFileError, match="when writing it, expected a path that can be"):
        write_index(read_index(index_path), index_path / "below-a-file")


def test_a_changed_byte_is_refused_or_changes_nothing(index_path: Path) -> None:
    good, intact = index_path.read_bytes(), read_index(index_path)
    refused = 0
    for place in range(0, len(good), 7):
        index_path.write_bytes(
            good[:place] + bytes([good[place] ^ (1 << place % 8)]) + good[place + 1 :]
        )
        try:
            found = read_index(index_path)
        except IndexFileError:
            refused += 1
        else:
            assert found.fingerprint == intact.fingerprint
            assert found.search("password", 1) == intact.search("password", 1)

    assert refused > len(good) / 7 / 2


def test_a_chunk_that_is_no_text_is_refused(index_path: Path) -> None:
    chunk = {"id": "a", "text": None, "title": "", "source": ""}
    replace_part(index_path, "chunks.jsonl", json.dumps(chunk).encode())

    with pytest.raises(IndexFileError, match="it is damaged or no index"):
        read_index(index_path)


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    index = TfidfIndex.fit([CorpusChunk(id="a", text="Reset the password")])
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    with pytest.raises(IndexFileError, match="got a device or a pipe, expected a path for a file"):
        write_index(index, pipe)

    assert pipe.is_fifo()
