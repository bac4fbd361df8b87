"""What the tests of the guide share: default settings and its files, written once."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboards.generators import generated
from dashboards.output import Tree
from dashboards.settings import Settings, load_settings


@pytest.fixture(scope="session")
def settings() -> Settings:
    return Settings()


@pytest.fixture(scope="session")
def demo_settings() -> Settings:
    """A minute in a second, scraped each second, as the demo has it."""
    return load_settings(time_scale=1 / 60, scrape_interval="1s")


@pytest.fixture(scope="session")
def files(settings: Settings) -> dict[str, str]:
    """Path -> text of everything that is generated."""
    return generated(settings)


@pytest.fixture(scope="session")
def tree(files: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every generated file."""
    out = tmp_path_factory.mktemp("generated")
    Tree(out).write(files)
    return out


@pytest.fixture(scope="session")
def demo_tree(demo_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("demo")
    Tree(out).write(generated(demo_settings))
    return out
