from __future__ import annotations

import sys

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from agent.errors import ModelPackageError, ModelSettingsError, UnknownModelError
from agent.models.build import ModelSettings, build_model

KEY = ModelSettings(api_key=SecretStr("secret"))


def unwanted() -> BaseChatModel:
    raise AssertionError("only the chosen model is built")


def test_a_model_of_our_own_is_built_by_its_factory() -> None:
    local = FakeListChatModel(responses=["x"])

    assert build_model("local", in_process={"golden": unwanted, "local": lambda: local}) is local


def test_a_provider_s_model_is_built_without_retries_of_its_own() -> None:
    settings = ModelSettings(
        timeout_seconds=7.5, base_url="http://127.0.0.1:1/v1", api_key=SecretStr("secret")
    )

    model = build_model("openai:gpt-x", in_process={"local": unwanted}, settings=settings)

    assert isinstance(model, ChatOpenAI)
    assert (model.model_name, model.temperature, model.max_retries) == ("gpt-x", 0, 0)
    assert (model.request_timeout, model.openai_api_base) == (7.5, "http://127.0.0.1:1/v1")


def test_a_model_s_name_may_hold_colons() -> None:
    model = build_model("openai:ft:gpt-x:team", in_process={}, settings=KEY)

    assert isinstance(model, ChatOpenAI)
    assert model.model_name == "ft:gpt-x:team"


def test_no_temperature_is_sent_when_none_is_wanted() -> None:
    settings = ModelSettings(temperature=None, api_key=SecretStr("secret"))

    model = build_model("openai:gpt-x", in_process={}, settings=settings)

    assert isinstance(model, ChatOpenAI)
    assert model.temperature is None


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        pytest.param("", "no such model", id="empty"),
        pytest.param("gpt-4.1", "no such model", id="without-a-provider"),
        pytest.param("Local", "no such model", id="ours-in-other-letters"),
        pytest.param("openai:", "a model's name is missing", id="without-a-model"),
        pytest.param("openai: ", "a model's name is missing", id="with-a-blank-model"),
        pytest.param(":gpt-4.1", "no such model", id="with-an-empty-provider"),
        pytest.param("opnai:gpt-4.1", "no such provider", id="unknown-provider"),
    ],
)
def test_an_unknown_name_is_refused(name: str, problem: str) -> None:
    with pytest.raises(UnknownModelError) as refused:
        build_model(name, in_process={"local": unwanted, "golden": unwanted}, settings=KEY)

    assert str(refused.value) == (
        f"unknown model: {problem}, got {name!r}, expected 'golden', 'local' or 'PROVIDER:MODEL' "
        "with a provider of LangChain, such as 'openai:gpt-4.1-mini'. "
        "Choose one with --model, for example --model local."
    )


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_anthropic", None)

    with pytest.raises(ModelPackageError) as refused:
        build_model("anthropic:claude", in_process={}, settings=KEY)

    assert str(refused.value) == (
        "model 'anthropic:claude' needs a package: got no 'langchain-anthropic' in this "
        "environment, expected it installed. Run `pip install langchain-anthropic`, or use "
        "--model local, which needs none."
    )


def test_a_missing_key_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(ModelSettingsError) as refused:
        build_model("openai:gpt-x", in_process={})

    message = str(refused.value)
    assert message.startswith("model 'openai:gpt-x' cannot be set up: ")
    assert "OPENAI_API_KEY" in message
    assert "\n" not in message


def test_wrong_settings_are_named_without_their_values() -> None:
    settings = ModelSettings(temperature="secret", api_key=SecretStr("secret"))  # type: ignore[arg-type]

    with pytest.raises(ModelSettingsError) as refused:
        build_model("openai:gpt-x", in_process={}, settings=settings)

    assert "valid number" in str(refused.value)
    assert "secret" not in str(refused.value)
