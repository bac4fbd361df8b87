"""From a model's name to a chat model: ours by a factory, all others through LangChain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from langchain.chat_models import init_chat_model
from langchain_core.language_models.chat_models import BaseChatModel
from pydantic import SecretStr, ValidationError

from agent.errors import ModelPackageError, ModelSettingsError, UnknownModelError


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """How a provider's model is called. Keys that are not given come from the provider's SDK."""

    timeout_seconds: float = 30.0
    """Longest silence of the server in one call; chosen by us, as long as a customer waits."""
    temperature: float | None = 0.0
    """0 asks for the likeliest reply; None sends none, for models that accept no other."""
    base_url: str | None = None
    """Another address that speaks the provider's protocol."""
    api_key: SecretStr | None = None


def build_model(
    name: str,
    *,
    in_process: Mapping[str, Callable[[], BaseChatModel]],
    settings: ModelSettings | None = None,
) -> BaseChatModel:
    """Return the chat model that a name stands for.

    A provider's model never retries by itself: `agent.models.support` is the one retry layer.

    Args:
        name: A key of `in_process`, or `provider:model` with a provider of LangChain's
            `init_chat_model`, for example `openai:gpt-4.1-mini`.
        in_process: Our own models by name (`golden`, `local`); only the chosen one is built.
        settings: For a provider's model; the defaults of `ModelSettings` if None.

    Raises:
        UnknownModelError: The name is empty, or no such model or provider exists.
        ModelPackageError: The provider's LangChain package is not installed.
        ModelSettingsError: The provider's client rejects the settings, or has no key.
    """
    if name in in_process:
        return in_process[name]()
    provider, colon, model = (part.strip() for part in name.partition(":"))
    if not (provider and colon and model):
        problem = "a model's name is missing" if not model and colon else "no such model"
        raise UnknownModelError(name, problem, in_process)
    try:
        built: BaseChatModel = init_chat_model(
            model, model_provider=provider, **_arguments(settings)
        )
    except ImportError as error:
        raise ModelPackageError(name, _package(error)) from error
    except Exception as error:  # each provider's client has its own exceptions
        if isinstance(error, ValueError) and str(error).startswith("Unsupported provider"):
            raise UnknownModelError(name, "no such provider", in_process) from error
        raise ModelSettingsError(name, _problem(error)) from error
    return built


def _arguments(settings: ModelSettings | None) -> dict[str, Any]:
    settings = settings or ModelSettings()
    given = {
        "temperature": settings.temperature,
        "base_url": settings.base_url,
        "api_key": settings.api_key,
    }
    return {
        "timeout": settings.timeout_seconds,
        "max_retries": 0,
        **{name: value for name, value in given.items() if value is not None},
    }


def _package(error: ImportError) -> str:
    """Return the package to install, from the import that failed below LangChain's own error."""
    cause = error.__cause__
    module = (cause.name if isinstance(cause, ImportError) else error.name) or str(error)
    return module.partition(".")[0].replace("_", "-")


def _problem(error: Exception) -> str:
    """Return one line on what a client's constructor found wrong, without the values it got."""
    if isinstance(error, ValidationError):
        found = error.errors(include_input=False, include_url=False)
        return "; ".join(item["msg"] for item in found)
    return (str(error).strip() or type(error).__name__).splitlines()[0]
