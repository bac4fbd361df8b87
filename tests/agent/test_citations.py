from __future__ import annotations

import pytest

from agent.citations import cited_ids, with_unknown_told
from agent.state import Chunk

CHUNKS: list[Chunk] = [
    {"id": id_, "text": "…", "score": 0.5} for id_ in ("refunds", "guide/a.md#setup", "日本")
]


@pytest.mark.parametrize(
    ("reply", "cited", "unknown"),
    [
        pytest.param("In 14 days [refunds].", ["refunds"], "", id="a-known-source"),
        pytest.param("Yes [refunds]. No [refunds].", ["refunds"], "", id="each-once"),
        pytest.param("[guide/a.md#setup] [日本]", ["guide/a.md#setup", "日本"], "", id="any-id"),
        pytest.param("Yes [refunds, 日本].", ["refunds", "日本"], "", id="two-in-one-bracket"),
        pytest.param("Free [promo].", [], "[promo] is no source", id="an-invented-source"),
        pytest.param("Free [refunds] [a] [b].", ["refunds"], "[a], [b] are no sources", id="two"),
        pytest.param("Free [1].", [], "[1] is no source", id="a-number-from-another-habit"),
        pytest.param("Set `a[promo]` and b[0].", [], "", id="code-and-an-index-cite-nothing"),
        pytest.param("[here](https://x.test) ![img](y)", [], "", id="links-cite-nothing"),
        pytest.param("Ask [your account manager] first.", [], "", id="words-cite-nothing"),
        pytest.param("[…] as it says", [], "", id="an-ellipsis-cites-nothing"),
        pytest.param("```\n[promo]\n```", [], "", id="a-code-block-cites-nothing"),
        pytest.param("", [], "", id="no-text"),
    ],
)
def test_a_reply_says_which_of_its_sources_do_not_exist(
    reply: str, cited: list[str], unknown: str
) -> None:
    told = with_unknown_told(reply, CHUNKS)

    assert cited_ids(reply, CHUNKS) == cited
    assert told.startswith(reply.rstrip())
    assert told == reply if not unknown else unknown in told.splitlines()[-1]


def test_telling_takes_time_in_proportion_to_the_text() -> None:
    assert with_unknown_told("[" * 50_000, CHUNKS) == "[" * 50_000
