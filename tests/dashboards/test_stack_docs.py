"""docs/stack.md says what the files say, and its examples work."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from native_servers import need

from dashboards.settings import load_settings
from dashboards.stack import parts, render

TEXT = (Path(__file__).parents[2] / "docs/stack.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL)


def block(kind: str, start: str) -> str:
    (found,) = [text for name, text in BLOCKS if name == kind and text.startswith(start)]
    return found


@pytest.mark.parametrize("name", sorted(parts.PARTS))
def test_image_in_the_table_is_the_pinned_one(name: str) -> None:
    (row,) = re.findall(rf"^\| {name} \| (.*?) \|", TEXT, re.MULTILINE)

    assert f"`{parts.PARTS[name].image}`" in row


@pytest.mark.parametrize("name", sorted(n for n, part in parts.PARTS.items() if part.is_published))
def test_published_port_is_in_the_table(name: str) -> None:
    assert f"| http://127.0.0.1:{parts.PARTS[name].port} |" in TEXT


@pytest.mark.servers
def test_receivers_of_the_example_are_accepted_and_routed_to(tmp_path: Path) -> None:
    config = yaml.safe_load(render.alertmanager(render.COMPOSE, load_settings()))
    names = [receiver["name"] for receiver in config["receivers"]]
    example = yaml.safe_load(block("yaml", "# receivers"))
    file = tmp_path / "alertmanager.local.yml"
    file.write_text(yaml.safe_dump({**config, **example}), encoding="utf-8")
    amtool = need("amtool")
    checked = subprocess.run(
        [amtool, "check-config", str(file)], check=False, capture_output=True, text=True
    )
    routed = subprocess.run(
        [amtool, "config", "routes", "test", f"--config.file={file}", "severity=page"],
        check=False,
        capture_output=True,
        text=True,
    )

    assert checked.returncode == 0, checked.stderr
    assert [receiver["name"] for receiver in example["receivers"]] == names
    assert routed.stdout.strip() == "page"


def test_override_replaces_the_file_that_the_stack_mounts() -> None:
    override = yaml.safe_load(block("yaml", "# docker-compose.override.yml"))
    compose = yaml.safe_load((Path(__file__).parents[2] / "docker-compose.yml").read_text())
    service = override["services"]["alertmanager"]["volumes"][0].split(":")
    targets = [spec.split(":")[1] for spec in compose["services"]["alertmanager"]["volumes"]]

    assert service[1] in targets


def test_python_example_runs() -> None:
    scope: dict[str, object] = {}
    exec(compile(block("python", "from dashboards"), "docs/stack.md", "exec"), scope)

    assert yaml.safe_load(str(scope["prometheus_yml"]))["global"]["scrape_interval"] == "1s"
    assert "--enable-feature=exemplar-storage" in scope["flags"]  # type: ignore[operator]


def test_how_long_things_are_kept_is_said_right() -> None:
    tempo = yaml.safe_load((render.FOLDER / "tempo.yml").read_text())
    hours = tempo["compactor"]["compaction"]["block_retention"]

    assert parts.RETENTION == "15d"
    assert hours == "168h"
    assert "(15 days, 7 days, three files of 10 MB a service)" in TEXT


@pytest.mark.parametrize(
    "path", [".env", "secrets/slack-url", "alertmanager.local.yml", "docker-compose.override.yml"]
)
def test_what_the_user_keeps_to_himself_is_ignored_by_git(path: str) -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(["git", "check-ignore", "-q", path], cwd=root, check=False)

    assert done.returncode == 0
