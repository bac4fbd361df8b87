"""The Dockerfile and what it builds from, checked by reading: no engine runs here."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from dashboards.stack import parts

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
INSTRUCTIONS = [
    (line.split(None, 1)[0], line.split(None, 1)[1])
    for line in re.sub(r"\\\n\s*", "", re.sub(r"(?m)^#.*\n", "", TEXT)).splitlines()
    if line
]
LAST_STAGE = INSTRUCTIONS[max(at for at, (name, _) in enumerate(INSTRUCTIONS) if name == "FROM") :]
ARGS = dict(value.split("=", 1) for name, value in INSTRUCTIONS if name == "ARG")
PIN = re.compile(r"^([a-z0-9-]+)==(\S+)", re.MULTILINE)


def filled(value: str) -> str:
    return re.sub(r"\$\{(\w+)\}", lambda found: ARGS[found[1]], value)


def only(name: str) -> str:
    (value,) = [value for kind, value in LAST_STAGE if kind == name]
    return filled(value)


def copied() -> list[str]:
    """Return what is copied out of the build context."""
    return [
        source
        for name, value in INSTRUCTIONS
        if name == "COPY" and not value.startswith("--from")
        for source in value.split()[:-1]
    ]


def test_base_is_pinned_to_an_exact_python_3_11() -> None:
    bases = [filled(value).split()[0] for name, value in INSTRUCTIONS if name == "FROM"]

    assert len(bases) == 2
    assert all(re.fullmatch(r"python:3\.11\.\d+-slim-bookworm", base) for base in bases)


def test_runs_as_the_user_of_the_parts_who_is_not_root() -> None:
    assert only("USER") == parts.LOOPSCOPE_USER
    assert not parts.LOOPSCOPE_USER.startswith("0:")


def test_version_of_the_image_is_that_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert f"{project['name']}:{project['version']}" == parts.LOOPSCOPE_IMAGE


def test_one_process_gets_the_signal_to_stop() -> None:
    port = str(parts.PARTS["agent"].port)

    assert json.loads(only("ENTRYPOINT")) == ["loopscope"]  # a list: no shell in between
    assert json.loads(only("CMD")) == ["serve", "--host", "0.0.0.0", "--port", port]
    assert only("STOPSIGNAL") == "SIGTERM"
    assert only("EXPOSE") == port


def test_health_check_asks_the_agent_with_the_images_python() -> None:
    command = json.loads(only("HEALTHCHECK").partition("CMD ")[2])

    assert command[:2] == ["python", "-c"]
    assert f"'127.0.0.1', {parts.PARTS['agent'].port}" in command[2]
    assert "'/healthz'" in command[2]
    compile(command[2], "health check", "exec")


def test_every_download_is_checked_by_its_hash() -> None:
    installs = [
        json.loads(value) for name, value in INSTRUCTIONS if name == "RUN" and '"install"' in value
    ]
    locked, own = installs

    assert "--require-hashes" in locked
    assert locked[-2:] == ["-r", "requirements-runtime.lock"]
    assert {"--no-deps", "--no-build-isolation"} < set(own)


def test_no_address_and_no_secret_is_in_it() -> None:
    assert "://" not in TEXT
    assert not [name for name, _ in INSTRUCTIONS if name == "ADD"]
    assert not re.search(r"(?i)password|token|secret|api_key|index", TEXT)


def test_context_holds_what_is_copied_and_nothing_else() -> None:
    rules = (ROOT / ".dockerignore").read_text().split("\n")
    allowed = [rule[1:] for rule in rules if rule.startswith("!")]

    assert next(rule for rule in rules if rule and rule[0] not in "#!") == "*"
    assert sorted(allowed) == sorted(copied())
    assert all((ROOT / source).exists() for source in copied())


@pytest.mark.parametrize("package", ["agent", "telemetry", "dashboards"])
def test_every_package_is_copied(package: str) -> None:
    assert package in copied()


def test_folder_that_is_written_to_is_the_volume_and_belongs_to_the_user() -> None:
    (made,) = [filled(value) for name, value in LAST_STAGE if name == "RUN"]
    uid = parts.LOOPSCOPE_USER.partition(":")[0]
    install = shlex.split(made.rpartition("&&")[2])

    assert install == [
        "install", "--directory", f"--owner={uid}", f"--group={uid}", only("WORKDIR"),
    ]  # fmt: skip


# The lock --------------------------------------------------------------------------------------
RUNTIME = (ROOT / "requirements-runtime.lock").read_text()
WHOLE = (ROOT / "requirements.lock").read_text()


def test_runtime_lock_is_a_part_of_the_whole_lock() -> None:
    runtime, whole = set(PIN.findall(RUNTIME)), set(PIN.findall(WHOLE))

    assert runtime < whole


def test_runtime_lock_holds_every_dependency_and_no_test_tool() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = {
        re.split(r"[<>=\[ ]", need)[0].lower()
        for need in (*project["dependencies"], *extras["openai"], *extras["postgres"])
    }
    names = {name for name, _ in PIN.findall(RUNTIME)}

    assert wanted <= names
    assert not names & {"pytest", "mypy", "ruff", "hypothesis", "import-linter"}


def test_every_pin_of_the_runtime_lock_has_a_hash_and_no_line_an_address() -> None:
    blocks = re.split(r"\n(?=[a-z])", RUNTIME.strip())

    assert len(blocks) == len(PIN.findall(RUNTIME))
    assert all("--hash=sha256:" in block for block in blocks)
    assert "://" not in RUNTIME
    assert "--index" not in RUNTIME
