"""A run of the lab as it is kept: what ran, with which settings, and how each question ended."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from agent.errors import KeptRunError
from agent.golden import GoldenQuestion, GoldenSet
from agent.golden_problems import folded
from agent.lab.report import LabReport
from agent.lab.runs import Row
from agent.settings import Settings

FORMAT: Final = 1
"""Number of the form below; another one is refused."""
VARIED: Final = (
    "second_model", "subjects", "k", "min_score", "rewrite_from", "revise", "revise_model",
    "revise_budget_tokens", "revise_tokens_per_draft", "fallback", "recursion_limit",
)  # fmt: skip
"""Settings that change answers. The lab sets the others itself, or they only say where things are;
an address may hold a password."""
_MAKE: Final = "Make it with `loopscope lab --json > FILE`."
_SHOWN: Final = 60
"""Characters shown of a wrong value."""

Setting = str | int | float | bool | None
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{12}$")]


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class KeptQuestion(_Kept):
    """One golden question, what was expected of it, and what became of it."""

    question: str
    history: Digest | None
    """Of the turns before it; None for the first of a conversation."""
    expected: Literal["answered", "no_results", "off_topic"]
    answers: tuple[str, ...]
    """Ids of the chunks that answer it."""
    outcome: str
    is_expected: bool
    """Whether it ended so, with an answer from one of those chunks."""
    citations: tuple[str, ...]
    llm_calls: Annotated[int, Field(ge=0)]

    @property
    def key(self) -> tuple[str, str | None]:
        """What two runs know the question by."""
        return folded(self.question), self.history

    @property
    def label(self) -> tuple[str, frozenset[str]]:
        """What the golden set says of it."""
        return self.expected, frozenset(self.answers)


class KeptBuild(_Kept):
    """What was measured: the labels of `rag_build_info`."""

    version: str
    index: str
    prompt: str
    grader: str
    model: str


class KeptRun(_Kept):
    """One run of the lab, at the bound that it chose."""

    format: Literal[1]
    id: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}$")]
    at: AwareDatetime
    build: KeptBuild
    bound: Annotated[int, Field(ge=0)]
    settings: dict[str, Setting]
    golden_name: str
    golden_digest: Digest
    """Of all that the golden set says, besides its notes."""
    questions: Annotated[tuple[KeptQuestion, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _asks_nothing_twice(self) -> Self:
        if len({question.key for question in self.questions}) < len(self.questions):
            raise ValueError("a question occurs twice")
        return self

    @property
    def right(self) -> int:
        """Questions that ended as expected."""
        return sum(question.is_expected for question in self.questions)

    @property
    def llm_calls(self) -> int:
        """Model calls of all questions."""
        return sum(question.llm_calls for question in self.questions)

    @property
    def is_repeatable(self) -> bool:
        """Whether a second run would give the same: the models of our own draw no lots."""
        others = ("second_model", "revise_model")
        models = (self.build.model, *(self.settings.get(name) for name in others))
        is_ours = all(":" not in str(model) for model in models)
        return is_ours and self.settings.get("fallback") is None

    def as_json(self) -> dict[str, Any]:
        """Return built-ins only."""
        return self.model_dump(mode="json")


def keep(
    report: LabReport, settings: Settings, build: Mapping[str, str], *, now: datetime | None = None
) -> KeptRun:
    """Return what is kept of a report.

    Args:
        report: What was measured.
        settings: With which settings.
        build: The labels of the agent that was measured.
        now: When; the present if None.
    """
    chosen = report.bound.max_rewrites
    return KeptRun(
        format=FORMAT,
        id=secrets.token_hex(4),
        at=(now or datetime.now(UTC)).replace(microsecond=0),
        build=KeptBuild(version=settings.version, **build),
        bound=chosen,
        settings={name: getattr(settings, name) for name in VARIED},
        golden_name=report.golden.path.name,
        golden_digest=_digest_of_set(report.golden),
        questions=tuple(_question(row) for row in report.checked[chosen]),
    )


def read_run(text: str | bytes, source: str) -> KeptRun:
    """Read a kept run, or the whole object that `loopscope lab --json` prints.

    Args:
        text: JSON.
        source: Where it comes from, for messages.

    Raises:
        KeptRunError: It is neither.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise KeptRunError(source, "text that is no JSON", _MAKE) from None
    if not isinstance(found, dict):
        raise KeptRunError(source, f"JSON of {_shown(found)}", _MAKE)
    if "more" in found or "table3_golden_set_by_bound" in found:
        found = found["more"].get("run") if isinstance(found.get("more"), dict) else None
        if found is None:
            raise KeptRunError(source, "a report without the run in it", f"It is old. {_MAKE}")
    try:
        return KeptRun.model_validate_json(json.dumps(found))
    except ValidationError as error:
        detail = error.errors()[0]
        where = ".".join(map(str, detail["loc"]))
        got = f"{where or 'it'}: {detail['msg']}, got {_shown(detail['input'])}"
        raise KeptRunError(source, got, _MAKE) from None


def _question(row: Row) -> KeptQuestion:
    return KeptQuestion(
        question=row.golden.question,
        history=_digest_of_history(row.golden),
        expected=row.golden.expected_outcome,
        answers=row.golden.answers,
        outcome=row.answer.outcome,
        is_expected=row.is_expected,
        citations=row.answer.citations,
        llm_calls=row.answer.llm_calls,
    )


def _digest_of_history(question: GoldenQuestion) -> str | None:
    turns = [turn.model_dump() for turn in question.history]
    return _digest(turns) if turns else None


def _digest_of_set(golden: GoldenSet) -> str:
    return _digest([entry.model_dump(exclude={"note"}, mode="json") for entry in golden])


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


def _shown(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
