"""The golden set: questions whose right result is known, read from a YAML file and checked.

docs/golden-set.md describes the format. Every text that can be a search query (a question, its
standalone form, a rewrite) occurs once in a file, so that a query alone tells its golden question.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
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
from pydantic_core import ErrorDetails

from agent.errors import GoldenFileError, UnknownGoldenQuestionError

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

    def rewrite_after(self, query: str) -> str:
        """Return the query that follows `query`, the last one past the end.

        A query that is none of this question's counts as the question itself.
        """
        keys = [_key(known) for known in self.queries]
        place = keys.index(_key(query)) if _key(query) in keys else 0
        return self.queries[min(place + 1, len(keys) - 1)]


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """The golden questions of one file, in the file's order."""

    path: Path
    questions: tuple[GoldenQuestion, ...]
    _by_key: dict[str, GoldenQuestion] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the questions by every text that leads to them."""
        by_key = {_key(text): entry for entry in self.questions for text in entry.texts}
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
        found = self._by_key.get(_key(text))
        if found is None:
            raise UnknownGoldenQuestionError(text, self.path)
        return found


def load_golden(path: Path, known_chunk_ids: Collection[str]) -> GoldenSet:
    """Read and check a golden set.

    Args:
        path: YAML file in UTF-8: a list of entries as docs/golden-set.md describes them.
        known_chunk_ids: Ids of the chunks that are indexed; every answer must be one of them.

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
            problems.append(f"{_label(number, raw)}: {_sentence(error.errors()[0])}")
            continue
        problem = (
            _unknown_chunk(entry, known_chunk_ids)
            or _repeated_rewrite(entry)
            or _used_before(entry, first_use)
        )
        if problem:
            problems.append(f"{_label(number, raw)}: {problem}")
        questions.append(entry)
        for text in entry.texts:
            first_use.setdefault(_key(text), number)
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
        raise GoldenFileError(path, _syntax_problem(error)) from None
    if not isinstance(entries, list) or not entries:
        raise GoldenFileError(
            path,
            f"holds no list of questions, got {_got(entries)}, expected at least one entry that "
            "starts with `- question:`; docs/golden-set.md shows one",
        )
    return entries


def _syntax_problem(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    if isinstance(error, RecursionError):
        problem = "lists nested too deeply"
    return (
        f"{where}is not valid YAML, got: {' '.join(problem.split())}; expected a list of entries; "
        "check indentation and quotes there"
    )


_EXPECTED: Final = {
    "string_type": "expected text; put it in quotes",
    "string_unicode": "expected valid Unicode text; remove the lone surrogate",
    "string_too_short": "expected some text; write it or remove it",
    "tuple_type": "expected a list; write [...], or [] for none",
    "literal_error": "expected on or off; write one of them",
    "model_type": "expected keys with values; write `question: ...` and the other keys",
}


def _sentence(error: ErrorDetails) -> str:
    """Say one of pydantic's findings in our form: what, got, expected, next act."""
    kind, where = error["type"], [str(part) for part in error["loc"]]
    model = EarlierTurn if where[:1] == ["history"] else GoldenQuestion
    keys = list(model.model_fields)
    if kind == "value_error":
        return str(error["ctx"]["error"])
    if kind == "missing":
        needed = [name for name, field in model.model_fields.items() if field.is_required()]
        given = sorted(map(str, error["input"])) if isinstance(error["input"], dict) else []
        return (
            f"key {_place(error)} is missing, got the keys {', '.join(given) or 'none'}, "
            f"expected at least {', '.join(needed)}; add it"
        )
    if kind == "extra_forbidden":
        return (
            f"unknown key, got {_place(error)}, expected some of {', '.join(keys)}; "
            f"{_nearest(where[-1], keys)}correct or remove it"
        )
    expected = _EXPECTED.get(kind, f"expected something else ({error['msg']}); correct it")
    return f"{_place(error)} is wrong, got {_got(error['input'])}, {expected}"


def _place(error: ErrorDetails) -> str:
    """Name a place in an entry: `answers item 2`; an entry as a whole is `the entry`."""
    parts = [f"item {p + 1}" if isinstance(p, int) else str(p) for p in error["loc"]]
    return " ".join(parts) or "the entry"


def _unknown_chunk(entry: GoldenQuestion, known: Collection[str]) -> str | None:
    for chunk_id in entry.answers:
        if chunk_id not in known:
            return (
                f"unknown chunk id in answers, got {chunk_id!r}, expected the id of one of the "
                f"{len(known)} indexed chunks; {_nearest(chunk_id, known)}correct the id, or "
                "index the documents that have it"
            )
    return None


def _repeated_rewrite(entry: GoldenQuestion) -> str | None:
    keys = [_key(query) for query in entry.queries]
    for place, key in enumerate(keys):
        if key in keys[:place]:
            return (
                f"a query is repeated, got {_got(entry.queries[place])} as rewrite {place}, "
                "expected each rewrite to differ from the question and from the others; remove it "
                "(past the end the last rewrite is repeated anyway)"
            )
    return None


def _used_before(entry: GoldenQuestion, first_use: Mapping[str, int]) -> str | None:
    for text in entry.texts:
        if _key(text) in first_use:
            return (
                f"duplicate text, got {_got(text)} again, expected each question and rewrite once "
                f"in the file; it is in entry {first_use[_key(text)]} already, remove one of them"
            )
    return None


def _nearest(word: str, known: Collection[str]) -> str:
    near = get_close_matches(word, sorted(known), n=3, cutoff=0.5)
    return f"nearest: {', '.join(near)}; " if near else ""


def _label(number: int, raw: object) -> str:
    question = raw.get("question") if isinstance(raw, dict) else None
    return f"entry {number} ({_got(question)})" if isinstance(question, str) else f"entry {number}"


def _got(value: object) -> str:
    """Show a value of the file in at most 60 characters."""
    shown = "nothing" if value is None else ascii(value) if _is_odd(value) else repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def _is_odd(value: object) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in str(value))


def _key(text: str) -> str:
    """What two spellings of one question have in common."""
    return " ".join(text.replace("\u2019", "'").casefold().split())
