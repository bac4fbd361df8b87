"""Which files of a folder are read, and why the others are not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.retrieval import files
from agent.retrieval.files import SkippedFile, find_files, read_text


def found(directory: Path) -> tuple[list[str], dict[str, str]]:
    paths, skipped = find_files(directory)
    names = [path.relative_to(directory).as_posix() for path in paths]
    return names, {entry.path: entry.reason for entry in skipped}


def test_text_files_come_sorted_and_others_are_named(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("b/two.TXT", "a.md", "c.markdown", "logo.png", ".secret.md", "Makefile"):
        (tmp_path / name).write_text("text")
    (tmp_path / ".git").mkdir()

    assert found(tmp_path) == (
        ["a.md", "b/two.TXT", "c.markdown"],
        {
            ".git": "hidden",
            ".secret.md": "hidden",
            "Makefile": "neither markdown nor text (no suffix)",
            "logo.png": "neither markdown nor text (.png)",
        },
    )


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.md").write_text("text")
    (tmp_path / "sub" / "up").symlink_to(tmp_path)
    (tmp_path / "twin").symlink_to(tmp_path / "sub")

    assert found(tmp_path) == (
        ["sub/a.md"],
        {
            "sub/up": "link to a folder that was read already",
            "twin": "link to a folder that was read already",
        },
    )


def test_a_linked_file_is_read_once(tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("text")
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").symlink_to(outside)
    (docs / "b.md").symlink_to(outside)

    assert found(docs) == (["a.md"], {"b.md": "same file as another one"})


def test_broken_link_pipe_and_large_file_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 2_000_000)
    (tmp_path / "broken.md").symlink_to(tmp_path / "nowhere")
    (tmp_path / "large.md").write_bytes(b"x" * 2_000_001)
    os.mkfifo(tmp_path / "pipe.md")

    assert found(tmp_path) == (
        [],
        {
            "broken.md": "cannot be read: No such file or directory",
            "large.md": "larger than 2 MB",
            "pipe.md": "not a regular file",
        },
    )


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"caf\xc3\xa9\r\ntwo\rthree", "café\ntwo\nthree", id="utf8-any-line-end"),
        pytest.param(b"\xef\xbb\xbfwith mark", "with mark", id="utf8-with-mark"),
        pytest.param("käse".encode("utf-16"), "käse", id="utf16-with-mark"),
        pytest.param(b"", "empty", id="empty"),
        pytest.param(b" \n\t\n", "empty", id="blank"),
        pytest.param(b"\x89PNG\r\n\0\0", "binary content", id="binary"),
        pytest.param(b"caf\xe9", "not utf-8 text (byte 3)", id="latin1"),
        pytest.param(b"\xff\xfea", "not utf-16 text (byte 2)", id="half-a-utf16-character"),
    ],
)
def test_reading(data: bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "file.md"
    path.write_bytes(data)

    result = read_text(path, "file.md")

    assert (result.reason if isinstance(result, SkippedFile) else result) == expected


def test_a_file_that_went_away_is_named(tmp_path: Path) -> None:
    assert read_text(tmp_path / "gone.md", "gone.md") == SkippedFile(
        path="gone.md", reason="cannot be read: No such file or directory"
    )
