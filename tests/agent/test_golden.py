from __future__ import annotations

import re
from pathlib import Path

import pytest

from agent.errors import GoldenFileError, UnknownGoldenQuestionError
from agent.golden import GOLDEN_FILE, GoldenQuestion, GoldenSet, load_golden

IDS = ["refunds", "reboot", "sla"]
GOOD = """
- question: Can I get a refund?
  topic: on
  answers: [refunds]
"""


def write(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "golden.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def problem(path: Path) -> str:
    """Return what the loader says about a file, without the file's name and the full stop."""
    with pytest.raises(GoldenFileError) as raised:
        load_golden(path, IDS)
    message = str(raised.value)
    prefix = f"golden set {path}: "
    assert message.startswith(prefix)
    assert message.endswith(".")
    assert "\n" not in message
    return message.removeprefix(prefix)[:-1]


def entry(**changes: str | None) -> str:
    """Return a good entry as YAML with some keys changed, or left out when None."""
    keys = {"question": "Can I get a refund?", "topic": "on", "answers": "[refunds]"} | changes
    lines = [f"{key}: {value}" for key, value in keys.items() if value is not None]
    return "- " + "\n  ".join(lines) + "\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            entry(topic=None),
            "entry 1 ('Can I get a refund?'): key topic is missing, got the keys answers, question,"
            " expected at least question, topic, answers; add it",
            id="missing-key-names-the-keys-that-are-needed",
        ),
        pytest.param(
            "- topic: on\n  answers: []\n",
            "entry 1: key question is missing, got the keys answers, topic, expected at least "
            "question, topic, answers; add it",
            id="entry-without-question-goes-by-its-number",
        ),
        pytest.param(
            entry(answer="[sla]"),
            "entry 1 ('Can I get a refund?'): unknown key, got answer, expected some of question, "
            "topic, answers, rewrites, history, standalone, phrasing, note; nearest: answers; "
            "correct or remove it",
            id="unknown-key-names-the-nearest",
        ),
        pytest.param(
            entry(answers="[refund]"),
            "entry 1 ('Can I get a refund?'): unknown chunk id in answers, got 'refund', expected "
            "the id of one of the 3 indexed chunks; nearest: refunds; correct the id, or index the "
            "documents that have it",
            id="unknown-chunk-id-names-the-nearest",
        ),
        pytest.param(
            entry(answers="[zzz]"),
            "entry 1 ('Can I get a refund?'): unknown chunk id in answers, got 'zzz', expected the "
            "id of one of the 3 indexed chunks; correct the id, or index the documents that have "
            "it",
            id="unknown-chunk-id-with-nothing-near",
        ),
        pytest.param(
            entry(answers="refunds"),
            "entry 1 ('Can I get a refund?'): answers is wrong, got 'refunds', expected a list; "
            "write [...], or [] for none",
            id="text-where-a-list-belongs",
        ),
        pytest.param(
            entry(answers="[404]"),
            "entry 1 ('Can I get a refund?'): answers item 1 is wrong, got 404, expected text; put "
            "it in quotes",
            id="number-where-text-belongs",
        ),
        pytest.param(
            entry(question='" "'),
            "entry 1 (' '): question is wrong, got ' ', expected some text; write it or remove it",
            id="blank-question",
        ),
        pytest.param(
            entry(question='"\\ud83d"'),
            "entry 1 ('\\ud83d'): question is wrong, got '\\ud83d', expected valid Unicode text; "
            "remove the lone surrogate",
            id="lone-surrogate",
        ),
        pytest.param(
            entry(topic="maybe"),
            "entry 1 ('Can I get a refund?'): topic is wrong, got 'maybe', expected on or off; "
            "write one of them",
            id="topic-that-is-no-label",
        ),
        pytest.param(
            entry(topic="off"),
            "entry 1 ('Can I get a refund?'): an off-topic question has answers, got ['refunds'], "
            "expected []; empty the list or write `topic: on`",
            id="off-topic-question-with-answers",
        ),
        pytest.param(
            entry(history="[{question: Hi}]"),
            "entry 1 ('Can I get a refund?'): key history item 1 reply is missing, got the keys "
            "question, expected at least question, reply; add it",
            id="earlier-turn-without-reply",
        ),
        pytest.param(
            entry(rewrites="[refund rules, Refund  rules]"),
            "entry 1 ('Can I get a refund?'): a query is repeated, got 'Refund  rules' as rewrite "
            "2, expected each rewrite to differ from the question and from the others; remove it "
            "(past the end the last rewrite is repeated anyway)",
            id="rewrite-given-twice",
        ),
        pytest.param(
            entry() + entry(question="can I get a refund?"),
            "entry 2 ('can I get a refund?'): duplicate text, got 'can I get a refund?' again, "
            "expected each question and rewrite once in the file; it is in entry 1 already, remove "
            "one of them",
            id="duplicate-question",
        ),
        pytest.param(
            entry() + entry(question="Other?", rewrites="['Can I get a refund?']"),
            "entry 2 ('Other?'): duplicate text, got 'Can I get a refund?' again, expected each "
            "question and rewrite once in the file; it is in entry 1 already, remove one of them",
            id="rewrite-that-is-another-entry's-question",
        ),
        pytest.param(
            "- just a question?\n",
            "entry 1: the entry is wrong, got 'just a question?', expected keys with values; write "
            "`question: ...` and the other keys",
            id="entry-that-is-only-text",
        ),
        pytest.param(
            entry(question="x" * 80, topic="5"),
            f"entry 1 ('{'x' * 56}...): topic is wrong, got 5, expected on or off; write one of "
            "them",
            id="long-question-is-cut",
        ),
        pytest.param(
            entry(topic="maybe") + entry(question="B?", answers="[x]") + entry(question="C?"),
            "entry 1 ('Can I get a refund?'): topic is wrong, got 'maybe', expected on or off; "
            "write one of them (1 more wrong entry)",
            id="two-wrong-entries-are-counted",
        ),
        pytest.param(
            "",
            "holds no list of questions, got nothing, expected at least one entry that starts with "
            "`- question:`; docs/golden-set.md shows one",
            id="empty-file",
        ),
        pytest.param(
            "[]",
            "holds no list of questions, got [], expected at least one entry that starts with "
            "`- question:`; docs/golden-set.md shows one",
            id="empty-list",
        ),
        pytest.param(
            "questions: []",
            "holds no list of questions, got {'questions': []}, expected at least one entry that "
            "starts with `- question:`; docs/golden-set.md shows one",
            id="mapping-instead-of-list",
        ),
        pytest.param(
            "- question: a: b\n",
            "line 1, column 14: is not valid YAML, got: mapping values are not allowed here; "
            "expected a list of entries; check indentation and quotes there",
            id="syntax-error-names-its-line",
        ),
        pytest.param(
            "- question: [a\n",
            "line 2, column 1: is not valid YAML, got: expected ',' or ']', but got '<stream end>';"
            " expected a list of entries; check indentation and quotes there",
            id="list-that-is-never-closed",
        ),
        pytest.param(
            "- question: \x07\n",
            "is not valid YAML, got: special characters are not allowed; expected a list of "
            "entries; check indentation and quotes there",
            id="control-character",
        ),
        pytest.param(
            "- question: 2026-13-45\n",
            "is not valid YAML, got: month must be in 1..12; expected a list of entries; check "
            "indentation and quotes there",
            id="date-that-does-not-exist",
        ),
        pytest.param(
            "[" * 5_000,
            "is not valid YAML, got: lists nested too deeply; expected a list of entries; check "
            "indentation and quotes there",
            id="list-nested-5000-deep",
        ),
        pytest.param(
            b"- question: caf\xe9\n",
            "is not text, got byte 0xe9 at offset 15, expected YAML in UTF-8; save it as UTF-8",
            id="file-in-latin-1",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_one_line(
    tmp_path: Path, text: str | bytes, expected: str
) -> None:
    assert problem(write(tmp_path, text)) == expected


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    expected = "cannot be read, got no such file or directory, expected a YAML file; check the path"

    assert problem(tmp_path / "nowhere.yaml") == expected


def test_a_directory_is_refused(tmp_path: Path) -> None:
    expected = "cannot be read, got a directory, expected a YAML file; check the path"

    assert problem(tmp_path) == expected


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        pytest.param("on", "on", id="bare-on-is-a-boolean-in-yaml"),
        pytest.param("off", "off", id="bare-off-is-a-boolean-in-yaml"),
        pytest.param('"on"', "on", id="quoted-on"),
        pytest.param("'off'", "off", id="quoted-off"),
    ],
)
def test_topic_is_read_with_and_without_quotes(tmp_path: Path, label: str, expected: str) -> None:
    golden = load_golden(write(tmp_path, entry(topic=label, answers="[]")), IDS)

    assert golden.questions[0].topic == expected


def test_every_key_is_read(tmp_path: Path) -> None:
    text = GOOD + (
        "  rewrites: [refund rules]\n  standalone: Is a plan refunded?\n  phrasing: follow_up\n"
        "  history: [{question: Hi, reply: Hello}]\n  note: an example\n"
    )
    (read,) = load_golden(write(tmp_path, text), IDS)

    assert read.model_dump() == {
        "question": "Can I get a refund?",
        "topic": "on",
        "answers": ("refunds",),
        "rewrites": ("refund rules",),
        "history": ({"question": "Hi", "reply": "Hello"},),
        "standalone": "Is a plan refunded?",
        "phrasing": "follow_up",
        "note": "an example",
    }


def test_the_example_of_the_docs_is_a_golden_set(tmp_path: Path) -> None:
    docs = Path(__file__).parents[2] / "docs" / "golden-set.md"
    example, _ = re.findall(r"```yaml\n(.*?)```", docs.read_text(encoding="utf-8"), re.DOTALL)
    golden = load_golden(write(tmp_path, example), IDS)

    assert [(e.topic, len(e.rewrites), len(e.history)) for e in golden] == [
        ("on", 2, 0),
        ("on", 0, 1),
        ("off", 0, 0),
    ]


def make_set() -> GoldenSet:
    first = GoldenQuestion(
        question="What's up?", topic="on", answers=("sla",), rewrites=("one", "two")
    )
    second = GoldenQuestion(question="And then?", standalone="What then?", topic="off", answers=())
    return GoldenSet(Path("g.yaml"), (first, second))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("What's up?", 0, id="the-question"),
        pytest.param("  WHAT’S   up?\n", 0, id="case-blanks-and-apostrophes-do-not-matter"),
        pytest.param("two", 0, id="a-rewrite"),
        pytest.param("And then?", 1, id="a-follow-up-as-asked"),
        pytest.param("What then?", 1, id="a-follow-up-standalone"),
    ],
)
def test_find(text: str, expected: int) -> None:
    golden = make_set()

    assert golden.find(text) is golden.questions[expected]


def test_find_refuses_any_other_question() -> None:
    with pytest.raises(UnknownGoldenQuestionError) as raised:
        make_set().find("Why? " * 30)

    assert raised.value.code == "unknown_golden_question"
    assert str(raised.value) == (
        f"unknown golden question: got '{('Why? ' * 12)[:59]}…', expected a question or rewrite of "
        "g.yaml, the only ones that the golden model knows. Use --model local for other questions, "
        "or add this one to the golden set."
    )


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("What's up?", "one", id="first-rewrite-follows-the-question"),
        pytest.param("one", "two", id="next-one-follows"),
        pytest.param("two", "two", id="last-one-is-repeated"),
        pytest.param("of another's making", "one", id="foreign-query-counts-as-the-question"),
    ],
)
def test_rewrite_after(query: str, expected: str) -> None:
    assert make_set().questions[0].rewrite_after(query) == expected


def test_without_rewrites_the_question_is_repeated() -> None:
    assert make_set().questions[1].rewrite_after("What then?") == "What then?"


def test_our_own_set_has_its_five_questions_in_order() -> None:
    ids = ["export", "cancel", "sla", "refunds"]
    golden = load_golden(GOLDEN_FILE, ids)

    assert [(e.question, e.topic, e.answers) for e in golden] == [
        ("Can I export my data after I cancel my plan?", "on", ("export", "cancel")),
        ("Do you offer a student discount?", "on", ()),
        ("What happens if my server goes down?", "on", ("sla",)),
        ("What's the weather like today?", "off", ()),
        ("Do I get reimbursed when I close my account?", "on", ("refunds",)),
    ]
    assert golden.questions[2].rewrites == (
        "What happens when my server is unavailable?",
        "Larkspur outage availability guarantee and incident updates",
    )


def test_our_own_unanswerable_questions_have_rewrites_up_to_bound_5() -> None:
    golden = load_golden(GOLDEN_FILE, ["export", "cancel", "sla", "refunds"])

    assert [len(e.rewrites) for e in golden if not e.answers] == [5, 5]
