"""Read a folder of markdown and text files into chunks, and say what was left out and why.

Markdown gives one chunk for each heading that has text below it. Its text is the headings from the
outermost to its own, joined by " > ", a blank line, and the body; all of it is searched. Its id is
the anchor given by hand, `## Refunds {#refunds}` gives `refunds`, else `path/to/file#refunds`. The
anchor is not part of the text. Other text gives one chunk a file. A body longer than
`MAX_CHUNK_CHARS` is cut at blank lines, and the later pieces get `~2`, `~3` after the id.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent.errors import CorpusNotFoundError, DuplicateChunkError, EmptyCorpusError
from agent.retrieval.chunks import valid_text
from agent.retrieval.files import SkippedFile, find_files, read_text, unreadable
from agent.retrieval.markdown import Section, read_sections
from agent.retrieval.tfidf import CorpusChunk

MAX_CHUNK_CHARS: Final = 6000
"""About 1,500 tokens, so that the k = 2 chunks of a question fit any model; chosen by us."""

HANDBOOK: Final = Path(__file__).parents[1] / "data" / "handbook"
"""The documents of the fictional company Larkspur, which come with the package."""

_FOR_CITATION: Final = str.maketrans("[]\n\r\t", "()   ")  # a reply cites a chunk as [id]


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """The chunks of a folder in the order of their files, and what was left out."""

    directory: Path
    chunks: list[CorpusChunk]
    n_files: int
    """Files that gave at least one chunk."""
    skipped: list[SkippedFile]


def read_corpus(
    directory: Path = HANDBOOK, *, on_file: Callable[[int, int], None] | None = None
) -> Corpus:
    """Read every markdown and text file below a folder.

    Args:
        directory: The folder.
        on_file: Called with the number of files read so far and of all files.

    Raises:
        CorpusNotFoundError: `directory` is no folder, or cannot be read.
        DuplicateChunkError: Two headings have the same anchor.
        EmptyCorpusError: No file holds any text.
    """
    files, skipped = _find_files(directory)
    drafts: list[_Draft] = []
    for number, path in enumerate(files, 1):
        name = valid_text(path.relative_to(directory).as_posix())
        text = read_text(path, name)
        new = [] if isinstance(text, SkippedFile) else list(_drafts(name, text))
        drafts += new
        if isinstance(text, SkippedFile):
            skipped.append(text)
        elif not new:
            skipped.append(SkippedFile(path=name, reason="headings without text"))
        if on_file:
            on_file(number, len(files))
    if not drafts:
        problem = f"{len(files)} markdown or text files without text and {len(skipped)} skipped"
        raise EmptyCorpusError(str(directory), problem)
    chunks = _with_ids(drafts)
    n_files = len({chunk.source for chunk in chunks})
    return Corpus(directory=directory, chunks=chunks, n_files=n_files, skipped=skipped)


def _find_files(directory: Path) -> tuple[list[Path], list[SkippedFile]]:
    if not directory.exists():
        raise CorpusNotFoundError(directory, "does not exist")
    if not directory.is_dir():
        raise CorpusNotFoundError(directory, "is a file, not a folder")
    try:
        return find_files(directory)
    except OSError as error:
        raise CorpusNotFoundError(directory, unreadable(error)) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """A chunk without its id."""

    anchor: str | None
    fallback: str
    title: str
    text: str
    source: str


def _drafts(source: str, text: str) -> Iterator[_Draft]:
    """Cut a file into chunks."""
    stem = source.rpartition(".")[0].translate(_FOR_CITATION)
    if source.lower().endswith(".txt"):
        sections = [Section(titles=(), anchor=None, text=text.strip())]
        file_title = None
    else:
        file_title, sections = read_sections(text)
    for section in sections:
        titles = section.titles
        if file_title and file_title not in titles:
            titles = (file_title, *titles)
        heading = " > ".join(titles)
        slug = f"#{_slug(section.titles[-1])}" if section.titles else ""
        for number, body in enumerate(_pieces(section.text)):
            yield _Draft(
                anchor=section.anchor if number == 0 else None,
                fallback=f"{section.anchor or stem + slug}" + (f"~{number + 1}" if number else ""),
                title=titles[-1] if titles else stem.rpartition("/")[2],
                text=f"{heading}\n\n{body}" if heading else body,
                source=source,
            )


def _slug(heading: str) -> str:
    """Return the heading as it stands in an address: lower case, words joined by hyphens."""
    folded = unicodedata.normalize("NFKC", heading).casefold()
    kept = "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in folded)
    return "-".join(kept.split()) or "section"


def _pieces(text: str) -> Iterator[str]:
    """Cut a text at blank lines, or where it must be, into pieces of at most the limit."""
    piece = ""
    for block in re.split(r"\n\s*\n", text):
        if piece and len(piece) + 2 + len(block) > MAX_CHUNK_CHARS:
            yield piece
            piece = ""
        piece = f"{piece}\n\n{block}" if piece else block
        while len(piece) > MAX_CHUNK_CHARS:
            cut = piece.rfind(" ", MAX_CHUNK_CHARS // 2, MAX_CHUNK_CHARS)
            cut = cut if cut > 0 else MAX_CHUNK_CHARS
            yield piece[:cut]
            piece = piece[cut:].strip()
    if piece.strip():
        yield piece


def _with_ids(drafts: list[_Draft]) -> list[CorpusChunk]:
    """Give each chunk its id: anchors as they are, the others made unique in file order."""
    owners: dict[str, str] = {}
    for draft in drafts:
        if draft.anchor is not None:
            if draft.anchor in owners:
                raise DuplicateChunkError(draft.anchor, owners[draft.anchor], draft.source)
            owners[draft.anchor] = draft.source
    chunks = []
    tried: dict[str, int] = {}
    for draft in drafts:
        id_ = draft.anchor or _unused(draft.fallback, owners, tried)
        owners[id_] = draft.source
        chunks.append(CorpusChunk(id=id_, text=draft.text, title=draft.title, source=draft.source))
    return chunks


def _unused(id_: str, taken: dict[str, str], tried: dict[str, int]) -> str:
    """Return the id, or the first of `id~2`, `id~3`, ... that is not taken.

    `tried` keeps the number each id has come to, so that many equal headings cost no search.
    """
    number = tried.get(id_, 1)
    while (candidate := id_ if number == 1 else f"{id_}~{number}") in taken:
        number += 1
    tried[id_] = number
    return candidate
