from __future__ import annotations

import pytest

from agent.models.local.passages import split_chunk


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "Billing > Refunds\n\nYou get it back. It takes\n5 days.",
            ("Billing > Refunds", ["You get it back.", "It takes 5 days."]),
            id="heading-and-wrapped-sentences",
        ),
        pytest.param("One sentence.", ("", ["One sentence."]), id="text-alone-has-no-heading"),
        pytest.param(
            "Ports\n\n- 22 for SSH\n- 80 for HTTP\n  and more",
            ("Ports", ["22 for SSH", "80 for HTTP and more"]),
            id="a-list-item-is-a-sentence",
        ),
        pytest.param(
            "Plans\n\n| Plan | Price |\n|---|---|\n| S | 6 |",
            ("Plans", ["Plan Price", "S 6"]),
            id="a-table-row-is-a-sentence",
        ),
        pytest.param(
            "Mail\n\nUse a client, e.g. Thunderbird. It works.",
            ("Mail", ["Use a client, e.g. Thunderbird.", "It works."]),
            id="an-abbreviation-ends-nothing",
        ),
        pytest.param("# Top {#top}\nText.", ("Top", ["Text."]), id="markdown-marks-are-dropped"),
        pytest.param("", ("", []), id="nothing"),
    ],
)
def test_split_chunk(text: str, expected: tuple[str, list[str]]) -> None:
    assert split_chunk(text) == expected
