"""Other instrumentors in the process: who already makes spans for model calls."""

from __future__ import annotations

import sys
from typing import Final

_INSTRUMENTORS: Final = {
    "openinference.instrumentation.langchain": "LangChainInstrumentor",
    "opentelemetry.instrumentation.langchain": "LangchainInstrumentor",
    "opentelemetry.instrumentation.genai.langchain": "LangChainInstrumentor",
    "openlit.instrumentation.langchain": "LangChainInstrumentor",
}
"""Module -> class of the known ones: OpenInference, OpenLLMetry, OpenTelemetry's own, OpenLIT.
Each class is OpenTelemetry's kind of singleton, which knows whether it is at work."""


def makes_call_spans() -> bool:
    """Tell whether a known instrumentor of LangChain is at work in this process.

    Looked up anew for each turn, since it may be started and stopped after a graph was
    instrumented. Nothing is imported: one that is not imported is not at work.
    """
    loaded = _INSTRUMENTORS.keys() & sys.modules.keys()
    return any(_is_at_work(module, _INSTRUMENTORS[module]) for module in loaded)


def _is_at_work(module: str, name: str) -> bool:
    instrumentor = getattr(getattr(sys.modules.get(module), name, None), "_instance", None)
    return bool(getattr(instrumentor, "_is_instrumented_by_opentelemetry", False))
