"""Turns that nobody asked for himself, such as those of a probe: they are kept out of the books."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_IS_ON: ContextVar[bool] = ContextVar("loopscope_synthetic_turns", default=False)


@contextmanager
def synthetic_turns() -> Iterator[None]:
    """Keep turns that begin inside out of every count of users' turns and out of the records.

    Such a turn is counted in `rag_probe_turns_total` alone. It has its trace, whose turn says that
    it is synthetic. Tasks and threads that take over the context are inside as well.

    Whoever opens this for a request must know who asks: a stranger would hide his turns with it.
    """
    token = _IS_ON.set(True)
    try:
        yield
    finally:
        _IS_ON.reset(token)


def are_synthetic() -> bool:
    """Return whether a turn that begins now is a synthetic one."""
    return _IS_ON.get()
