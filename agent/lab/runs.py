"""Every question of a golden set asked once at one setting; all tables are counted from rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from agent.answer import Answer
from agent.golden import GoldenQuestion, GoldenSet
from agent.service import SupportAgent

OnProgress = Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A golden question and what the agent did with it."""

    golden: GoldenQuestion
    answer: Answer

    @property
    def is_right(self) -> bool:
        """Answered from one of the golden answer chunks; an answer to an unanswerable one is not.

        The chunk counts when the reply cites it or, for a reply without citations, when it passed.
        """
        return self.answer.outcome == "answered" and bool(
            self.used_chunks & set(self.golden.answers)
        )

    @property
    def is_expected(self) -> bool:
        """Whether it ended as the golden set says: also with a refusal, or without an answer."""
        if self.golden.answers:
            return self.is_right
        return self.answer.outcome == self.golden.expected_outcome

    @property
    def used_chunks(self) -> set[str]:
        """Ids of the chunks that the reply was made from."""
        if self.answer.citations:
            return set(self.answer.citations)
        last = self.answer.attempts[-1].chunks if self.answer.attempts else ()
        return {chunk.id for chunk in last if chunk.passed}

    @property
    def passing_on_last_retrieval(self) -> int | None:
        """Chunks that passed on the last retrieval; None when nothing was retrieved."""
        if not self.answer.attempts:
            return None
        return sum(chunk.passed is True for chunk in self.answer.attempts[-1].chunks)


def ask_all(agent: SupportAgent, golden: GoldenSet, on_progress: OnProgress) -> list[Row]:
    """Ask every question of the set in its order; a question that fails is a row like any other."""
    return [ask(agent, question, on_progress) for question in golden.questions]


def ask(agent: SupportAgent, question: GoldenQuestion, on_progress: OnProgress) -> Row:
    """Ask one golden question and report progress."""
    answer = agent.answer(question.question, history=history_of(question))
    on_progress()
    return Row(golden=question, answer=answer)


def history_of(question: GoldenQuestion) -> list[AnyMessage]:
    """Return the conversation before a golden question, oldest first."""
    history: list[AnyMessage] = []
    for turn in question.history:
        history += [HumanMessage(turn.question), AIMessage(turn.reply)]
    return history


def count_calls(rows: Iterable[Row]) -> int:
    """Return the model calls of all rows."""
    return sum(row.answer.llm_calls for row in rows)


def count_outcome(rows: Sequence[Row], outcome: str) -> int:
    """Return how many rows ended in the outcome."""
    return sum(row.answer.outcome == outcome for row in rows)
