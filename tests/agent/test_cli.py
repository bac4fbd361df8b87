"""The command line as a user meets it; most of it in this process, a few runs as a real one."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agent.cli import COMMANDS, main
from agent.commands.options import load_settings

WEATHER = "What's the weather like today?"
DISCOUNT = "Do you offer a student discount?"
PAYMENTS = "Which payment methods do you take?"
COMMAND = [sys.executable, "-c", "from agent.cli import main; main(prog_name='loopscope')"]

Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command with no variable of ours set but the given ones."""
    for name in [name for name in os.environ if name.startswith(("LOOPSCOPE_", "OPENAI_"))]:
        monkeypatch.delenv(name)

    def invoke(*arguments: str, charset: str = "utf-8", **options: Any) -> Result:
        return CliRunner(charset=charset).invoke(main, arguments, **options)

    return invoke


@pytest.fixture
def password_page(tmp_path: Path) -> Path:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "page.md").write_text("# Passwords\n\nReset your password in the account page.\n")
    return folder


def refusal(result: Result, exit_code: int = 2) -> str:
    """Return the one line that a refused command prints, after a look at everything else."""
    assert (result.exit_code, result.stdout) == (exit_code, "")
    assert isinstance(result.exception, SystemExit)
    return result.stderr.splitlines()[-1]


def objects(result: Result) -> list[dict[str, Any]]:
    """Return the objects on standard output, of which there is exactly one a line."""
    *lines, rest = result.stdout.split("\n")
    assert rest == ""
    return [json.loads(line, parse_constant=pytest.fail) for line in lines]


def kinds(answer: dict[str, Any]) -> dict[str, str]:
    return {key: type(value).__name__ for key, value in answer.items()}


# --- ask ---


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        pytest.param("", "it is empty", id="empty"),
        pytest.param(" \n\t", "it is empty", id="blanks"),
        pytest.param("\u200b\ufeff\u202e", "it is empty", id="nothing-that-shows"),
        pytest.param("x" * 100_000, "it has 100,000 characters", id="100,000-characters"),
        pytest.param("a\ud83d", "it holds half of a surrogate pair", id="lone-surrogate"),
        pytest.param("caf\udce9", "it holds bytes that are not UTF-8", id="latin-1-bytes"),
        pytest.param("a\0b", "it holds control characters", id="binary"),
        pytest.param("\x1b[31mred", "it holds control characters", id="terminal-sequence"),
    ],
)
@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_what_is_no_question_is_refused_in_one_line(
    run: Run, question: str, problem: str, options: tuple[str, ...]
) -> None:
    result = run("ask", question, *options)

    assert refusal(result).startswith(f"error: the question cannot be asked: {problem}")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param((), id="neither-question-nor-file"),
        pytest.param((WEATHER, "--file", "-"), id="both"),
        pytest.param(("--file", "no/such/file"), id="no-such-file"),
        pytest.param(("--file", "."), id="a-folder-as-file"),
    ],
)
def test_ask_without_one_source_of_questions_is_wrong_usage(
    run: Run, arguments: tuple[str, ...]
) -> None:
    assert refusal(run("ask", *arguments)).startswith("Error: ")


@pytest.mark.parametrize(
    ("options", "outcome", "calls"),
    [
        pytest.param((), "off_topic", 1, id="refused-by-the-topic-check"),
        pytest.param(("--no-topic-check",), "no_results", 8, id="a-full-loop-without-it"),
    ],
)
def test_the_weather_costs_what_the_published_table_says(
    run: Run, options: tuple[str, ...], outcome: str, calls: int
) -> None:
    (answer,) = objects(run("ask", WEATHER, "--model", "golden", "--json", *options))

    assert (answer["outcome"], answer["llm_calls"]) == (outcome, calls)


def test_the_json_of_an_answer_has_the_promised_keys_and_types(run: Run) -> None:
    result = run("ask", DISCOUNT, "--model", "golden", "--json")

    (answer,) = objects(result)
    assert (result.exit_code, result.stderr) == (0, "")
    assert kinds(answer) == {
        "question": "str", "outcome": "str", "reason": "str", "reply": "str", "citations": "list",
        "topic": "dict", "rewrites": "int", "retrievals": "int", "llm_calls": "int",
        "attempts": "list", "trace_id": "NoneType", "duration_seconds": "float",
    }  # fmt: skip
    assert kinds(answer["topic"]) == {"classification": "str", "confidence": "str"}
    first, second, _ = answer["attempts"]
    assert kinds(first) == {
        "query": "str", "chunks": "list", "similarity": "NoneType", "synonym_swap": "bool",
    }  # fmt: skip
    assert kinds(first["chunks"][0]) == {"id": "str", "score": "float", "passed": "bool"}
    assert second["synonym_swap"] is False


def test_a_file_gives_one_object_a_line_in_order_also_for_lines_that_fail(
    run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "questions.txt"
    lines = [WEATHER.encode(), b"", b"\xff\xfe\0", b"never heard of", b"x" * 9000, WEATHER.encode()]
    file.write_bytes(b"\n".join(lines))

    result = run("ask", "--file", str(file), "--model", "golden", "--json")

    answers = objects(result)
    assert [(answer["outcome"], answer["reason"]) for answer in answers] == [
        ("off_topic", "classified_irrelevant"),
        ("error", "invalid_question"),
        ("error", "invalid_question"),
        ("error", "unknown_golden_question"),
        ("error", "invalid_question"),
        ("off_topic", "classified_irrelevant"),
    ]
    assert len({tuple(answer) for answer in answers}) == 1
    assert result.exit_code == 1
    assert [line.split(":")[1] for line in result.stderr.splitlines()] == [
        " line 2", " line 3", " line 4", " line 5",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\xef\xbb\xbf%s\r\n%s\r\n", id="byte-order-mark-and-windows-line-ends"),
        pytest.param(b"%s\n%s", id="no-line-end-at-the-end"),
        pytest.param(b"%s\r%s\r", id="old-mac-line-ends"),
    ],
)
def test_line_ends_and_a_byte_order_mark_are_no_part_of_a_question(run: Run, data: bytes) -> None:
    piped = data % (WEATHER.encode(), DISCOUNT.encode())

    answers = objects(run("ask", "--file", "-", "--model", "golden", "--json", input=piped))

    assert [answer["question"] for answer in answers] == [WEATHER, DISCOUNT]


def test_json_is_one_line_for_every_reader_of_lines(run: Run) -> None:
    question = "where\u2028is the caf\u00e9\x85?"

    result = run("ask", "--file", "-", "--model", "golden", "--json", input=question)

    assert len(result.stdout.splitlines()) == 1
    assert result.stdout.isascii()
    assert objects(result)[0]["question"] == question


def test_text_that_the_terminal_cannot_show_is_printed_all_the_same(run: Run) -> None:
    question = b"Is a caf\xc3\xa9 refund possible \xe2\x80\x94 please?"

    result = run("ask", "--file", "-", "--model", "golden", input=question, charset="ascii")

    assert (result.exit_code, type(result.exception)) == (1, SystemExit)
    assert "got 'Is a caf? refund possible ? please?'" in result.stdout


def test_a_reply_cannot_steer_the_terminal(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Colours\n\nRed is \x1b[31mred\x1b[0m, and \x9b1m bold.\n")
    golden = tmp_path / "golden.yaml"
    golden.write_text("- {question: colours, topic: on, answers: ['a#colours']}\n")

    result = run(
        "ask", "colours", "--docs", str(tmp_path), "--model", "golden", "--golden", str(golden)
    )

    assert "Red is \ufffd[31mred" in result.stdout
    assert not {"\x1b", "\x9b"} & set(result.stdout)


def test_the_local_model_cites_its_chunk_and_takes_a_word_of_8000_letters(run: Run) -> None:
    asked = f"{PAYMENTS}\n{'a' * 8_000}\n"

    known, unknown = objects(run("ask", "--file", "-", "--json", input=asked))

    assert (known["outcome"], known["citations"]) == ("answered", ["payments"])
    assert unknown["outcome"] in {"off_topic", "no_results"}


# --- settings ---


@pytest.mark.parametrize(
    ("options", "env", "problem"),
    [
        pytest.param(("--k", "0"), {}, "k got 0, expected: greater than or equal to 1", id="k"),
        pytest.param(
            ("--min-score", "nan"), {}, "min_score got nan, expected: less than", id="not-a-number"
        ),
        pytest.param(
            (), {"LOOPSCOPE_MAX_REWRITES": "many"}, "max_rewrites got 'many', expected: a valid",
            id="variable-of-another-type",
        ),
        pytest.param(("--docs", ""), {}, "docs got '', expected: a path", id="blank-path"),
        pytest.param(
            (), {"LOOPSCOPE_RECORDS": " "}, "records got ' ', expected: a path", id="blank-records"
        ),
        pytest.param(
            (), {"LOOPSCOPE_BASE_URL": "localhost:8080/v1"},
            "base_url got 'localhost:8080/v1', expected: ", id="an-address-that-is-no-url",
        ),
        pytest.param(
            (), {"LOOPSCOPE_SECOND_BASE_URL": "ftp://x"},
            "second_base_url got 'ftp://x', expected: ", id="a-second-address-of-another-scheme",
        ),
        pytest.param(
            ("--docs", "a", "--index", "b"), {}, "docs and index got 'a' and 'b', expected: only",
            id="two-sources-of-documents",
        ),
    ],
)  # fmt: skip
def test_a_setting_out_of_range_is_refused_with_its_name(
    run: Run, options: tuple[str, ...], env: dict[str, str], problem: str
) -> None:
    assert f"settings refused: {problem}" in refusal(run("ask", WEATHER, *options, env=env))


def test_an_empty_variable_is_one_that_is_not_set(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = {"LOOPSCOPE_DOCS": "", "LOOPSCOPE_K": "", "LOOPSCOPE_MODEL": ""}

    result = run("ask", WEATHER, "--model", "golden", "--json", env=empty)

    assert objects(result)[0]["outcome"] == "off_topic"


@pytest.mark.parametrize(
    ("given", "variable", "other"),
    [
        pytest.param("docs", "LOOPSCOPE_INDEX", "index", id="folder-over-index-variable"),
        pytest.param("index", "LOOPSCOPE_DOCS", "docs", id="index-over-folder-variable"),
    ],
)
def test_an_option_takes_the_place_of_a_variable_for_the_other_source(
    monkeypatch: pytest.MonkeyPatch, given: str, variable: str, other: str
) -> None:
    monkeypatch.setenv(variable, "/no/such/place")

    settings = load_settings(**{given: "mine"})

    assert getattr(settings, given) == Path("mine")
    assert getattr(settings, other) is None


@pytest.mark.parametrize(
    ("model", "exit_code", "problem"),
    [
        pytest.param("", 2, "unknown model: no such model, got ''", id="no-name"),
        pytest.param("nobody:gpt", 2, "unknown model: no such provider", id="no-such-provider"),
        pytest.param("openai:gpt-x", 1, "'openai:gpt-x' cannot be set up: Missing", id="no-key"),
    ],
)
def test_a_model_that_cannot_be_had_is_refused(
    run: Run, model: str, exit_code: int, problem: str
) -> None:
    assert problem in refusal(run("ask", WEATHER, "--model", model), exit_code)


@pytest.mark.parametrize(
    ("options", "said", "left"),
    [
        pytest.param((), "LANGSMITH_TRACING is set: questions, documents", "true", id="told-of"),
        pytest.param(("--local-only",), "", "false", id="switched-off"),
    ],
)
def test_a_tracer_of_others_is_told_of_or_switched_off(
    run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
    options: tuple[str, ...], said: str, left: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("LANGSMITH_TRACING", "true")

    refusal(run("ask", "never heard of", "--model", "golden", "--docs", "/no/such", *options))

    assert "\n".join(caplog.messages).startswith(said)
    assert len(caplog.messages) == bool(said)
    assert os.environ["LANGSMITH_TRACING"] == left


# --- own documents ---


def test_own_documents_are_indexed_and_asked(run: Run, password_page: Path, tmp_path: Path) -> None:
    index = tmp_path / "new folder" / "own.index"
    (password_page / "photo.md").write_bytes(b"\0\1")

    golden = tmp_path / "golden.yaml"
    golden.write_text("- {question: 'password?', topic: on, answers: ['page#passwords']}\n")

    built = run("index", str(password_page), "--out", str(index), "--json")
    asked = run(
        "ask", "password?", "--index", str(index), "--model", "golden", "--golden", str(golden),
        "--json",
    )  # fmt: skip

    (report,) = objects(built)
    assert (report["n_chunks"], report["path"], built.stderr) == (1, str(index), "")
    assert report["skipped"] == [{"path": "photo.md", "reason": "binary content"}]
    assert objects(asked)[0]["citations"] == ["page#passwords"]


def test_an_index_never_takes_the_place_of_a_device_or_pipe(
    run: Run, password_page: Path, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    assert "got a device or a pipe" in refusal(run("index", str(password_page), "--out", str(pipe)))
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param(("index", "{empty}"), "nothing to search in", id="empty-folder"),
        pytest.param(("index", "{nowhere}"), "which does not exist", id="no-such-folder"),
        pytest.param(("index", "{pages}", "--out", "{pages}"), "got a folder", id="out-is-folder"),
        pytest.param(("ask", "a?", "--docs", "{empty}"), "nothing to search in", id="empty-docs"),
        pytest.param(("ask", "a?", "--index", "{nowhere}"), "No such file", id="no-such-index"),
        pytest.param(("ask", "a?", "--index", "{pages}/page.md"), "is damaged or", id="no-index"),
        pytest.param(("lab", "--docs", "{pages}"), "no golden set for these", id="lab-own-docs"),
        pytest.param(
            ("ask", "a?", "--model", "golden", "--docs", "{pages}"), "no golden set for these",
            id="golden-own-docs",
        ),
        pytest.param(
            ("lab", "--golden", "{pages}/golden.yaml"), "unknown chunk id in answers, got 'nope'",
            id="golden-with-a-wrong-id",
        ),
    ],
)  # fmt: skip
def test_documents_that_cannot_be_used_are_refused(
    run: Run, password_page: Path, tmp_path: Path, arguments: tuple[str, ...], problem: str
) -> None:
    (tmp_path / "empty").mkdir()
    golden = "- {question: 'How?', topic: on, answers: [nope]}\n"
    (password_page / "golden.yaml").write_text(golden)
    places = {name: tmp_path / name for name in ("empty", "nowhere", "pages")}

    result = run(*(argument.format(**places) for argument in arguments))

    assert problem in refusal(result)
    assert result.stderr.count("\n") == 1


# --- lab ---


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        pytest.param(("--max-rewrites", "1"), "the lab varies max rewrites itself", id="bound"),
        pytest.param(("--no-topic-check",), "the lab varies topic check itself", id="topic-check"),
        pytest.param(("--max-bound", "1"), "1 is not in the range", id="bound-too-small-to-choose"),
    ],
)
def test_the_lab_refuses_what_it_could_only_ignore(
    run: Run, option: tuple[str, ...], problem: str
) -> None:
    assert problem in refusal(run("lab", *option))


def test_the_help_of_the_lab_offers_only_what_it_takes(run: Run) -> None:
    text = run("lab", "--help").stdout

    refused = ("--max-rewrites", "--topic-check", "--router-order")
    assert [option for option in refused if option in text] == []
    assert "--golden FILE" in text
    assert "--records PATH|URL|off" in text  # --keep keeps the run beside them


@pytest.fixture
def two_questions(tmp_path: Path) -> Path:
    """A golden set of which the local model refuses the second, an on-topic question."""
    file = tmp_path / "golden.yaml"
    file.write_text(
        "- {question: 'Which payment methods do you take?', topic: on, answers: [payments]}\n"
        "- {question: 'What is the tallest mountain?', topic: on, answers: [], phrasing: odd}\n"
    )
    return file


def test_a_refused_on_topic_question_fails_the_lab_apart_from_what_was_not_found(
    run: Run, two_questions: Path
) -> None:
    result = run(
        "lab", "--golden", str(two_questions), "--model", "local", "--json",
        "--max-false-rejections", "0",
    )  # fmt: skip

    figures = json.loads(result.stdout)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert result.stderr.startswith("error: 1 on-topic questions were refused, expected at most 0")
    assert figures["more"]["guardrail_false_rejections"] == [
        {"question": "What is the tallest mountain?", "phrasing": "odd"}
    ]
    assert {row["no_results"] for row in figures["table3_golden_set_by_bound"]} == {0}


def test_a_model_that_cannot_be_reached_fails_the_lab_with_its_report_printed(
    run: Run, two_questions: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"  # of nobody in a moment
    result = run(
        "lab", "--golden", str(two_questions), "--model", "openai:x", "--base-url", address,
        "--json", env={"OPENAI_API_KEY": "none"},
    )  # fmt: skip

    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith("error: 8 turns failed, expected none")
    assert len(json.loads(result.stdout)["more"]["failed"]) == 8


# --- the surroundings ---


def test_every_command_says_what_it_does(run: Run) -> None:
    overview = run("--help").stdout

    assert re.findall(r"^  (\w+)  +\w.*\.$", overview, re.MULTILINE) == sorted(COMMANDS)
    assert all(run(name, "--help").stdout.startswith("Usage: ") for name in COMMANDS)
    assert refusal(run("no-such-command")).startswith("Error: No such command")


class Failing(io.StringIO):
    """A standard output that the system refuses to write to."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.error = OSError(number, os.strerror(number))

    def write(self, text: str) -> int:
        raise self.error


@pytest.mark.parametrize(
    ("number", "said"),
    [
        pytest.param(
            errno.ENOSPC, "error: cannot read or write: got 'No space left on device'; "
            "check the path, its rights and the disk.\n", id="full-disk-in-one-line",
        ),
        pytest.param(errno.EPIPE, "", id="reader-that-has-seen-enough-without-a-word"),
    ],
)  # fmt: skip
def test_output_that_cannot_be_written_ends_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int, said: str
) -> None:
    monkeypatch.setattr(sys, "stdout", Failing(number))

    with pytest.raises(SystemExit) as ended:
        main(["ask", WEATHER, "--model", "golden", "--json"])

    assert (ended.value.code, capsys.readouterr().err) == (1, said)


def test_closed_streams_are_empty_ones(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)

    with pytest.raises(SystemExit) as ended:
        main(["ask", "--file", "-", "--model", "golden"])

    opened = [sys.stdin, sys.stdout, sys.stderr]
    monkeypatch.undo()
    for stream in opened:
        stream.close()
    assert ended.value.code == 0


Process = subprocess.Popen[str]


@pytest.fixture
def process() -> Iterator[Callable[..., Process]]:
    """Start a command as a process of its own, with pipes."""
    outside = {key: value for key, value in os.environ.items() if not key.startswith("LOOPSCOPE_")}
    with ExitStack() as stack:

        def start(*arguments: str, **env: str) -> Process:
            pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
            started = subprocess.Popen(
                [*COMMAND, *arguments], env={**outside, **env}, text=True, **pipes
            )
            stack.callback(started.kill)
            return stack.enter_context(started)

        yield start


def exchange(asking: Process, *questions: str) -> list[dict[str, Any]]:
    """Send questions and read as many answers."""
    assert asking.stdin is not None and asking.stdout is not None
    asking.stdin.write("".join(f"{question}\n" for question in questions))
    asking.stdin.flush()
    return [json.loads(asking.stdout.readline()) for _ in questions]


def test_another_process_gives_the_same_answers_and_ends_at_ctrl_c_without_a_traceback(
    process: Callable[..., Process], run: Run
) -> None:
    asking = process("ask", "--file", "-", "--json", PYTHONHASHSEED="7")
    there = exchange(asking, PAYMENTS, DISCOUNT)
    asking.send_signal(signal.SIGINT)
    _, said = asking.communicate(timeout=120)
    here = objects(run("ask", "--file", "-", "--json", input=f"{PAYMENTS}\n{DISCOUNT}\n"))

    for answer in (*there, *here):
        del answer["duration_seconds"]
    assert there == here
    assert (asking.returncode, said.strip()) == (1, "Aborted!")
