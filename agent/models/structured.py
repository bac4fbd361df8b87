"""How a chat model is asked for a verdict: by its own structured output, or in words alone.

The instructions name the JSON object either way, so a server that takes the schema and ignores it
can still answer in the text of its reply.
"""

from __future__ import annotations

import logging
import warnings
from threading import Lock
from typing import Any, Final, Literal

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.runnables import Runnable

from agent.models.in_process import InProcessChat
from agent.models.replies import FORMS
from agent.state import Role

StructuredMethod = Literal["auto", "json_schema", "function_calling", "prompt"]
"""`auto` lets the provider's LangChain class choose how it passes a schema."""

_LOG: Final = logging.getLogger(__name__)


class StructuredOutput:
    """The way one model is asked for JSON. Probed when it is built, without a network call."""

    def __init__(self, model: BaseChatModel, method: StructuredMethod = "auto") -> None:
        self.method: StructuredMethod = method
        """How verdicts are asked for now; becomes `prompt` when the model cannot do better."""
        self.model = model
        """What is called for an answer, and for a verdict asked in words."""
        self._by_schema: dict[Role, Runnable[Any, Any]] = {}
        self._lock = Lock()
        if isinstance(model, InProcessChat):
            self.method = "prompt"
        if self.method == "prompt":
            return
        wanted = {} if method == "auto" else {"method": method}
        try:
            with warnings.catch_warnings(action="ignore"):  # advice to whoever chose the method
                for role, form in FORMS.items():
                    self._by_schema[role] = model.with_structured_output(
                        form.schema(), include_raw=True, **wanted
                    )
        except (NotImplementedError, TypeError, ValueError, AttributeError) as error:
            self.give_up(f"{type(error).__name__} when a schema was bound")

    @property
    def uses_schema(self) -> bool:
        """Whether a verdict is asked for with a schema at present."""
        return self.method != "prompt"

    def target(self, role: Role) -> Runnable[Any, Any]:
        """Return what to call for a role's reply."""
        return self._by_schema[role] if self.uses_schema and role in FORMS else self.model

    def give_up(self, why: str) -> None:
        """Ask in words from now on; says so in the log, once a model."""
        with self._lock:
            is_news, self.method = self.uses_schema, "prompt"
        if is_news:
            _LOG.warning(
                "%s gives no structured output (%s): its verdicts are asked for in words and read "
                "from its text. Pass structured_method='prompt' to ask so from the start.",
                type(self.model).__name__,
                why,
            )
