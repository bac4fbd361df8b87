"""A PNG of a page, taken by a headless Chromium."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from dashboards.errors import DrawingError
from dashboards.render.page import LIBRARY

BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""Names under which the browser is looked for, in order."""
TIMEOUT_SECONDS: Final = 120.0
TALLEST: Final = 16_000
"""Pixels; what Chromium can take in one picture is a little more."""
_FLAGS: Final = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--virtual-time-budget=30000",
)  # fmt: skip
_HEIGHT = re.compile(r'data-height="(\d+)"')


def find_browser() -> str | None:
    """Return the path of a browser that can take pictures; None when none is installed."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def take_picture(html: str, out: Path, *, width: int, scale: float = 1.0) -> None:
    """Write a PNG of a whole page.

    Args:
        html: The page; it states its height in `data-height` once it is laid out.
        out: File to write.
        width: Of the page, CSS pixels.
        scale: Pixels of the picture for each CSS pixel.

    Raises:
        DrawingError: There is no browser, or it failed.
    """
    browser = find_browser()
    if browser is None:
        raise DrawingError(
            "a picture", "no Chromium", "Install it (`apt-get install chromium`), or write HTML."
        )
    with tempfile.TemporaryDirectory(prefix="loopscope-page-") as home:
        page, bare = Path(home) / "page.html", Path(home) / "bare.html"
        page.write_text(html, encoding="utf-8")
        bare.write_text(_without_library(html), encoding="utf-8")
        start = [browser, *_FLAGS, f"--user-data-dir={home}/profile"]
        laid_out = _run([*start, f"--window-size={width},{TALLEST}", "--dump-dom", bare.as_uri()])
        found = _HEIGHT.search(laid_out)
        height = min(TALLEST, int(found[1])) if found else TALLEST
        size = [f"--window-size={width},{height}", f"--force-device-scale-factor={scale:g}"]
        target = out.resolve()
        target.unlink(missing_ok=True)
        _run([*start, *size, f"--screenshot={target}", page.as_uri()])
        if not target.is_file():
            raise DrawingError("a picture", "no file from Chromium", "Write HTML instead.")


def _without_library(html: str) -> str:
    """Return the page without its charts, which take seconds to draw and no place of their own."""
    before, mark, after = html.partition(LIBRARY)
    return before + mark + after[after.find("</script>") :] if mark else html


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=TIMEOUT_SECONDS
        )
    except (subprocess.SubprocessError, OSError) as error:
        raise DrawingError(
            "a picture", f"{type(error).__name__} from Chromium", "Write HTML instead."
        ) from error
    return done.stdout
