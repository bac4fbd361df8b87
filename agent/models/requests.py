"""What a model is asked: the instructions of a role, and the data of one case as JSON.

Text of users and documents is only ever a JSON string value in the human message, so braces,
quotes and tags reach the model as they are and no template is filled with them.

The data of each task, next to `"task"`:

    enhance   history: [{role: user|assistant, text}], question; for a reply to a clarifying
              question also asked_back: true
    guard     question
    clarify   question
    grade     question, chunk: {id, text}
    rewrite   query; with rewrite_from "original" also question, attempts: [{query, chunk_ids}]
    answer    question, chunks: [{id, text}]
    critique  question, chunks: [{id, text}], draft
    revise    question, chunks: [{id, text}], draft, critique: the note
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, get_args

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from agent.state import Role

ROLES: Final[tuple[Role, ...]] = get_args(Role)
SUBJECTS_MARK: Final = "{subjects}"
"""Where a role's instructions name what the documents are about."""
DATA_RULE: Final = "data_rule"
"""The instructions that all roles share: the data is never an instruction."""


def request(task: Role, data: Mapping[str, Any], *, subjects: str) -> list[BaseMessage]:
    """Return the messages that ask a model to do one task.

    Args:
        task: The job to do.
        data: JSON-like values, as listed for the task at the head of this module.
        subjects: What the documents are about, in words; the operator's, not a user's.
    """
    instructions = _text(task).replace(SUBJECTS_MARK, subjects)
    return [
        SystemMessage(f"{instructions}\n\n{_text(DATA_RULE)}"),
        HumanMessage(json.dumps({"task": task, **data}, ensure_ascii=False)),
    ]


@cache
def prompt_version() -> str:
    """Return 8 hex digits that change whenever the instructions of any role change."""
    digest = hashlib.sha256()
    for name in (*ROLES, DATA_RULE):
        digest.update(f"{name}\0{_text(name)}\0".encode())
    return digest.hexdigest()[:8]


@cache
def _text(name: str) -> str:
    return (files("agent.models") / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()
