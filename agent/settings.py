"""Every knob of the agent, read once at the edge; each field is one `LOOPSCOPE_*` variable."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

RouterOrder = Literal["evidence_first", "budget_first"]
"""What the router looks at first after grading; `budget_first` is the published mistake."""
RewriteFrom = Literal["original", "current"]
"""What the rewriter reads: the question and the attempts, or only the current query."""

NO_RECORDS = "off"
"""Value of `records` that keeps none."""


def _not_blank(path: Any) -> Any:
    """Refuse an empty path: it would mean the current folder, which nobody asked for."""
    if isinstance(path, str) and not path.strip():
        raise ValueError("a path that is not empty")
    return path


NamedPath = Annotated[Path, BeforeValidator(_not_blank)]


class Settings(BaseSettings):
    """The agent's settings. A value out of range is refused at start with its name.

    An empty variable counts as one that is not set.
    """

    model_config = SettingsConfigDict(
        env_prefix="LOOPSCOPE_", frozen=True, extra="forbid", env_ignore_empty=True
    )

    model: str = Field(
        default="local", description="`golden`, `local`, or any chat model as `provider:model`."
    )
    base_url: str | None = Field(
        default=None, description="The provider's address, when not its own."
    )
    model_timeout_seconds: float = Field(
        default=30.0, gt=0, le=600, description="Longest wait for one model call, in seconds."
    )
    second_model: str | None = Field(
        default=None,
        description="Another `provider:model`, asked where `model` gives no usable reply.",
    )
    second_base_url: str | None = Field(
        default=None, description="The second model's address, when not its provider's own."
    )
    docs: NamedPath | None = Field(
        default=None, description="Folder of markdown and text files; default: the handbook."
    )
    index: NamedPath | None = Field(
        default=None, description="Index written by `loopscope index`; instead of `docs`."
    )
    subjects: str | None = Field(
        default=None, description="What the documents are about, in words; default: their titles."
    )
    golden: NamedPath | None = Field(
        default=None, description="Golden set (YAML); default: the handbook's five questions."
    )
    max_rewrites: int = Field(default=2, ge=0, le=20, description="Rewrites allowed per question.")
    k: int = Field(default=2, ge=1, le=20, description="Chunks per retrieval.")
    min_score: float | None = Field(
        default=None, ge=0, le=1, description="Chunks that score below it are not graded."
    )
    topic_check: bool = Field(default=True, description="Judge the topic before retrieval.")
    clarify: bool = Field(
        default=False,
        description="Ask one clarifying question instead of refusing with LOW confidence.",
    )
    router_order: RouterOrder = Field(
        default="evidence_first", description="`budget_first` shows the published mistake."
    )
    rewrite_from: RewriteFrom = Field(
        default="original", description="What the rewriter reads: `original` or `current`."
    )
    records: str = Field(
        default="loopscope-turns.sqlite",
        min_length=1,
        description="Where `serve` keeps turn records: a path, a PostgreSQL URL, or `off`.",
    )
    version: str = Field(
        default="dev",
        min_length=1,
        max_length=64,
        description="The label `version` of metrics and spans: what was deployed.",
    )
    local_only: bool = Field(
        default=False,
        description="Switch off tracers beside ours, such as LangSmith, that a variable turned on.",
    )
    recursion_limit: int | None = Field(
        default=None, ge=1, description="Backstop under the bound; default: just fits the bound."
    )

    @model_validator(mode="after")
    def _one_source_of_documents(self) -> Self:
        if self.docs is not None and self.index is not None:
            raise ValueError(
                f"docs and index got {str(self.docs)!r} and {str(self.index)!r}, "
                "expected: only one of the two"
            )
        return self
