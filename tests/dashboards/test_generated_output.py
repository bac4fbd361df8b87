from __future__ import annotations

from pathlib import Path

import pytest

from dashboards.errors import NoCheckoutError, OutdatedFilesError
from dashboards.generators import GENERATORS
from dashboards.output import Tree
from dashboards.settings import Settings

REPAIR = "loopscope dashboards generate --out rules"
FILES = {"prometheus/a.yml": "a\n", "runbooks/a.md": "# A\n", "failures.json": "{}\n"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    return tmp_path


def test_a_checkout_keeps_runbooks_with_its_documents(checkout: Path) -> None:
    Tree(checkout=checkout).write(FILES)

    assert (checkout / "dashboards/generated/prometheus/a.yml").read_text() == "a\n"
    assert (checkout / "docs/runbooks/a.md").read_text() == "# A\n"
    Tree(checkout=checkout).check(FILES, repair=REPAIR)


def test_a_folder_of_ones_own_gets_everything(tmp_path: Path) -> None:
    Tree(tmp_path / "out").write(FILES)

    assert sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*.*")) == [
        "out/failures.json", "out/prometheus/a.yml", "out/runbooks/a.md",
    ]  # fmt: skip


def test_what_is_right_is_not_written_again(tmp_path: Path) -> None:
    Tree(tmp_path).write(FILES)
    place = tmp_path / "failures.json"
    before = place.stat().st_mtime_ns

    Tree(tmp_path).write({**FILES, "runbooks/a.md": "# B\n"})

    assert place.stat().st_mtime_ns == before
    assert (tmp_path / "runbooks/a.md").read_text() == "# B\n"


def test_each_difference_is_named(tmp_path: Path) -> None:
    Tree(tmp_path).write(FILES)
    (tmp_path / "prometheus/a.yml").write_text("b\n")
    (tmp_path / "runbooks/a.md").unlink()
    (tmp_path / "prometheus/old.yml").touch()

    with pytest.raises(OutdatedFilesError) as caught:
        Tree(tmp_path).check(FILES, repair=REPAIR)

    assert str(caught.value) == (
        "generated files are out of date: prometheus/a.yml differs; runbooks/a.md is missing; "
        "prometheus/old.yml is no longer generated. "
        "Run `loopscope dashboards generate --out rules`, and delete the files no longer generated."
    )


def test_line_ends_count(tmp_path: Path) -> None:
    Tree(tmp_path).write(FILES)
    (tmp_path / "failures.json").write_bytes(b"{}\r\n")

    with pytest.raises(OutdatedFilesError, match=r"failures\.json differs"):
        Tree(tmp_path).check(FILES, repair=REPAIR)


def test_outside_a_checkout_a_folder_must_be_named(tmp_path: Path) -> None:
    with pytest.raises(NoCheckoutError, match=r"Name a folder with --out DIR\."):
        Tree(checkout=tmp_path)


def test_two_runs_write_the_same_bytes_and_no_generator_meets_another(
    files: dict[str, str],
) -> None:
    again = [generator(Settings()) for generator in GENERATORS.values()]

    assert files == {path: text for part in again for path, text in part.items()}
    assert len(files) == sum(map(len, again))
