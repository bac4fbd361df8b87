"""The faults of a chat model that need to know what it is asked: our own requests, as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any, cast

from agent.faults.chance import Chance
from agent.faults.chat import ChatFault, Messages
from agent.faults.rewriter import swap_words, wander
from agent.state import Role


def asks_for(role: Role) -> Callable[[Messages], bool]:
    """Return the condition that a call is one of the role's."""
    return lambda messages: _data(messages).get("task") == role


def refuses_topics(chance: Chance) -> ChatFault:
    """Return a topic check that calls the struck questions off topic, and is sure of it."""
    verdict = json.dumps({"classification": "IRRELEVANT", "confidence": "HIGH"})
    return ChatFault(when=asks_for("guard"), chance=chance, reply=lambda _: verdict)


def grades_out(chance: Chance) -> ChatFault:
    """Return a grader that fails the struck pairs of question and chunk."""
    verdict = json.dumps({"relevant": "no"})
    return ChatFault(when=asks_for("grade"), chance=chance, reply=lambda _: verdict)


def only_swaps_words(chance: Chance, vocabulary: Collection[str]) -> ChatFault:
    """Return a rewriter that finds none of the documents' words."""

    def reply(messages: Messages) -> str:
        return json.dumps({"query": swap_words(_data(messages)["query"], vocabulary, chance)})

    return ChatFault(when=asks_for("rewrite"), chance=chance, reply=reply)


def wanders(chance: Chance, subjects: Sequence[str]) -> ChatFault:
    """Return a rewriter that searches for something else than was asked."""

    def reply(messages: Messages) -> str:
        data = _data(messages)
        query = data["query"]
        return json.dumps({"query": wander(data.get("question", query), query, subjects, chance)})

    return ChatFault(when=asks_for("rewrite"), chance=chance, reply=reply)


def _data(messages: Messages) -> dict[str, Any]:
    try:
        data = json.loads(messages[-1].text)
    except (IndexError, ValueError):
        return {}
    return cast("dict[str, Any]", data) if isinstance(data, dict) else {}
