"""The golden set: questions whose right result is known, read from a YAML file and checked.

docs/golden-set.md describes the format. Every text that can be a search query (a question, its
standalone form, a rewrite) occurs once in a file, so that a query alone tells its golden question.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from agent.errors import GoldenFileError, UnknownGoldenQuestionError
from agent.golden_problems import (
    folded,
    invalid_value,
    invalid_yaml,
    label,
    repeated_rewrite,
    shown,
    unknown_chunk,
    used_before,
)

GOLDEN_FILE: Final = Path(__file__).parent / "data" / "golden.yaml"
"""Our own golden set, about the Larkspur handbook."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class EarlierTurn(_Entry):
    """A turn of the conversation that came before the golden question."""

    question: Text
    reply: Text


class GoldenQuestion(_Entry):
    """One question with its right result; the fields are the keys of the file."""

    question: Text
    topic: Literal["on", "off"]
    """Whether the question belongs to the assistant at all."""
    answers: tuple[Text, ...]
    """Ids of the chunks that answer it; empty when the documents hold no answer."""
    rewrites: tuple[Text, ...] = ()
    """Hand-written search queries, in the order in which the `golden` model gives them."""
    history: tuple[EarlierTurn, ...] = ()
    standalone: Text | None = None
    """The question as it reads without its history; for follow-ups only."""
    phrasing: Text | None = None
    """How it is asked (plain, complaint, typo ...); the lab reports false rejections by it."""
    note: Text | None = None

    @field_validator("topic", mode="before")
    @classmethod
    def _undo_yaml_boolean(cls, value: object) -> object:
        """Take back what YAML 1.1 does to a bare `on` or `off`: it reads a boolean."""
        return {True: "on", False: "off"}[value] if isinstance(value, bool) else value

    @model_validator(mode="after")
    def _no_answer_off_topic(self) -> GoldenQuestion:
        if self.topic == "off" and self.answers:
            raise ValueError(
                f"an off-topic question has answers, got {list(self.answers)}, expected []; "
                "empty the list or write `topic: on`"
            )
        return self

    @property
    def queries(self) -> tuple[str, ...]:
        """The search queries in order: the standalone question, then the rewrites."""
        return (self.standalone or self.question, *self.rewrites)

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text that leads to this entry: the question as asked, then the queries."""
        return tuple(dict.fromkeys((self.question, *self.queries)))

    @property
    def expected_outcome(self) -> Literal["answered", "no_results", "off_topic"]:
        """How a turn should end; an answer should also come from one of `answers`."""
        if self.topic == "off":
            return "off_topic"
        return "answered" if self.answers else "no_results"

    def rewrite_after(self, query: str) -> str:
        """Return the query that follows `query`, the last one past the end.

        A query that is none of this question's counts as the question itself.
        """
        keys = [folded(known) for known in self.queries]
        place = keys.index(folded(query)) if folded(query) in keys else 0
        return self.queries[min(place + 1, len(keys) - 1)]


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """The golden questions of one file, in the file's order."""

    path: Path
    questions: tuple[GoldenQuestion, ...]
    _by_key: dict[str, GoldenQuestion] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the questions by every text that leads to them."""
        by_key = {folded(text): entry for entry in self.questions for text in entry.texts}
        object.__setattr__(self, "_by_key", by_key)

    def __iter__(self) -> Iterator[GoldenQuestion]:
        return iter(self.questions)

    def __len__(self) -> int:
        return len(self.questions)

    def find(self, text: str) -> GoldenQuestion:
        """Return the golden question that has this text as its question or as a rewrite.

        Case, blanks and the form of apostrophes do not matter.

        Raises:
            UnknownGoldenQuestionError: No golden question has this text.
        """
        found = self._by_key.get(folded(text))
        if found is None:
            raise UnknownGoldenQuestionError(text, self.path)
        return found


def load_golden(path: Path, known_chunk_ids: Collection[str] | None) -> GoldenSet:
    """Read and check a golden set.

    Args:
        path: YAML file in UTF-8: a list of entries as docs/golden-set.md describes them.
        known_chunk_ids: Ids of the chunks that are indexed; every answer must be one of them.
            None where the index is elsewhere: then no answer is checked.

    Raises:
        GoldenFileError: The file cannot be read or an entry is wrong; the message is one line
            that names the first wrong entry and says how many more there are.
    """
    questions: list[GoldenQuestion] = []
    first_use: dict[str, int] = {}
    problems: list[str] = []
    for number, raw in enumerate(_read_entries(path), start=1):
        try:
            entry = GoldenQuestion.model_validate(raw)
        except ValidationError as error:
            problems.append(f"{label(number, raw)}: {_finding(error)}")
            continue
        problem = (
            unknown_chunk(entry.answers, known_chunk_ids)
            or repeated_rewrite(entry.queries)
            or used_before(entry.texts, first_use)
        )
        if problem:
            problems.append(f"{label(number, raw)}: {problem}")
        questions.append(entry)
        for text in entry.texts:
            first_use.setdefault(folded(text), number)
    if problems:
        raise GoldenFileError(path, problems[0], others=len(problems) - 1)
    return GoldenSet(path, tuple(questions))


def _read_entries(path: Path) -> list[Any]:
    """Return the file's list, whatever is in it."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        found = "a directory" if path.is_dir() else (error.strerror or "an error").lower()
        raise GoldenFileError(
            path, f"cannot be read, got {found}, expected a YAML file; check the path"
        ) from None
    except UnicodeDecodeError as error:
        raise GoldenFileError(
            path,
            f"is not text, got byte {error.object[error.start]:#04x} at offset {error.start}, "
            "expected YAML in UTF-8; save it as UTF-8",
        ) from None
    try:
        entries = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise GoldenFileError(path, invalid_yaml(error)) from None
    if not isinstance(entries, list) or not entries:
        raise GoldenFileError(
            path,
            f"holds no list of questions, got {shown(entries)}, expected at least one entry that "
            "starts with `- question:`; docs/golden-set.md shows one",
        )
    return entries


def _finding(error: ValidationError) -> str:
    """Say what pydantic found first."""
    detail = error.errors()[0]
    model = EarlierTurn if detail["loc"][:1] == ("history",) else GoldenQuestion
    needed = [name for name, key in model.model_fields.items() if key.is_required()]
    return invalid_value(detail, needed=needed, known=list(model.model_fields))
