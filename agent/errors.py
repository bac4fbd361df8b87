"""Errors of the agent: what was wrong, what was got, what was expected, what to do next.

The class-level `code` names the kind of error in every channel (span, metric, HTTP body).

    AgentError                agent_error
    ├── UnknownModelError     unknown_model    no such model or provider
    ├── ModelPackageError     model_package    the provider's package is not installed
    ├── ModelSettingsError    model_settings   the provider rejects its settings, say no key
    ├── ModelRequestError     model_request    an in-process model got something that is no task
    ├── InvalidQuestionError  invalid_question the question is empty, too long, or not text
    ├── RecursionLimitTooLowError  recursion_limit_too_low  the bound's longest turn does not fit
    ├── RetrieverError        retriever_error  the retriever raised
    ├── TurnTimeoutError      timeout          the turn took longer than it may
    ├── FallbackError         fallback         the second source cannot be loaded
    ├── SettingsError         settings         a setting is out of its range or unknown
    ├── FaultError            fault            no such fault, or a share it cannot have
    ├── ServeError            serve            the address cannot be listened on
    ├── WorkersError          workers          the processes of a service keep ending
    ├── DemoError             demo             a part of the demo does not run
    ├── MixFileError          mix_file         a traffic mix cannot be read or an entry is wrong
    ├── TargetError           target           what traffic asks is no service of ours
    ├── GoldenFileError       golden_file      a golden set cannot be read or an entry is wrong
    ├── NoGoldenSetError      no_golden_set    own documents without a golden set of their own
    ├── KeptRunError          kept_run         a kept run of the lab is not there or cannot be read
    ├── UnknownGoldenQuestionError  unknown_golden_question  not in the golden model's set
    ├── CorpusNotFoundError   corpus_not_found the folder of documents is no folder
    ├── EmptyCorpusError      empty_corpus     no document holds a word to search for
    ├── DuplicateChunkError   duplicate_chunk  two chunks claim the same id
    ├── IndexFileError        index_file       a saved index cannot be read or written
    ├── FileBesideError       file_beside      a file beside the turn records, in agent/beside.py
    │   └── ForeignFileError  foreign_file     that file is damaged, or not one of ours
    ├── RequestError and its kinds, in agent/http/errors.py
    └── InvalidThreadError, ConversationBusyError, MemoryUnavailableError  in agent/memory/errors.py
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar


class AgentError(Exception):
    """Anything the agent reports about its own input or configuration; never a model's failure."""

    code: ClassVar[str] = "agent_error"
    exit_code: ClassVar[int] = 2
    """What the command line exits with: 2 for wrong usage, 1 for what failed all the same."""


class UnknownModelError(AgentError):
    """A name that is neither a model of ours nor `provider:model` with a known provider."""

    code = "unknown_model"

    def __init__(self, name: str, problem: str, known: Iterable[str]) -> None:
        self.name = name
        super().__init__(
            f"unknown model: {problem}, got {name!r}, "
            f"expected {', '.join(map(repr, sorted(known)))} or "
            "'PROVIDER:MODEL' with a provider of LangChain, such as 'openai:gpt-4.1-mini'. "
            "Choose one with --model, for example --model local."
        )


class ModelPackageError(AgentError):
    """The LangChain package of a provider is not installed."""

    code = "model_package"
    exit_code = 1

    def __init__(self, name: str, package: str) -> None:
        self.package = package
        super().__init__(
            f"model {name!r} needs a package: got no {package!r} in this environment, expected it "
            f"installed. Run `pip install {package}`, or use --model local, which needs none."
        )


class ModelSettingsError(AgentError):
    """A provider's client cannot be built from the settings, most often for want of a key."""

    code = "model_settings"
    exit_code = 1

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(
            f"model {name!r} cannot be set up: {problem.rstrip('.')}. "
            "Expected the key and settings that this provider's LangChain package asks for; set "
            "them in its own environment variables and try again, or use --model local, which "
            "needs no key."
        )


class ModelRequestError(AgentError):
    """An in-process model was asked something that is not one of the agent's jobs."""

    code = "model_request"

    def __init__(self, model: str, problem: str) -> None:
        super().__init__(
            f"model {model!r} cannot read its request: {problem}; expected a last human message "
            'that is a JSON object with a "task". Call it through agent.models.support, or use '
            "a 'PROVIDER:MODEL' for free chat."
        )


class InvalidQuestionError(AgentError):
    """A question that is no text a person could have asked."""

    code = "invalid_question"

    def __init__(self, problem: str, max_chars: int) -> None:
        super().__init__(
            f"the question cannot be asked: {problem}; expected 1 to {max_chars:,} characters of "
            "text. Shorten or retype it and ask again."
        )


class RecursionLimitTooLowError(AgentError):
    """A recursion limit under which a legitimate turn would be cut off."""

    code = "recursion_limit_too_low"

    def __init__(self, wanted: int, smallest: int, max_rewrites: int) -> None:
        super().__init__(
            f"recursion limit too low: got {wanted}, expected at least {smallest}, since a turn "
            f"with {max_rewrites} rewrites takes {smallest - 1} steps. Raise the limit to "
            f"{smallest}, or lower the number of rewrites."
        )


class RetrieverError(AgentError):
    """The retriever raised; its own message is kept off the text, since it may quote the query."""

    code = "retriever_error"
    exit_code = 1

    def __init__(self, cause: Exception) -> None:
        super().__init__(
            f"the retriever failed with {type(cause).__name__}. Check that the index or the search "
            "service behind it can be reached; the cause is attached to this error."
        )


class TurnTimeoutError(AgentError):
    """The turn was still waiting, for a model, a retriever or the memory, when its time was up."""

    code = "timeout"
    exit_code = 1

    def __init__(self) -> None:
        super().__init__(
            "the turn took too long: got no reply in time, expected one within its limit. Ask "
            "again, or raise LOOPSCOPE_TURN_TIMEOUT_SECONDS when models are slow."
        )


class FallbackError(AgentError):
    """The second source that a setting names is no retriever that can be used."""

    code = "fallback"

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(
            f"second source {name!r} cannot be used: {problem}; expected 'module:attribute' of a "
            "LangChain retriever, or of something that makes one when called. Correct "
            "LOOPSCOPE_FALLBACK, and put its module where Python finds it (PYTHONPATH)."
        )


class SettingsError(AgentError):
    """A setting with a value it cannot have, from an option or a `LOOPSCOPE_*` variable."""

    code = "settings"

    def __init__(self, problems: Iterable[str]) -> None:
        super().__init__(
            f"settings refused: {'; '.join(problems)}. "
            "Correct the option or the LOOPSCOPE_* variable of that name and run again."
        )


class FaultError(AgentError):
    """A fault that does not exist, or that cannot be injected like this."""

    code = "fault"

    def __init__(self, problem: str, fix: str) -> None:
        super().__init__(f"no such fault: {problem}. {fix}")


class ServeError(AgentError):
    """The service cannot listen where it was told to."""

    code = "serve"
    exit_code = 1

    def __init__(self, host: str, port: int, problem: str) -> None:
        super().__init__(
            f"cannot serve at {host}:{port}: {problem}; expected an address of this machine with a "
            "free port. Choose another with --host and --port; --port 0 takes a free one."
        )


class WorkersError(AgentError):
    """The processes that should serve ended soon after their start, again and again."""

    code = "workers"
    exit_code = 1

    def __init__(self) -> None:
        super().__init__(
            "the service has stopped: got workers that ended soon after their start, expected "
            "processes that stay. Each has said above why; `loopscope serve --workers 1` shows it "
            "alone."
        )


class DemoError(AgentError):
    """A server that the demo started does not run as it should."""

    code = "demo"
    exit_code = 1

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"the demo cannot go on: {problem}; expected every part to start within a minute. "
            "Look at the logs it names, and try again on a less busy machine."
        )


class MixFileError(AgentError):
    """A traffic mix that cannot be used."""

    code = "mix_file"

    def __init__(self, path: Path, problem: str) -> None:
        self.path = path
        super().__init__(
            f"traffic mix {path}: {problem}. Correct it there; docs/traffic.md shows a mix."
        )


class TargetError(AgentError):
    """The address that traffic was given is not one of a running service."""

    code = "target"
    exit_code = 1

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(
            f"no service to ask at {url!r}: {problem}; expected the base address of a running "
            "`loopscope serve`, such as http://127.0.0.1:8000. Start it, or correct --url."
        )


class GoldenFileError(AgentError):
    """A golden set that cannot be used; says the first problem and how many more there are."""

    code = "golden_file"

    def __init__(self, path: Path, problem: str, *, others: int = 0) -> None:
        self.path = path
        self.others = others
        more = f" ({others} more wrong {'entry' if others == 1 else 'entries'})" if others else ""
        super().__init__(f"golden set {path}: {problem}{more}.")


class NoGoldenSetError(AgentError):
    """Own documents without a golden set: ours asks about the handbook alone."""

    code = "no_golden_set"

    def __init__(self) -> None:
        super().__init__(
            "no golden set for these documents: got none, and ours asks about the handbook of "
            "Larkspur; expected a YAML file of questions with their answer chunks. Write one as "
            "docs/golden-set.md shows and give it with --golden FILE."
        )


class KeptRunError(AgentError):
    """A kept run of the lab is not there, or what was named is none."""

    code = "kept_run"
    exit_code = 4
    """As in `loopscope compare`: 1 would mean worse."""

    def __init__(self, source: str, got: str, fix: str) -> None:
        super().__init__(f"run {source}: got {got}, expected a run of the lab that was kept. {fix}")


class UnknownGoldenQuestionError(AgentError):
    """The golden model was asked something that is not in its golden set."""

    code = "unknown_golden_question"

    def __init__(self, question: str, path: Path) -> None:
        super().__init__(
            f"unknown golden question: got {_cut(question)!r}, expected a question or rewrite of "
            f"{path}, the only ones that the golden model knows. "
            "Use --model local for other questions, or add this one to the golden set."
        )


def _cut(text: str, chars: int = 60) -> str:
    """Shorten a user's text for a message."""
    return text if len(text) <= chars else text[: chars - 1] + "…"


class CorpusNotFoundError(AgentError):
    """The documents' path is not a folder that can be read."""

    code = "corpus_not_found"

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(
            f"documents not found: got {str(path)!r}, which {problem}; expected a folder of "
            "markdown (.md) and text (.txt) files. Check the path."
        )


class EmptyCorpusError(AgentError):
    """The documents hold nothing that could be searched; without words there is no index."""

    code = "empty_corpus"

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(
            f"nothing to search in {source}: got {problem}, expected at least one markdown or "
            "text file with a word that is not a function word. Add documents or choose another "
            "folder."
        )


class DuplicateChunkError(AgentError):
    """Two chunks claim one id, so a citation would not tell which is meant."""

    code = "duplicate_chunk"

    def __init__(self, id_: str, first: str, second: str) -> None:
        super().__init__(
            f"chunk id used twice: got {id_!r} in {first} and in {second}, expected each id once. "
            f"Rename one of the two anchors {{#{id_}}}."
        )


class IndexFileError(AgentError):
    """A saved index is missing, damaged, of another format, or cannot be written."""

    code = "index_file"

    def __init__(self, path: Path, problem: str, expected: str) -> None:
        super().__init__(
            f"index file {str(path)!r} cannot be used: {problem}, expected {expected}. "
            "Build it with `loopscope index DIR`."
        )
