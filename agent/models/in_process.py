"""Chat models that run in this process: they read a task as JSON and compute the reply.

A subclass writes `reply` alone. To LangChain, and so to tracing, it is a chat model like any other.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Final

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models.base import LangSmithParams
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from agent.errors import ModelRequestError

PROVIDER: Final = "loopscope"
"""What tracing sees as the provider (`ls_provider`) of a model that runs in this process."""


class InProcessChat(BaseChatModel):
    """A chat model computed here: no network, no key.

    `usage_metadata` counts words (runs of text between blanks), since there is no tokeniser.
    """

    model_name: str
    """What tracing and metrics call the model, for example `local`."""

    @abstractmethod
    def reply(self, task: str, data: dict[str, Any]) -> dict[str, Any] | str:
        """Return the verdict of a task as JSON-like values, or the text of an answer.

        Args:
            task: One of `agent.state.Role`.
            data: The rest of the request; keys as `agent.models.requests` lists them for the task.

        Raises:
            AgentError: The model cannot do this task at all; it is not caught as a failure.
        """

    @property
    def _llm_type(self) -> str:
        return f"{PROVIDER}-{self.model_name}"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_name": self.model_name}

    def _get_ls_params(
        self,
        stop: list[str] | None = None,  # noqa: ARG002 - LangChain's signature
        **_: Any,
    ) -> LangSmithParams:
        return LangSmithParams(
            ls_provider=PROVIDER, ls_model_name=self.model_name, ls_model_type="chat"
        )

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - LangChain's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **_: Any,
    ) -> ChatResult:
        task, data = self._read(messages)
        reply = self.reply(task, data)
        text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
        words_in = sum(len(message.text.split()) for message in messages)
        words_out = len(text.split())
        message = AIMessage(
            content=text,
            response_metadata={
                "model_name": self.model_name,
                "model_provider": PROVIDER,
                "finish_reason": "stop",
            },
            usage_metadata={
                "input_tokens": words_in,
                "output_tokens": words_out,
                "total_tokens": words_in + words_out,
            },
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages, stop, **kwargs)  # computing: a thread would gain nothing

    def _read(self, messages: Sequence[BaseMessage]) -> tuple[str, dict[str, Any]]:
        """Return task and data of the last human message."""
        asked = [message for message in messages if isinstance(message, HumanMessage)]
        if not asked:
            raise ModelRequestError(self.model_name, "got no human message")
        try:
            data = json.loads(asked[-1].text)
        except ValueError:
            raise ModelRequestError(self.model_name, "got text that is not JSON") from None
        task = data.pop("task", None) if isinstance(data, dict) else None
        if not isinstance(task, str):
            raise ModelRequestError(self.model_name, 'got JSON without a "task"')
        return task, data
