"""What is asked and how often: a mix of kinds of questions, read from YAML.

    day: {seconds: 86400, night: 0.25}
    kinds:
      golden:
        weight: 20
        questions: ["Can I export my data after I cancel my plan?"]
      follow_ups:
        weight: 10
        conversations:
          - ["What does plan M cost?", "And plan L?"]

`weight` is relative to the other kinds. `night` is the lowest rate relative to the highest; the
mean is what is asked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent.errors import MixFileError

DEFAULT_MIX: Final = Path(str(files("agent.traffic") / "mix.yaml"))
"""The packaged mix, for the handbook of Larkspur."""

Text = Annotated[str, Field(min_length=1)]
Conversation = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """How the rate swings, as a sine around its mean."""

    seconds: float = 86_400.0
    night: float = 1.0
    """Lowest rate relative to the highest, above 0 to 1; 1 is an even rate."""

    def factor(self, at: float) -> float:
        """Return the rate at a time in seconds, relative to the mean; it starts in the morning."""
        swing = (1 - self.night) / (1 + self.night)
        return 1 + swing * math.sin(2 * math.pi * at / self.seconds)

    @property
    def peak(self) -> float:
        """The largest factor."""
        return 2 / (1 + self.night)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of traffic. A question on its own is a conversation of one."""

    name: str
    weight: float
    conversations: tuple[Conversation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """All kinds, and the shape of a day."""

    kinds: tuple[Kind, ...]
    day: Day = Day()


class _DayEntry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    seconds: float = Field(default=86_400.0, gt=0)
    night: float = Field(default=1.0, gt=0, le=1)


class _KindEntry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    weight: float = Field(gt=0, allow_inf_nan=False)
    questions: list[Text] = []
    conversations: list[Annotated[list[Text], Field(min_length=1)]] = []

    def kind(self, name: str) -> Kind:
        alone = [(question,) for question in self.questions]
        held = [tuple(conversation) for conversation in self.conversations]
        return Kind(name=name, weight=self.weight, conversations=(*alone, *held))


class _MixEntry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    day: _DayEntry = _DayEntry()
    kinds: dict[str, _KindEntry] = Field(min_length=1)


def read_mix(path: Path = DEFAULT_MIX) -> Mix:
    """Return the mix of a file.

    Raises:
        MixFileError: The file cannot be read, or an entry is wrong; says which.
    """
    try:
        data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        entry = _MixEntry.model_validate(data)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise MixFileError(path, _unreadable(error)) from error
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"])) or "the file"
        raise MixFileError(
            path, f"{where} got {problem['input']!r:.60}, expected: {problem['msg']}"
        ) from None
    kinds = tuple(kind.kind(name) for name, kind in entry.kinds.items())
    for kind in kinds:
        if not kind.conversations:
            raise MixFileError(
                path, f"kinds.{kind.name} got nothing to ask, expected questions or conversations"
            )
    return Mix(kinds=kinds, day=Day(seconds=entry.day.seconds, night=entry.day.night))


def _unreadable(error: OSError | UnicodeDecodeError | yaml.YAMLError) -> str:
    """Say why a file gave no YAML, and where in it."""
    if isinstance(error, OSError):
        found = (error.strerror or type(error).__name__).lower()
        return f"cannot be read, got {found}, expected a YAML file"
    if isinstance(error, UnicodeDecodeError):
        return f"is not text, got byte {error.object[error.start]:#04x} at offset {error.start}"
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: no valid YAML, got {error.problem}"
    return f"no valid YAML, got {' '.join(str(error).split())}"
