from __future__ import annotations

import io
import json

from kept_runs import make_question, make_run, make_runs, make_wrong
from rich.console import Console

from agent.lab.comparison import LabComparison
from agent.lab.comparison_report import as_json, headline, markdown, print_comparison

SAMPLED = "openai:gpt-4.1-mini"


def three_ways() -> LabComparison:
    return LabComparison(
        before=make_run(
            make_question("Refund?"),
            make_wrong("Trial?", answers=("trial", "plans")),
            make_wrong("Joke?", expected="off_topic", answers=()),
            make_question("Gone?"),
        ),
        after=make_run(
            make_wrong("Refund?"),
            make_question("Trial?", answers=("trial", "plans"), citations=("trial",)),
            make_question("Joke?", expected="off_topic", answers=(), is_expected=False),
            id="0000000b", settings={"k": 3},
        ),
    )  # fmt: skip


def compared(**went: int) -> LabComparison:
    before, after = make_runs(model=SAMPLED, **went)
    return LabComparison(before=before, after=after)


def test_markdown_says_all_that_a_pull_request_needs() -> None:
    assert (
        markdown(three_ways())
        == """\
**worse: 1 lost and 1 won of 3 questions; 0 lost allowed**

- before: run 0000000a of 2026-12-01 03:00 UTC, version 1, g.yaml, bound 2
- after: run 0000000b of 2026-12-01 03:00 UTC, version 1, g.yaml, bound 2
- right: 1 of 3 -> 1 of 3, +0.0 points (95 % -67.9 to +67.9 for questions like these)
- model calls: -5 in all, -1.67 a question (95 % -16.01 to +12.68)

Lost: right before, wrong after:

| question | expected | before | after |
| --- | --- | --- | --- |
| Refund? | answered from a | answered from a | no_results |

Won: wrong before, right after:

| question | expected | before | after |
| --- | --- | --- | --- |
| Trial? | answered from trial or plans | no_results | answered from trial |

Ends otherwise, no better and no worse:

| question | expected | before | after |
| --- | --- | --- | --- |
| Joke? | off_topic | no_results | answered from a |

- differs: k 2 -> 3
- only the run before asked 1 question: Gone?
"""
    )


def test_the_terminal_says_the_same() -> None:
    out = io.StringIO()
    print_comparison(three_ways(), Console(file=out, width=120))

    assert "Lost: right before, wrong after" in out.getvalue()
    assert "only the run before asked 1 question: Gone?" in out.getvalue()
    assert out.getvalue().endswith("worse: 1 lost and 1 won of 3 questions; 0 lost allowed\n")


def test_long_lists_are_cut_and_counted() -> None:
    before, after = make_runs(lost=23)
    text = markdown(LabComparison(before=before, after=after))
    out = io.StringIO()
    print_comparison(LabComparison(before=before, after=after), Console(file=out, width=120))

    assert text.count("| lost ") == 20
    assert "\nand 3 more\n" in text
    assert "\nand 3 more\n" in out.getvalue()


def test_markdown_keeps_free_text_in_its_cell() -> None:
    before = make_run(make_question("a | b\n<script> & c"))
    after = make_run(make_wrong("a | b\n<script> & c"), id="0000000b")

    assert r"| a \| b &lt;script> &amp; c |" in markdown(LabComparison(before=before, after=after))


def test_headlines_of_the_test_name_its_p_value_and_what_is_missing() -> None:
    few = compared(lost=4, right=6)
    many = compared(lost=8, right=92)
    apart = LabComparison(before=make_run(make_question("a")), after=make_run(make_question("b")))

    assert headline(few) == (
        "not enough data: 4 lost and 0 won of 10 questions; p = 0.125; 50 more questions would "
        "show a drop that matters"
    )
    assert headline(many) == "worse: 8 lost and 0 won of 100 questions; p = 0.008"
    assert headline(apart) == "not enough data: no question is in both runs with the same label"


def test_json_is_whole_and_finite() -> None:
    told = as_json(three_ways())

    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert (told["verdict"], told["exit_code"], told["detectable"]) == ("worse", 1, None)
    assert told["lost"] == [
        {
            "question": "Refund?", "expected": "answered", "answers": ["a"],
            "before": {"outcome": "answered", "citations": ["a"]},
            "after": {"outcome": "no_results", "citations": []},
        }
    ]  # fmt: skip
    assert told["differences"] == {"k": [2, 3]}
    assert (told["right_before"], told["right_after"], told["more_calls"]) == (1, 1, -5)
