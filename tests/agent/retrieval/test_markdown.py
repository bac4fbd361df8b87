"""Markdown cut at its headings."""

from __future__ import annotations

import pytest

from agent.retrieval.markdown import Section, read_sections


def section(text: str, *titles: str, anchor: str | None = None) -> Section:
    return Section(titles=titles, anchor=anchor, text=text)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("# A\none\n\n# B\ntwo", [section("one", "A"), section("two", "B")], id="two"),
        pytest.param(
            "# A\none\n### B\ntwo\n## C\nthree\n# D\nfour",
            [
                section("one", "A"), section("two", "A", "B"),
                section("three", "A", "C"), section("four", "D"),
            ],
            id="headings-above-come-along",
        ),
        pytest.param("Title\n=====\ntext", [section("text", "Title")], id="underlined-heading"),
        pytest.param("before\n# A\none", [section("before"), section("one", "A")], id="preamble"),
        pytest.param("no heading", [section("no heading")], id="no-heading"),
        pytest.param("", [], id="empty"),
        pytest.param(
            "## Get money back {#refunds}\ntext", [section("text", "Get money back",
            anchor="refunds")], id="anchor-by-hand-is-taken-off-the-heading",
        ),
        pytest.param("# {#only}\nt", [section("t", anchor="only")], id="anchor-without-a-heading"),
        pytest.param(
            "# A\n```sh\n# no heading\n```\n> # nor this\n\n- # nor that\n",
            [section("# no heading\n\nnor this\n\n- nor that", "A")],
            id="hash-in-code-quote-or-list-is-no-heading",
        ),
        pytest.param(
            "# A *b* `c`\n[link](https://x.example) ![alt](i.png) **bold** &amp; \\*",
            [section("link alt bold & *", "A b c")], id="markup-goes-words-stay",
        ),
        pytest.param(
            "# A\none\ntwo\n\nthree  \nfour<br>five",
            [section("one two\n\nthree\nfour\nfive", "A")],
            id="a-paragraph-is-a-line",
        ),
        pytest.param(
            "# A\n- one\n- two\n\n  more\n\n3. three\n4. four",
            [section("- one\n- two\n\nmore\n\n3. three\n4. four", "A")], id="lists",
        ),
        pytest.param(
            "# A\n| Plan | Price |\n|--|--|\n| S | 6 |\n| M |  |",
            [section("Plan | Price\nS | 6\nM | ", "A")], id="table-rows-are-lines",
        ),
        pytest.param(
            "# A\n<!-- internal note -->\n\n<details>\nshown\n</details>",
            [section("shown", "A")], id="comments-and-tags-go",
        ),
        pytest.param("---\nx: 1\n---\n# A\nt", [section("t", "A")], id="front-matter-goes"),
    ],
)  # fmt: skip
def test_sections(source: str, expected: list[Section]) -> None:
    _, sections = read_sections(source)

    assert [part for part in sections if part.text or part.titles] == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("---\ntitle: Plans\n---\ntext", "Plans", id="title-of-front-matter"),
        pytest.param("---\ntitle: 7\n---\ntext", None, id="title-that-is-no-text"),
        pytest.param("---\ntitle: [\n---\ntext", None, id="front-matter-that-is-no-yaml"),
        pytest.param("---\n---\ntext", None, id="empty-front-matter"),
        pytest.param("text\n\n---\ntitle: no\n---\n", None, id="rule-further-down"),
    ],
)
def test_title_of_the_file(source: str, expected: str | None) -> None:
    title, sections = read_sections(source)

    assert title == expected
    assert sections[0].text.startswith("text")
