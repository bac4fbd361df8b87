from __future__ import annotations

from pathlib import Path

import pytest

from agent.errors import MixFileError
from agent.traffic.mix import Day, read_mix


def mix_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mix.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_packaged_mix_has_every_kind_and_a_day() -> None:
    mix = read_mix()

    assert [kind.name for kind in mix.kinds] == [
        "golden", "paraphrases", "off_topic", "unanswerable", "follow_ups",
    ]  # fmt: skip
    assert mix.day == Day(seconds=86_400, night=0.25)
    assert all(len(talk) > 1 for talk in mix.kinds[-1].conversations)
    assert len({talk for kind in mix.kinds for talk in kind.conversations}) > 60


def test_a_mix_of_ones_own(tmp_path: Path) -> None:
    mix = read_mix(
        mix_file(tmp_path, "kinds: {a: {weight: 2, questions: [x], conversations: [[y, z]]}}")
    )

    assert (mix.day, mix.kinds[0].weight) == (Day(), 2)
    assert mix.kinds[0].conversations == (("x",), ("y", "z"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("kinds: [", "line 1, column 9: no valid YAML, got", id="no-yaml"),
        pytest.param("", "the file got None", id="empty"),
        pytest.param("kinds: {}", "kinds got {}", id="no-kind"),
        pytest.param("kinds: {a: {questions: [x]}}", "kinds.a.weight got", id="no-weight"),
        pytest.param(
            "kinds: {a: {weight: 0, questions: [x]}}", "kinds.a.weight got 0", id="weight-zero"
        ),
        pytest.param(
            "kinds: {a: {weight: .inf, questions: [x]}}", "kinds.a.weight got inf", id="infinite"
        ),
        pytest.param(
            "kinds: {a: {weight: 1}}", "kinds.a got nothing to ask", id="nothing-to-ask"
        ),
        pytest.param(
            "kinds: {a: {weight: 1, questions: ['']}}", "kinds.a.questions.0 got ''", id="blank"
        ),
        pytest.param(
            "kinds: {a: {weight: 1, question: [x]}}", "kinds.a.question got", id="unknown-key"
        ),
        pytest.param(
            "{day: {night: 0}, kinds: {a: {weight: 1, questions: [x]}}}", "day.night got 0",
            id="no-night-rate",
        ),
    ],
)  # fmt: skip
def test_what_is_no_mix_is_refused_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(MixFileError, match=r"mix\.yaml: ") as caught:
        read_mix(mix_file(tmp_path, text))
    assert message in str(caught.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        MixFileError,
        match=r"none\.yaml: cannot be read, got no such file or directory, expected a YAML file\. "
        r"Correct it there; docs/traffic\.md shows a mix\.$",
    ):
        read_mix(tmp_path / "none.yaml")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mix.yaml"
    path.write_bytes(b"kinds: \xff")

    with pytest.raises(MixFileError, match="is not text, got byte 0xff at offset 7"):
        read_mix(path)


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        pytest.param(0, 1.0, id="the-mean-at-the-start"),
        pytest.param(25, 1.6, id="the-peak-after-a-quarter"),
        pytest.param(75, 0.4, id="a-quarter-of-the-peak-at-night"),
    ],
)
def test_day_factor(at: float, expected: float) -> None:
    day = Day(seconds=100, night=0.25)

    assert day.factor(at) == pytest.approx(expected)
    assert day.peak == pytest.approx(1.6)
