"""Two kept runs of the lab, question by question: what was lost, what was won, and a verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from agent.lab.kept import KeptQuestion, KeptRun, Setting
from agent.lab.paired import MATTERS, Paired, detectable, interval, mean_interval, needed, p_value
from telemetry.compare.comparison import EXIT_CODES
from telemetry.compare.rates import Interval
from telemetry.compare.verdict import ALPHA, Verdict


@dataclass(frozen=True, slots=True)
class Pair:
    """One question in both runs, of which both golden sets say the same."""

    before: KeptQuestion
    after: KeptQuestion

    @property
    def is_lost(self) -> bool:
        """Whether it was right before and is wrong after."""
        return self.before.is_expected and not self.after.is_expected

    @property
    def is_won(self) -> bool:
        """Whether it was wrong before and is right after."""
        return self.after.is_expected and not self.before.is_expected

    @property
    def has_moved(self) -> bool:
        """Whether it ends otherwise, no better and no worse."""
        return (
            self.before.outcome != self.after.outcome
            and self.before.is_expected == self.after.is_expected
        )


@dataclass(frozen=True, kw_only=True)
class LabComparison:
    """Two runs, compared on the questions that both asked.

    A run with models that draw no lots has no noise: each lost question was lost by the change,
    and more than `allow_flips` of them are worse. With other models the exact test decides,
    unless a number of flips is allowed.
    """

    before: KeptRun
    after: KeptRun
    allow_flips: int | None = None
    """Lost questions that are still fine; None for 0 with repeatable runs, and else for the
    test."""

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The questions in common, in the order of the run after."""
        earlier = {question.key: question for question in self.before.questions}
        return tuple(
            Pair(earlier[question.key], question)
            for question in self.after.questions
            if question.key in earlier and question.label == earlier[question.key].label
        )

    @property
    def relabelled(self) -> list[str]:
        """Questions of both runs of which the golden sets say different things: left out."""
        labels = {question.key: question.label for question in self.before.questions}
        return [q.question for q in self.after.questions if labels.get(q.key, q.label) != q.label]

    @property
    def only_before(self) -> list[str]:
        """Questions that only the run before asked."""
        return _missing(self.before.questions, self.after.questions)

    @property
    def only_after(self) -> list[str]:
        """Questions that only the run after asked."""
        return _missing(self.after.questions, self.before.questions)

    @cached_property
    def lost(self) -> list[Pair]:
        """Pairs that were right before and are wrong after."""
        return [pair for pair in self.pairs if pair.is_lost]

    @cached_property
    def won(self) -> list[Pair]:
        """Pairs that were wrong before and are right after."""
        return [pair for pair in self.pairs if pair.is_won]

    @cached_property
    def moved(self) -> list[Pair]:
        """Pairs that end otherwise, no better and no worse."""
        return [pair for pair in self.pairs if pair.has_moved]

    @cached_property
    def counts(self) -> Paired:
        """How many questions went which way."""
        return Paired(total=len(self.pairs), lost=len(self.lost), won=len(self.won))

    @property
    def right(self) -> tuple[int, int]:
        """Questions in common that were right before, and after."""
        pairs = self.pairs
        return sum(p.before.is_expected for p in pairs), sum(p.after.is_expected for p in pairs)

    @property
    def interval(self) -> Interval:
        """95 % interval of the difference of the shares right."""
        return interval(self.counts)

    @property
    def p_value(self) -> float:
        """Of "as many are lost as won"."""
        return p_value(self.counts.lost, self.counts.won)

    @property
    def more_calls(self) -> list[int]:
        """Model calls of each question in common, after minus before."""
        return [pair.after.llm_calls - pair.before.llm_calls for pair in self.pairs]

    @property
    def more_calls_interval(self) -> Interval:
        """95 % interval of their mean."""
        return mean_interval(self.more_calls)

    @property
    def detectable(self) -> float:
        """Smallest drop of the share right that the test could have called sure."""
        return detectable(self.counts.total, self.counts.won)

    @property
    def needed(self) -> int:
        """More questions that would do; 0 when there are enough."""
        if self.verdict != "not enough data":
            return 0
        return needed(self.counts.total, self.counts.won)

    @property
    def differences(self) -> dict[str, tuple[Setting, Setting]]:
        """What else differs between the runs: labels of the build and settings, by name."""
        before, after = _setup(self.before), _setup(self.after)
        return {
            name: (before.get(name), after.get(name))
            for name in dict.fromkeys((*before, *after))
            if before.get(name) != after.get(name)
        }

    @property
    def is_repeatable(self) -> bool:
        """Whether neither run draws lots."""
        return self.before.is_repeatable and self.after.is_repeatable

    @property
    def flips_allowed(self) -> int | None:
        """Lost questions that are still fine; None when the test decides."""
        return 0 if self.allow_flips is None and self.is_repeatable else self.allow_flips

    @property
    def verdict(self) -> Verdict:
        """What is to be said of the run after."""
        found, allowed = self.counts, self.flips_allowed
        if not found.total:
            return "not enough data"
        if allowed is not None:
            if found.lost > allowed:
                return "worse"
            return "better" if found.won > found.lost else "no difference shown"
        if self.p_value <= ALPHA:
            return "worse" if found.lost > found.won else "better"
        return "no difference shown" if self.detectable <= MATTERS else "not enough data"

    @property
    def exit_code(self) -> int:
        """0 fine, 1 worse, 3 not enough data."""
        return EXIT_CODES[self.verdict]


def _missing(there: Iterable[KeptQuestion], elsewhere: Iterable[KeptQuestion]) -> list[str]:
    known = {question.key for question in elsewhere}
    return [question.question for question in there if question.key not in known]


def _setup(run: KeptRun) -> dict[str, Setting]:
    return {
        **run.build.model_dump(),
        "bound": run.bound,
        **run.settings,
        "golden set": run.golden_digest,
    }
