from __future__ import annotations

import pytest

from agent.lab.unbounded import run_unbounded


@pytest.mark.parametrize(
    ("limit", "retrievals", "llm_calls"),
    [
        pytest.param(25, 8, 25, id="the-published-limit"),
        pytest.param(1, 0, 1, id="one-step-is-the-agent-alone"),
        pytest.param(2, 1, 2, id="the-second-step-retrieves-and-grades"),
        pytest.param(3, 1, 3, id="the-third-rewrites"),
        pytest.param(100, 33, 100, id="calls-follow-the-step-limit"),
    ],
)
def test_only_the_recursion_limit_ends_the_run(limit: int, retrievals: int, llm_calls: int) -> None:
    tally = run_unbounded(limit)

    assert (tally.retrievals, tally.llm_calls, tally.ended_in, tally.steps) == (
        retrievals, llm_calls, "GraphRecursionError", limit,
    )  # fmt: skip


def test_published_figures_at_langgraphs_own_default_limit() -> None:
    tally = run_unbounded(None)  # about 4 s: 10,007 real steps

    assert (tally.steps, tally.retrievals, tally.llm_calls) == (10_007, 3_336, 10_007)
