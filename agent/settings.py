"""Every knob of the agent, read once at the edge; each field is one `LOOPSCOPE_*` variable."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

RouterOrder = Literal["evidence_first", "budget_first"]
"""What the router looks at first after grading; `budget_first` is the published mistake."""
RewriteFrom = Literal["original", "current"]
"""What the rewriter reads: the question and the attempts, or only the current query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branches:
    """What may be added to the eight nodes; all off, the graph is the published one."""

    clarify: bool = False
    """Ask back on a doubtful refusal; needs the topic check."""
    revise: bool = False
    """Draft, critique and revise the answer in place of the single call."""
    fallback: bool = False
    """Ask a second source before the no-results reply."""


MAX_DRAFTS = 3
"""Drafts allowed a request, whatever the budget. Source: the published router."""
MIN_DRAFTS = 2
"""At the cap a draft is never published, so one draft alone could only be given up."""
TOKENS_PER_DRAFT = 2_000
"""A draft and its critique together. Source: the published budget."""

EIGHT_NODES = Branches()
"""The published graph."""

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
        default=None,
        pattern=r"^https?://",
        description="The provider's address, when not its own.",
    )
    model_timeout_seconds: float = Field(
        default=30.0, gt=0, le=600, description="Longest wait for one model call, in seconds."
    )
    second_model: str | None = Field(
        default=None,
        description="Another `provider:model`, asked where `model` gives no usable reply.",
    )
    second_base_url: str | None = Field(
        default=None,
        pattern=r"^https?://",
        description="The second model's address, when not its provider's own.",
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
    revise: bool = Field(
        default=False, description="Critique each draft of an answer and revise it."
    )
    revise_model: str | None = Field(
        default=None,
        description="Another `provider:model` for all drafts after the first; a stronger one.",
    )
    revise_budget_tokens: int = Field(
        default=MAX_DRAFTS * TOKENS_PER_DRAFT,
        ge=1,
        description="Tokens that one request may take in the revise loop; gives its cap, at most "
        f"{MAX_DRAFTS} drafts.",
    )
    revise_tokens_per_draft: int = Field(
        default=TOKENS_PER_DRAFT, ge=1, description="Tokens of a draft and its critique together."
    )
    fallback: str | None = Field(
        default=None,
        description="A second source, asked once before the no-results reply: any LangChain "
        "retriever as `module:attribute`.",
    )
    router_order: RouterOrder = Field(
        default="evidence_first", description="`budget_first` shows the published mistake."
    )
    rewrite_from: RewriteFrom = Field(
        default="original", description="What the rewriter reads: `original` or `current`."
    )
    records: Annotated[str, BeforeValidator(_not_blank)] = Field(
        default="loopscope-turns.sqlite",
        description="Where `serve` keeps turn records: a path, a PostgreSQL URL, or `off`.",
    )
    memory: str = Field(
        default="memory",
        min_length=1,
        description="Where `serve` keeps conversations: `memory`, a SQLite path, a PostgreSQL URL.",
    )
    memory_days: float = Field(
        default=30.0,
        ge=0,
        le=36_500,
        description="Days after which `serve` forgets a conversation that did not go on; 0 keeps "
        "all.",
    )
    turn_timeout_seconds: float = Field(
        default=60.0, gt=0, le=3600, description="Longest time `serve` gives a turn, in seconds."
    )
    api_keys: SecretStr | None = Field(
        default=None,
        description="Who may ask `serve`: `caller:key,...`, or the path of a file with one a "
        "line; default: everyone, as one anonymous caller.",
    )
    probe_key: SecretStr | None = Field(
        default=None,
        min_length=1,
        description="Key with which `loopscope probe` asks `serve`, which counts such turns "
        "apart; default: no probes.",
    )
    max_body_bytes: int = Field(
        default=262_144, ge=1_024, le=16_777_216, description="Largest body of a request."
    )
    rate_per_minute: int | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="Questions that one caller may ask a minute; default: no limit.",
    )
    max_turns: int = Field(
        default=64, ge=1, le=10_000, description="Turns of `serve` at once; further ones wait."
    )
    max_waiting: int = Field(
        default=128, ge=0, le=100_000, description="Turns that may wait; further ones are refused."
    )
    version: str = Field(
        default="dev",
        min_length=1,
        max_length=64,
        description="The label `version` of metrics and spans: what was deployed.",
    )
    console: Literal["on", "read_only", "off"] = Field(
        default="on",
        description="The pages of `serve` in the browser; `read_only` shows and takes nothing.",
    )
    operators: str | None = Field(
        default=None,
        description="Callers, with commas between, whose console shows everybody's turns; where "
        "there are no keys, everyone's does.",
    )
    trace_url: str | None = Field(
        default=None,
        pattern=r"^https?://.*\{trace_id\}",
        description="Where the console finds a trace: a URL with `{trace_id}` in it.",
    )
    prometheus_url: str | None = Field(
        default=None,
        pattern=r"^https?://",
        description="Prometheus that the console's diagnosis asks; default: the turn records.",
    )
    grafana_url: str | None = Field(
        default=None,
        pattern=r"^https?://",
        description="Grafana in which `mark` makes annotations too; default: the records alone.",
    )
    grafana_token: SecretStr | None = Field(
        default=None,
        min_length=1,
        description="Token of a service account of that Grafana, which may write annotations.",
    )
    local_only: bool = Field(
        default=False,
        description="Switch off tracers beside ours, such as LangSmith, that a variable turned on.",
    )
    recursion_limit: int | None = Field(
        default=None, ge=1, description="Backstop under the bound; default: just fits the bound."
    )

    @property
    def branches(self) -> Branches:
        """What the settings add to the eight nodes."""
        return Branches(
            clarify=self.clarify, revise=self.revise, fallback=self.fallback is not None
        )

    @property
    def max_drafts(self) -> int:
        """Drafts that the revise loop's budget affords in the worst case, never above the cap."""
        return min(MAX_DRAFTS, self.revise_budget_tokens // self.revise_tokens_per_draft)

    @model_validator(mode="after")
    def _budget_affords_a_revision(self) -> Self:
        if self.revise and self.max_drafts < MIN_DRAFTS:
            raise ValueError(
                f"revise_budget_tokens got {self.revise_budget_tokens}, expected: at least "
                f"{MIN_DRAFTS * self.revise_tokens_per_draft}, which is {MIN_DRAFTS} drafts of "
                f"revise_tokens_per_draft {self.revise_tokens_per_draft}"
            )
        return self

    @model_validator(mode="after")
    def _one_source_of_documents(self) -> Self:
        if self.docs is not None and self.index is not None:
            raise ValueError(
                f"docs and index got {str(self.docs)!r} and {str(self.index)!r}, "
                "expected: only one of the two"
            )
        return self
