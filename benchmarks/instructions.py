"""How many instructions Python executes for a call: a cost that no busy machine changes.

Wall time on a shared machine moves by tens of percent from run to run. The number of bytecode
instructions does not move at all, so a test can hold a limit on it. It leaves out what C code does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

TURNS = 16
"""Turns per count: one of the batches in which finished turns are counted."""


def instructions(call: Callable[[], Any], turns: int = TURNS) -> float:
    """Return the bytecode instructions of one call, on average, in this thread."""
    count = 0

    def local(_: FrameType, event: str, __: Any) -> Any:
        nonlocal count
        if event == "opcode":
            count += 1
        return local

    def enter(frame: FrameType, _: str, __: Any) -> Any:
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return local

    for _ in range(turns):
        call()
    previous = sys.gettrace()
    sys.settrace(enter)
    try:
        for _ in range(turns):
            call()
    finally:
        sys.settrace(previous)
    return count / turns
