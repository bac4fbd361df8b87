from __future__ import annotations

import pytest

from telemetry import lexicon
from telemetry.choices import Swaps, choices, swaps
from telemetry.phrasing import read


@pytest.mark.parametrize(
    ("question", "query", "expected"),
    [
        pytest.param("how much memory has plan L", "plan XL memory", Swaps(0, 2), id="a-plan"),
        pytest.param("weekly backups", "daily backup retention", Swaps(0, 1), id="a-period"),
        pytest.param("pay by bank transfer", "paying with PayPal", Swaps(0, 1), id="a-way-to-pay"),
        pytest.param("block an IP address", "allow an IP address", Swaps(1, 0), id="a-deed"),
        pytest.param("turn off backups", "enable backups", Swaps(1, 0), id="words-for-a-deed"),
        pytest.param("turn off backups", "disable backups", Swaps(0, 0), id="another-word-for-it"),
        pytest.param("is Amex fine", "American Express", Swaps(0, 0), id="another-name-for-it"),
        pytest.param("daily or weekly backups", "daily backups", Swaps(0, 0), id="one-of-two"),
        pytest.param("backups", "daily backups", Swaps(0, 0), id="none-asked-for"),
        pytest.param("weekly backups", "backups", Swaps(0, 0), id="none-sought"),
        pytest.param("", "", Swaps(0, 0), id="nothing"),
    ],
)
def test_swaps(question: str, query: str, expected: Swaps) -> None:
    assert swaps(choices(read(question)), choices(read(query))) == expected


def test_an_article_inside_a_name_is_skipped() -> None:
    assert choices(read("take it back")) == choices(read("take back"))


def test_a_set_has_several_members_and_no_name_in_two_of_them() -> None:
    for members in (*lexicon.DEEDS, *lexicon.THINGS):
        names = [name for member in members for name in member]
        assert len(members) > 1
        assert all(members)
        assert len(set(names)) == len(names), members
