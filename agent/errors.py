"""Errors of the agent: what was wrong, what was got, what was expected, what to do next.

The class-level `code` names the kind of error in every channel (span, metric, HTTP body).

    AgentError                agent_error
    ├── UnknownModelError     unknown_model    no such model or provider
    ├── ModelPackageError     model_package    the provider's package is not installed
    ├── ModelSettingsError    model_settings   the provider rejects its settings, say no key
    └── ModelRequestError     model_request    an in-process model got something that is no task
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar


class AgentError(Exception):
    """Anything the agent reports about its own input or configuration; never a model's failure."""

    code: ClassVar[str] = "agent_error"


class UnknownModelError(AgentError):
    """A model name is neither one of ours nor `provider:model` with a known provider."""

    code = "unknown_model"

    def __init__(self, name: str, problem: str, known: Iterable[str]) -> None:
        self.name = name
        super().__init__(
            f"unknown model: {problem}, got {name!r}, expected 'local', 'golden' or "
            f"'PROVIDER:MODEL' with one of the providers {', '.join(sorted(known))}. "
            "Choose one with --model, for example --model local."
        )


class ModelPackageError(AgentError):
    """The LangChain package of a provider is not installed."""

    code = "model_package"

    def __init__(self, name: str, package: str) -> None:
        self.package = package
        super().__init__(
            f"model {name!r} needs a package: got no {package!r} in this environment, expected it "
            f"installed. Run `pip install {package}`, or use --model local, which needs none."
        )


class ModelSettingsError(AgentError):
    """A provider's client cannot be built from the settings, most often for want of a key."""

    code = "model_settings"

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(
            f"model {name!r} cannot be set up: {problem}. Expected the key and settings that this "
            "provider's LangChain package asks for; set them in its own environment variables "
            "and try again, or use --model local, which needs no key."
        )


class ModelRequestError(AgentError):
    """An in-process model was asked something that is not one of the agent's jobs."""

    code = "model_request"

    def __init__(self, model: str, problem: str) -> None:
        super().__init__(
            f"model {model!r} cannot read its request: {problem}; expected a last human message "
            'that is a JSON object with a "task". Call it through agent.models.support, or use '
            "a 'PROVIDER:MODEL' for free chat."
        )
