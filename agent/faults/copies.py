"""A copy of a LangChain object with some of its methods replaced; the object stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import update_wrapper
from typing import Any, TypeVar

from pydantic import BaseModel

ModelT = TypeVar("ModelT", bound=BaseModel)


def copy_with(original: ModelT, methods: Mapping[str, Callable[..., Any]]) -> ModelT:
    """Return a shallow copy whose class is a subclass of the original's with other methods.

    So the copy keeps the original's settings, its name in traces, and every way of calling it
    (bound tools, structured output, streaming), which a wrapper around it would have to repeat.
    """
    kind = type(original)
    # LangChain looks at the signature to see what a method takes.
    wrapped = {name: update_wrapper(m, getattr(kind, name)) for name, m in methods.items()}
    namespace = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, **wrapped}
    copy = original.model_copy()
    # Pydantic forbids the assignment; a subclass without fields of its own has the same layout.
    object.__setattr__(copy, "__class__", type(kind.__name__, (kind,), namespace))
    return copy
