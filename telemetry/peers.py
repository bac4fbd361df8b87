"""Other instrumentors in the process: who already makes spans for model calls."""

from __future__ import annotations

import sys
from typing import Final

_INSTRUMENTORS: Final = (
    "openinference.instrumentation.langchain",
    "opentelemetry.instrumentation.langchain",
    "opentelemetry.instrumentation.genai.langchain",
    "openlit.instrumentation.langchain",
)
"""Modules of the known ones; each has a class `LangChainInstrumentor` that is a singleton."""


def makes_call_spans() -> bool:
    """Tell whether a known instrumentor of LangChain is at work in this process.

    Looked up anew for each call, since it may be started and stopped after a graph was
    instrumented. Nothing is imported: one that is not imported is not at work.
    """
    return any(_is_at_work(module) for module in _INSTRUMENTORS)


def _is_at_work(module: str) -> bool:
    loaded = sys.modules.get(module)
    if loaded is None:
        return False
    instrumentor = getattr(getattr(loaded, "LangChainInstrumentor", None), "_instance", None)
    return bool(getattr(instrumentor, "_is_instrumented_by_opentelemetry", False))
