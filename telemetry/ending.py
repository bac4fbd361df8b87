"""How a child of `multiprocessing` ends: one that was forked leaves without `atexit`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from multiprocessing import parent_process, util
from typing import Final

_SPAWNED: Final = "--multiprocessing-fork"
"""In the command line of a spawned child, which ends as any program does."""


def before_child_ends(step: Callable[[], object]) -> None:
    """Have a step taken when this process ends, where it is a child that skips `atexit`."""
    if parent_process() is not None and _SPAWNED not in sys.orig_argv:
        util.Finalize(None, step, exitpriority=0)
