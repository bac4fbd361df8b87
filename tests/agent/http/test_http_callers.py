from __future__ import annotations

import re
from pathlib import Path

import pytest

from agent.errors import SettingsError
from agent.http.callers import ANONYMOUS, EVERYONE, PROBER, Callers, read_callers
from agent.http.configured import callers_of
from agent.http.errors import UnauthorizedError
from agent.settings import Settings


def test_without_keys_everyone_is_one_anonymous_caller() -> None:
    assert not EVERYONE.are_known
    assert {EVERYONE.named(given) for given in (None, "Bearer x", "nonsense")} == {ANONYMOUS}


@pytest.mark.parametrize(
    ("setting", "given", "caller"),
    [
        pytest.param("ann:k1,bob:k2", "Bearer k1", "ann", id="the-first"),
        pytest.param("ann:k1,bob:k2", "Bearer k2", "bob", id="the-second"),
        pytest.param(" ann : k1 , bob:k2", "bearer  k1 ", "ann", id="blanks-do-not-count"),
        pytest.param("ann:k1,ann:k2", "Bearer k2", "ann", id="a-caller-with-an-old-and-a-new-key"),
        pytest.param("ann:k:1", "Bearer k:1", "ann", id="a-key-with-a-colon"),
    ],
)
def test_a_key_names_its_caller(setting: str, given: str, caller: str) -> None:
    assert read_callers(setting).named(given) == caller


@pytest.mark.parametrize(
    ("given", "got"),
    [
        pytest.param(None, "no Authorization header", id="none"),
        pytest.param("Basic k1", "of another scheme", id="another-scheme"),
        pytest.param("k1", "of another scheme", id="the-key-alone"),
        pytest.param("Bearer ", "not one of its callers'", id="an-empty-key"),
        pytest.param("Bearer K1", "not one of its callers'", id="another-case"),
        pytest.param("Bearer k\udc80", "not one of its callers'", id="bytes-that-are-no-text"),
    ],
)
def test_who_has_no_key_is_refused_and_the_key_not_repeated(given: str | None, got: str) -> None:
    with pytest.raises(UnauthorizedError, match=re.escape(got)) as refused:
        Callers({"k1": "ann"}).named(given)

    assert "K1" not in str(refused.value)


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        pytest.param("ann:", "a key of ASCII characters without blanks in entry 1", id="no-key"),
        pytest.param("ann:k1,:k2", "`caller:key` in entry 2", id="no-caller"),
        pytest.param("ann:k1,", "`caller:key` in entry 2", id="a-comma-too-many"),
        pytest.param("a n:k1", "`caller:key` in entry 1", id="a-caller-with-a-blank"),
        pytest.param("ann:k 1", "without blanks in entry 1", id="a-key-with-a-blank"),
        pytest.param("ann:k1,bob:k1", "entry 2 repeats another's", id="one-key-for-two"),
        pytest.param("/nowhere/keys", "No such file or directory", id="no-such-file"),
    ],
)
def test_a_wrong_setting_is_refused_without_showing_a_key(setting: str, expected: str) -> None:
    with pytest.raises(ValueError, match=re.escape(expected)) as refused:
        read_callers(setting)

    assert "k1" not in str(refused.value)


def test_keys_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("# keys\n\nann:k1\n  bob:k2\n")

    assert read_callers(str(path)).named("Bearer k2") == "bob"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(b"# none\n", "at least one", id="a-file-without-keys"),
        pytest.param(b"ann:k1\nbob\n", "`caller:key` in line 2", id="a-line-without-key"),
        pytest.param(b"\xff\xfe", "it is no UTF-8", id="no-text"),
    ],
)
def test_a_wrong_file_is_refused(content: bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(expected)):
        read_callers(str(path))


@pytest.mark.parametrize(
    ("setting", "given", "caller"),
    [
        pytest.param(None, "Bearer p", PROBER, id="beside-nobody"),
        pytest.param("ann:k1", "bearer  p ", PROBER, id="beside-other-callers"),
        pytest.param("ann:k1", "Bearer k1", "ann", id="others-keep-their-keys"),
        pytest.param(None, "Bearer P", ANONYMOUS, id="another-key-is-nobodys"),
        pytest.param(None, "Basic p", ANONYMOUS, id="another-scheme"),
        pytest.param(None, None, ANONYMOUS, id="none"),
    ],
)
def test_the_probe_key_names_the_prober(
    setting: str | None, given: str | None, caller: str
) -> None:
    assert read_callers(setting, "p").named(given) == caller


def test_the_probe_key_alone_asks_nobody_else_for_one() -> None:
    assert not read_callers(None, "p").are_known
    assert read_callers("ann:k1", "p").are_known


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({"probe_key": "k 1"}, "probe_key got '********'", id="with-a-blank"),
        pytest.param(
            {"probe_key": "k1", "api_keys": "ann:k1"},
            "expected: other keys than LOOPSCOPE_PROBE_KEY",
            id="the-key-of-a-caller",
        ),
    ],
)
def test_a_wrong_probe_key_is_refused_without_showing_it(
    settings: dict[str, str], expected: str
) -> None:
    with pytest.raises(SettingsError, match=re.escape(expected)) as refused:
        callers_of(Settings(**settings))

    assert "k1" not in str(refused.value)
