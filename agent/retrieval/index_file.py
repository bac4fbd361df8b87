"""Build an index from a folder, keep it in one file, and load it without fitting again.

The file is a zip: `manifest.json`, `chunks.jsonl`, `vocabulary.json` and one `.npy` per array of
the postings. It holds no code and is read without unpickling. It is written beside its final name
and then moved there, so that a reader sees the old or the new index, never half of one.
"""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from agent.errors import IndexFileError
from agent.retrieval.corpus import read_corpus
from agent.retrieval.files import SkippedFile
from agent.retrieval.postings import Postings
from agent.retrieval.tfidf import CorpusChunk, TfidfIndex
from agent.retrieval.tokens import TOKENIZER_VERSION

FORMAT: Final = {"format": "loopscope-index", "version": 1, "tokenizer": TOKENIZER_VERSION}
"""What a file must say of itself to be read."""

FEW_TOKENS: Final = 1 / 20
"""Tokens per character below which a chunk's script is probably cut wrongly.

English support text has 2 to 3 per 20 characters without its function words; half of that, chosen
by us.
"""
MANY_CHUNKS: Final = 0.2
"""Share of such chunks that is worth a warning; chosen by us."""

OnProgress = Callable[[str, int, int], None]
"""Called with the stage (`reading`, `fitting`, `writing`), the steps done and all steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """What `build_index` made, and what it left out."""

    path: Path
    n_files: int
    n_chunks: int
    n_words: int
    """Distinct tokens."""
    n_bytes: int
    """Size of the index file."""
    fingerprint: str
    skipped: list[SkippedFile]
    warnings: list[str]


def build_index(directory: Path, out: Path, on_progress: OnProgress | None = None) -> IndexReport:
    """Read a folder, fit the index and write it to a file.

    Args:
        directory: Folder of markdown and text files.
        out: The index file; one that is there is replaced.
        on_progress: Told of every file, every chunk and every part written.

    Raises:
        CorpusNotFoundError: `directory` is no folder, or cannot be read.
        DuplicateChunkError: Two headings have the same anchor.
        EmptyCorpusError: No file holds a word to search for.
        IndexFileError: `out` cannot be written.
    """
    tell = on_progress or (lambda _stage, _done, _total: None)
    corpus = read_corpus(directory, on_file=lambda done, total: tell("reading", done, total))
    index = TfidfIndex.fit(
        corpus.chunks,
        source=str(directory),
        on_chunk=lambda done, total: tell("fitting", done, total),
    )
    write_index(index, out, on_part=lambda done, total: tell("writing", done, total))
    return IndexReport(
        path=out,
        n_files=corpus.n_files,
        n_chunks=len(index.chunks),
        n_words=len(index.vocabulary),
        n_bytes=out.stat().st_size,
        fingerprint=index.fingerprint,
        skipped=corpus.skipped,
        warnings=script_warnings(index),
    )


def script_warnings(index: TfidfIndex) -> list[str]:
    """Warn when many chunks have too few tokens for their length, so that they are hardly found."""
    few = np.count_nonzero(
        index.postings.tokens_per_chunk()
        < FEW_TOKENS * np.array([len(chunk.text) for chunk in index.chunks])
    )
    if few <= MANY_CHUNKS * len(index.chunks):
        return []
    return [
        f"{few} of {len(index.chunks)} chunks have fewer than 1 word per 20 characters: they may "
        "be encoded data, or in a script whose words are not told apart, and will hardly be found"
    ]


def write_index(
    index: TfidfIndex, out: Path, on_part: Callable[[int, int], None] | None = None
) -> None:
    """Write an index to a file; equal indexes give equal bytes.

    Raises:
        IndexFileError: The file cannot be written, or `out` is something else than a file.
    """
    if out.exists() and not out.is_file():
        kind = "a folder" if out.is_dir() else "a device or a pipe"
        raise IndexFileError(out, f"got {kind}", "a path for a file, which is replaced")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                _write_parts(index, file, on_part)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(0o644)  # temporary files are private; an index is shared
            Path(name).replace(out)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        problem = f"got {error.strerror or error} when writing it"
        raise IndexFileError(out, problem, "a path that can be written") from error


def _write_parts(
    index: TfidfIndex, file: IO[bytes], on_part: Callable[[int, int], None] | None
) -> None:
    arrays = [field.name for field in fields(Postings)]
    total = len(arrays) + 3
    with zipfile.ZipFile(file, "w") as archive:
        _add(archive, "manifest.json", json.dumps(FORMAT))
        chunks = "".join(json.dumps(asdict(chunk)) + "\n" for chunk in index.chunks)
        _add(archive, "chunks.jsonl", chunks)
        _add(archive, "vocabulary.json", json.dumps(sorted(index.vocabulary)))
        for number, name in enumerate(arrays, 4):
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as part:
                np.lib.format.write_array(part, getattr(index.postings, name), allow_pickle=False)
            if on_part:
                on_part(number, total)


def _add(archive: zipfile.ZipFile, name: str, text: str) -> None:
    info = zipfile.ZipInfo(name)  # with a fixed date
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, text.encode())


def read_index(path: Path) -> TfidfIndex:
    """Load an index that `build_index` wrote.

    Raises:
        IndexFileError: The file is missing, damaged, no index, or of another format or tokenizer.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            _check(path, dict(json.loads(archive.read("manifest.json"))))
            with archive.open("chunks.jsonl") as lines:
                chunks = [_chunk(line) for line in lines]
            words = json.loads(archive.read("vocabulary.json"))
            arrays = {field.name: _array(archive, field.name) for field in fields(Postings)}
        if len(chunks) != len(arrays["norms"]) or len(words) != len(arrays["idf"]):
            raise ValueError("the parts are not of one index")
        vocabulary = {word: i for i, word in enumerate(words)}
    except OSError as error:
        problem = f"got {error.strerror or error} when reading it"
        raise IndexFileError(path, problem, "a readable index") from error
    except IndexFileError:
        raise
    except Exception as error:  # one changed byte fails anywhere: zip, zlib, JSON, NumPy's header
        raise IndexFileError(path, "it is damaged or no index", "an index file") from error
    return TfidfIndex(chunks, vocabulary, Postings(**arrays))


def _chunk(line: bytes) -> CorpusChunk:
    values = json.loads(line)
    if not all(isinstance(value, str) for value in values.values()):
        raise TypeError("a chunk's parts are texts")
    return CorpusChunk(**values)


def _array(archive: zipfile.ZipFile, name: str) -> Any:
    with archive.open(f"{name}.npy") as part:
        return np.lib.format.read_array(part, allow_pickle=False)


def _check(path: Path, manifest: dict[str, Any]) -> None:
    """Refuse a file of another format, of another version, or made with another tokenizer."""
    for key, expected in FORMAT.items():
        if manifest.get(key) != expected:
            raise IndexFileError(path, f"got {key} {manifest.get(key)!r}", f"{key} {expected!r}")
