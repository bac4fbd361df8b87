"""Where generated files lie, how they are written, and how they are compared."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from dashboards.errors import NoCheckoutError, OutdatedFilesError

CHECKOUT: Final = Path(__file__).resolve().parent.parent
_RUNBOOKS: Final = "runbooks"


class Tree:
    """The places of generated files: a folder of the user's, or those of this checkout.

    Args:
        out: Folder that gets everything; None for the checkout, where runbooks lie in `docs/`.

    Raises:
        NoCheckoutError: `out` is None and the package is not in a checkout.
    """

    def __init__(self, out: Path | None = None, *, checkout: Path = CHECKOUT) -> None:
        if out is None and not (checkout / "pyproject.toml").is_file():
            raise NoCheckoutError(str(checkout))
        self._root = out or checkout / "dashboards" / "generated"
        self._runbooks = (out or checkout / "docs") / _RUNBOOKS
        self._shown_from = out or checkout

    def place(self, path: str) -> Path:
        """Return where a generated path lies on disk."""
        parts = PurePosixPath(path).parts
        if parts[0] == _RUNBOOKS:
            return self._runbooks.joinpath(*parts[1:])
        return self._root.joinpath(*parts)

    def write(self, files: Mapping[str, str]) -> str:
        """Write every file; one that is right already is left alone. Nothing is deleted.

        Returns:
            How many were written, and where, in words.
        """
        written = 0
        for path, text in files.items():
            place, data = self.place(path), text.encode()
            if not place.is_file() or place.read_bytes() != data:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)
                written += 1
        return f"{written} written in {self._shown_from}"

    def check(self, files: Mapping[str, str], *, repair: str) -> None:
        """Compare what is there with what would be generated.

        Args:
            files: What would be generated, path to text.
            repair: The command that writes these files; the error tells it.

        Raises:
            OutdatedFilesError: Files are missing, differ, or are no longer generated; each is
                named.
        """
        expected = {self.place(path): text.encode() for path, text in files.items()}
        differences = [
            f"{self._shown(place)} {'differs' if place.is_file() else 'is missing'}"
            for place, data in expected.items()
            if not place.is_file() or place.read_bytes() != data
        ]
        differences += [
            f"{self._shown(place)} is no longer generated"
            for place in self._present(expected)
            if place not in expected
        ]
        if differences:
            raise OutdatedFilesError(differences, repair=repair)

    def _present(self, expected: Mapping[Path, bytes]) -> list[Path]:
        """Return the files in every folder that something is generated into."""
        folders = sorted({place.parent for place in expected})
        return [
            found
            for folder in folders
            if folder.is_dir()
            for found in sorted(folder.iterdir())
            if found.is_file()
        ]

    def _shown(self, place: Path) -> str:
        return place.relative_to(self._shown_from).as_posix()
