"""Reading a model's reply: the form of each role's verdict, and how it is found in the text.

Nothing is completed or guessed: a value outside the form, a cut object or two objects that
disagree is a failed judgement with its reason, never a verdict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.exceptions import ModelRefusalError
from langchain_core.messages import AIMessage
from pydantic import BaseModel

from agent.models.critiques import ANSWERS, SUPPORTED
from agent.models.failures import UnusableReplyError, check_finish, from_exception
from agent.state import Role

MAX_VERDICT_CHARS: Final = 20_000
"""Of a reply that holds a verdict, thinking aside; chosen by us: a verdict has a hundred. Each
brace without an end costs a look at the whole, and no other turn goes on meanwhile."""
MAX_ANSWER_CHARS: Final = 100_000
"""Of an answer; chosen by us: fifty pages are no answer to a customer, and every one is kept in its
conversation."""
_THINK_TAG = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_CHOICE = re.compile(r"[\s\"'*`(]*(\w+)[\"'*`)]*[ \t]*(?:[\n.,:;!\u2013\u2014]|-+\s|$)")
"""One word, then nothing or a mark and an explanation: "Yes.", "no - it only mentions it"."""
_YES_NO = {"true": "yes", "false": "no"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyForm:
    """The fields of a role's verdict. All are required: a missing field is never filled in."""

    name: str
    description: str
    fields: Mapping[str, tuple[str, ...]]
    """Field to its allowed values; an empty tuple allows any text that is not blank."""

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema for a provider's structured output."""
        return {
            "title": self.name,
            "description": self.description,
            "type": "object",
            "properties": {
                field: {"type": "string", **({"enum": list(values)} if values else {})}
                for field, values in self.fields.items()
            },
            "required": list(self.fields),
            "additionalProperties": False,
        }

    def read(self, found: Any) -> dict[str, str] | None:
        """Return the verdict in the form's own spelling, or None when `found` is not one."""
        if not isinstance(found, dict):
            return None
        read = {name: _value(found.get(name), values) for name, values in self.fields.items()}
        verdict = {name: value for name, value in read.items() if value is not None}
        return verdict if len(verdict) == len(self.fields) else None


FORMS: Final[Mapping[Role, ReplyForm]] = {
    "enhance": ReplyForm(
        name="standalone_question",
        description="The question, understandable without the conversation.",
        fields={"question": ()},
    ),
    "guard": ReplyForm(
        name="topic_verdict",
        description="Whether the question is on topic, and how sure that is.",
        fields={
            "classification": ("RELEVANT", "IRRELEVANT"),
            "confidence": ("HIGH", "MEDIUM", "LOW"),
        },
    ),
    "clarify": ReplyForm(
        name="clarifying_question",
        description="One short question that asks what was meant.",
        fields={"question": ()},
    ),
    "grade": ReplyForm(
        name="chunk_grade",
        description="Whether the piece of a document helps to answer the question.",
        fields={"relevant": ("yes", "no")},
    ),
    "rewrite": ReplyForm(
        name="search_query", description="The next search words.", fields={"query": ()}
    ),
    "critique": ReplyForm(
        name="draft_critique",
        description="Whether the draft is supported and answers, and what to change.",
        fields={"supported": tuple(SUPPORTED), "answers": tuple(ANSWERS), "note": ()},
    ),
}
"""The roles whose reply is a verdict; `answer` and `revise` reply with plain text."""


def read_verdict(result: Any, form: ReplyForm) -> dict[str, str]:
    """Return the verdict in a call's result.

    Args:
        result: What the call gave: a message, the dict of `with_structured_output(...,
            include_raw=True)`, a parsed object, None, or the exception the call raised.
        form: The fields to find.

    Raises:
        UnusableReplyError: There is no verdict in it; says why.
        AgentError: The call raised one.
    """
    message = _message(result)
    if message is None:
        return _agreed([result.model_dump() if isinstance(result, BaseModel) else result], form)
    check_finish(message)
    if message.tool_calls:
        return _agreed([call["args"] for call in message.tool_calls], form)
    text = without_thinking(message.text)
    if not text:
        raise UnusableReplyError("none", "empty reply")
    if len(text) > MAX_VERDICT_CHARS:
        raise UnusableReplyError("unparsed", f"{len(text):,} characters for one {form.name}")
    objects = list(complete_objects(text))
    if not objects:
        objects = _bare_choice(text, form)
    if not objects and "{" not in text and isinstance(result, dict):
        raise UnusableReplyError("none", "reply without the schema's object")
    return _agreed(objects, form)


def read_answer(result: Any) -> str:
    """Return the text of an answer.

    Raises:
        UnusableReplyError: The call failed, or the reply is cut, declined, empty or endless.
        AgentError: The call raised one.
    """
    message = _message(result)
    if message is None:
        raise UnusableReplyError("none", "no message")
    check_finish(message)
    text = _well_formed(without_thinking(message.text))
    if not text:
        raise UnusableReplyError("none", "empty reply")
    if len(text) > MAX_ANSWER_CHARS:
        raise UnusableReplyError("unparsed", f"{len(text):,} characters for one answer")
    return text


def without_thinking(text: str) -> str:
    """Return the visible text: what stands outside think blocks.

    A closing tag alone ends a block that the model's template opened; a block that opens the text
    and never closes is all there is. Any other single tag is text like the rest.
    """
    visible, depth, start = "", 0, 0
    for tag in _THINK_TAG.finditer(text):
        if not tag[1]:
            if depth == 0:
                visible, start = visible + text[start : tag.start()], tag.start()
            depth += 1
        elif depth <= 1:
            visible = "" if depth == 0 else visible
            depth, start = 0, tag.end()
        else:
            depth -= 1
    is_all_thought = depth > 0 and not visible.strip()
    return "" if is_all_thought else (visible + text[start:]).strip()


def complete_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in a text, outermost only; what is cut off at its end has none."""
    decoder = json.JSONDecoder()
    at = text.find("{")
    while at >= 0:
        try:
            found, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            if error.pos >= len(text.rstrip()):
                return  # the object was never closed: what stands inside it is no reply
            end = at + 1
        except RecursionError:
            return
        else:
            yield found
        at = text.find("{", end)


def _message(result: Any) -> AIMessage | None:
    """Return the model's message in a call's result; None when there is only a parsed object."""
    if isinstance(result, Exception):
        raise from_exception(result) from result
    if isinstance(result, dict) and "raw" in result:
        if isinstance(result.get("parsing_error"), ModelRefusalError):
            raise from_exception(result["parsing_error"])
        result = result["raw"]
    if result is None:
        raise UnusableReplyError("none", "no reply")
    return result if isinstance(result, AIMessage) else None


def _bare_choice(text: str, form: ReplyForm) -> list[Any]:
    """Return the verdict of a reply that is the value alone, where one choice is the verdict."""
    if len(form.fields) != 1:
        return []
    ((name, values),) = form.fields.items()
    return [{name: text}] if values and _value(text, values) else []


def _agreed(objects: list[Any], form: ReplyForm) -> dict[str, str]:
    """Return what all valid objects say.

    Raises:
        UnusableReplyError: None is valid, or two of them differ.
    """
    verdicts = [v for found in objects if (v := form.read(_arguments(found))) is not None]
    if not verdicts:
        raise UnusableReplyError("unparsed", f"no {form.name} in the reply")
    if any(verdict != verdicts[-1] for verdict in verdicts):
        raise UnusableReplyError("ambiguous", f"{len(verdicts)} objects that disagree")
    return verdicts[-1]


def _arguments(found: Any) -> Any:
    """Return the arguments of a tool call that a model wrote out as text, else `found` itself."""
    if isinstance(found, dict) and "name" in found:
        return found.get("arguments", found.get("parameters", found))
    return found


def _value(value: Any, allowed: tuple[str, ...]) -> str | None:
    """Return a field's value in the form's spelling; None when it is not one of the allowed."""
    if not allowed:
        return (_well_formed(value.strip()) or None) if isinstance(value, str) else None
    word = _CHOICE.match(str(value))
    if word is None:
        return None
    said = _YES_NO.get(word[1].casefold(), word[1].casefold())
    return next((choice for choice in allowed if choice.casefold() == said), None)


def _well_formed(text: str) -> str:
    """Return text that can be encoded: a JSON escape can smuggle in half a surrogate pair."""
    return text.encode("utf-8", "replace").decode("utf-8")
