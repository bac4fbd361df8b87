"""The labelled questions that the local model learns from; packaged, written by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

import yaml

TRAINING_FILE: Final = "data/local/training.yaml"
PHRASINGS_FILE: Final = "data/local/phrasings.yaml"
_LOADER: Final = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""Gives every value as text; LibYAML's where it is there, ten times as fast."""
_MISTYPED: Final = frozenset(("typo", "noise", "non_native"))


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuestion:
    """A question with its topic and the chunks of which each one answers it."""

    text: str
    is_on_topic: bool
    answers: tuple[str, ...]
    """Chunk ids; empty when the documents hold no answer."""
    style: str
    """How it is said; `short` for all of the second file."""

    @property
    def is_well_spelled(self) -> bool:
        """Whether its words may be taken for known words."""
        return self.style not in _MISTYPED


@cache
def load_labelled() -> tuple[LabelledQuestion, ...]:
    """Return the packaged questions, each wording once; read once a process."""
    by_text: dict[str, LabelledQuestion] = {}
    for question in [*_training(_load(TRAINING_FILE)), *_phrasings(_load(PHRASINGS_FILE))]:
        by_text.setdefault(question.text.casefold().strip(" ?!."), question)
    return tuple(by_text.values())


def _load(path: str) -> Any:
    return yaml.load((files("agent") / path).read_text(encoding="utf-8"), Loader=_LOADER)


def _training(entries: list[dict[str, Any]]) -> Iterator[LabelledQuestion]:
    for entry in entries:
        yield LabelledQuestion(
            text=entry["question"],
            is_on_topic=entry["topic"] == "on",
            answers=tuple(entry["answers"]),
            style=entry["style"],
        )


def _phrasings(groups: Mapping[str, list[str]]) -> Iterator[LabelledQuestion]:
    for group, texts in groups.items():
        for text in texts:
            yield LabelledQuestion(
                text=text,
                is_on_topic=group != "off",
                answers=() if group in {"off", "none"} else (group,),
                style="short",
            )
