"""A folder of documents as chunks."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.errors import AgentError, CorpusNotFoundError, DuplicateChunkError, EmptyCorpusError
from agent.retrieval.corpus import MAX_CHUNK_CHARS, read_corpus
from agent.retrieval.tfidf import CorpusChunk

HANDBOOK_IDS = (
    "plans annual trial refunds cancel export invoices payments upgrade sizing reboot backups "
    "snapshots migration domains certificates firewall access sla incidents maintenance support "
    "regions company"
)


def write(directory: Path, **files: str) -> Path:
    """Write files; `guide__a_md` becomes guide/a.md."""
    for name, text in files.items():
        path = directory / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory


def chunks(directory: Path) -> dict[str, CorpusChunk]:
    return {chunk.id: chunk for chunk in read_corpus(directory).chunks}


def test_handbook_has_the_ids_of_the_contract() -> None:
    corpus = read_corpus()

    assert sorted(chunk.id for chunk in corpus.chunks) == sorted(HANDBOOK_IDS.split())
    assert corpus.skipped == []


def test_text_is_headings_and_body_without_the_anchor(tmp_path: Path) -> None:
    write(tmp_path, guide__a_md="# Billing\n## Money back {#refunds}\nWithin *30* days.")

    assert chunks(tmp_path) == {
        "refunds": CorpusChunk(
            id="refunds",
            text="Billing > Money back\n\nWithin 30 days.",
            title="Money back",
            source="guide/a.md",
        )
    }


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({"a_md": "# A\nx\n## Two words!\ny"}, ["a#a", "a#two-words"], id="slugs"),
        pytest.param({"d__a_md": "# A\nx"}, ["d/a#a"], id="path-without-suffix"),
        pytest.param({"a_md": "before\n# A\nx"}, ["a", "a#a"], id="text-before-the-first-heading"),
        pytest.param({"a_md": "# A\nx\n# A\ny\n# A\nz"}, ["a#a", "a#a~2", "a#a~3"], id="repeated"),
        pytest.param({"a_md": "x", "a_txt": "y"}, ["a", "a~2"], id="same-name-other-suffix"),
        pytest.param({"a_md": "# 密码\nx\n# ???\ny"}, ["a#section", "a#密码"], id="any-script"),
        pytest.param(
            {"a_md": "# B\nx", "b_md": "# C {#a#b}\ny"}, ["a#b", "a#b~2"],
            id="anchor-wins-over-a-made-id",
        ),
        pytest.param({"[x]_md": "x"}, ["(x)"], id="brackets-would-break-citations"),
        pytest.param({"a_md": "# Empty\n# Full\nx"}, ["a#full"], id="heading-without-text"),
    ],
)  # fmt: skip
def test_ids(files: dict[str, str], expected: list[str], tmp_path: Path) -> None:
    assert sorted(chunks(write(tmp_path, **files))) == expected


def test_title_of_front_matter_stands_above_the_headings(tmp_path: Path) -> None:
    write(tmp_path, a_md="---\ntitle: API\n---\nIntro.\n# Limits\n10 a second.\n# API\nx")

    found = chunks(tmp_path)

    assert found["a"].text == "API\n\nIntro."
    assert found["a#limits"].text == "API > Limits\n\n10 a second."
    assert found["a#api"].text == "API\n\nx"


def test_text_file_is_one_chunk_without_markup(tmp_path: Path) -> None:
    write(tmp_path, notes_txt="# no heading\n\nText.\n")

    assert chunks(tmp_path)["notes"] == CorpusChunk(
        id="notes", text="# no heading\n\nText.", title="notes", source="notes.txt"
    )


def test_long_text_is_cut_at_blank_lines(tmp_path: Path) -> None:
    blocks = [f"{letter * 2000}" for letter in "abcde"]
    write(tmp_path, long_md="# Long {#long}\n" + "\n\n".join(blocks))

    found = chunks(tmp_path)

    assert {id_: chunk.text for id_, chunk in found.items()} == {
        "long": f"Long\n\n{blocks[0]}\n\n{blocks[1]}",
        "long~2": f"Long\n\n{blocks[2]}\n\n{blocks[3]}",
        "long~3": f"Long\n\n{blocks[4]}",
    }


@pytest.mark.parametrize("text", ["word " * 5000, "密" * 20_000])
def test_text_without_blank_lines_is_cut_to_the_limit(text: str, tmp_path: Path) -> None:
    found = chunks(write(tmp_path, long_txt=text))

    assert all(0 < len(chunk.text) <= MAX_CHUNK_CHARS for chunk in found.values())
    assert "".join("".join(c.text for c in found.values()).split()) == "".join(text.split())


def test_skipped_files_are_named_with_the_reason(tmp_path: Path) -> None:
    write(tmp_path, a_md="text", b_md="", c_md="# Only\n## headings", d_pdf="x")
    (tmp_path / "e.md").write_bytes(b"\0\1")

    corpus = read_corpus(tmp_path)

    assert corpus.n_files == 1
    assert {entry.path: entry.reason for entry in corpus.skipped} == {
        "b.md": "empty",
        "c.md": "headings without text",
        "d.pdf": "neither markdown nor text (.pdf)",
        "e.md": "binary content",
    }


def test_progress_counts_every_file(tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []

    read_corpus(
        write(tmp_path, a_md="x", b_md="", c_md="y"),
        on_file=lambda done, of: steps.append((done, of)),
    )

    assert steps == [(1, 3), (2, 3), (3, 3)]


def test_one_anchor_in_two_files_is_refused(tmp_path: Path) -> None:
    write(tmp_path, a_md="# A {#x}\none", b_md="# B {#x}\ntwo")

    with pytest.raises(DuplicateChunkError) as caught:
        read_corpus(tmp_path)

    assert str(caught.value) == (
        "chunk id used twice: got 'x' in a.md and in b.md, expected each id once. "
        "Rename one of the two anchors {#x}."
    )


@pytest.mark.parametrize(
    ("name", "error", "expected"),
    [
        pytest.param("none", CorpusNotFoundError, "which does not exist", id="no-such-path"),
        pytest.param("a.md", CorpusNotFoundError, "which is a file, not a folder", id="a-file"),
        pytest.param(
            "empty", EmptyCorpusError, "got 0 markdown or text files without text and 0 skipped",
            id="empty-folder",
        ),
        pytest.param(
            "blank", EmptyCorpusError, "got 1 markdown or text files without text and 1 skipped",
            id="blank-files",
        ),
    ],
)  # fmt: skip
def test_unusable_folder_is_one_clear_line(
    name: str, error: type[AgentError], expected: str, tmp_path: Path
) -> None:
    write(tmp_path, a_md="text", blank__b_md=" ")
    (tmp_path / "empty").mkdir()

    with pytest.raises(error) as caught:
        read_corpus(tmp_path / name)

    assert expected in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)
    assert "\n" not in str(caught.value)
