"""The second source of the fallback branch: any LangChain retriever, named by a setting."""

from __future__ import annotations

from importlib import import_module

from langchain_core.retrievers import BaseRetriever

from agent.errors import FallbackError


def load_retriever(name: str) -> BaseRetriever:
    """Return the retriever that a name leads to.

    Args:
        name: `module:attribute`; the attribute is a retriever, or a class or function that makes
            one when it is called without arguments.

    Raises:
        FallbackError: There is no such module or attribute, it fails, or it is no retriever.
    """
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise FallbackError(name, "it is no 'module:attribute'")
    try:
        found = getattr(import_module(module), attribute)
        made = found() if callable(found) and not isinstance(found, BaseRetriever) else found
    except Exception as error:  # an import runs any code
        raise FallbackError(name, f"it raised {type(error).__name__}: {error}") from error
    if not isinstance(made, BaseRetriever):
        raise FallbackError(name, f"got {type(made).__name__}")
    return made
