"""Find the text files below a folder and read them; say of all others why they are not used."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent.retrieval.chunks import valid_text

TEXT_SUFFIXES: Final = frozenset({".md", ".markdown", ".txt"})

MAX_FILE_BYTES: Final = 10_000_000
"""A larger text file is a log or a data set, not documentation; chosen by us."""

_BYTE_ORDER_MARKS: Final = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedFile:
    """A file or folder that gave no chunk."""

    path: str
    """Relative to the corpus."""
    reason: str
    """A phrase for people, for example `binary content`."""


def find_files(directory: Path) -> tuple[list[Path], list[SkippedFile]]:
    """Return the markdown and text files below a folder, sorted by path, and what was passed over.

    Links are followed. A file or folder that is reached a second time is passed over, so that a
    loop of links ends and no text is indexed twice.

    Args:
        directory: An existing folder.

    Raises:
        OSError: The folder itself cannot be listed.
    """
    walk = _Walk(directory)
    walk.enter(directory)
    return walk.files, walk.skipped


class _Walk:
    """One pass through a tree of folders."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._seen: set[tuple[int, int]] = set()
        self.files: list[Path] = []
        self.skipped: list[SkippedFile] = []

    def enter(self, folder: Path) -> None:
        status = folder.stat()
        self._seen.add((status.st_dev, status.st_ino))
        for path in sorted(folder.iterdir()):
            reason = self._visit(path)
            if reason:
                name = valid_text(path.relative_to(self._root).as_posix())
                self.skipped.append(SkippedFile(path=name, reason=reason))

    def _visit(self, path: Path) -> str | None:
        """Take a file, go into a folder, or return why neither is done."""
        if path.name.startswith("."):
            return "hidden"
        try:
            status = path.stat()
            identity = (status.st_dev, status.st_ino)
            if stat.S_ISDIR(status.st_mode):
                if identity in self._seen:
                    return "link to a folder that was read already"
                self.enter(path)
                return None
        except OSError as error:
            return unreadable(error)
        reason = _why_not(path, status)
        if reason is None and identity in self._seen:
            return "same file as another one"
        if reason is None:
            self._seen.add(identity)
            self.files.append(path)
        return reason


def _why_not(path: Path, status: os.stat_result) -> str | None:
    """Return why a file is not even opened."""
    if not stat.S_ISREG(status.st_mode):
        return "not a regular file"
    if path.suffix.lower() not in TEXT_SUFFIXES:
        return f"neither markdown nor text ({path.suffix or 'no suffix'})"
    if status.st_size > MAX_FILE_BYTES:
        return f"larger than {MAX_FILE_BYTES // 1_000_000} MB"
    return None


def read_text(path: Path, name: str) -> str | SkippedFile:
    """Return a file's text with `\\n` line ends, or why it has none.

    UTF-8 is expected; UTF-8 and UTF-16 with a byte order mark, as from Windows, are read too.

    Args:
        path: The file.
        name: What to call it in the reason.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        return SkippedFile(path=name, reason=unreadable(error))
    encoding = next((e for mark, e in _BYTE_ORDER_MARKS.items() if data.startswith(mark)), "utf-8")
    if encoding != "utf-16" and b"\0" in data:
        return SkippedFile(path=name, reason="binary content")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        return SkippedFile(path=name, reason=f"not {encoding} text (byte {error.start})")
    if not text.strip():
        return SkippedFile(path=name, reason="empty")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def unreadable(error: OSError) -> str:
    """Say why a file could not be opened."""
    return f"cannot be read: {error.strerror or type(error).__name__}"
