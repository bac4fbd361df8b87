"""Errors of the dashboards: what was wrong, what was got, what was expected, what to do next.

DashboardsError           dashboards_error
├── SettingsError         dashboards_settings   a setting is out of its range or unknown
├── DurationError         duration              a text is no duration
├── MissingCasesError     missing_cases         a failure has no promtool cases
├── GrafanaRefusalError   grafana_refusal       Grafana would refuse or silently change a file
├── PlaceError            stack_place           an address of the stack is none
├── NotificationError     notification          a body is none of Alertmanager's notifications
├── BoardFileError        board_file            a file is no dashboard that the viewer can draw
├── RangeError            time_range            a text is no moment, or a range has no length
├── PrometheusError       prometheus            Prometheus does not answer, or refuses a query
├── DrawingError          drawing               a page or picture could not be made
├── NoCheckoutError       no_checkout           nowhere to write to or to compare with
└── OutdatedFilesError    outdated_files        files differ from what would be generated
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar


class DashboardsError(Exception):
    """Anything this package reports about its input or its output."""

    code: ClassVar[str] = "dashboards_error"
    exit_code: ClassVar[int] = 2
    """What the command line exits with: 2 for wrong usage, 1 for what failed all the same."""


class SettingsError(DashboardsError):
    """Settings from which no working alerts can be made."""

    code = "dashboards_settings"

    def __init__(self, problems: Iterable[str]) -> None:
        super().__init__(
            f"wrong settings: {'; '.join(problems)}. "
            "`loopscope dashboards generate --help` lists every setting with its default."
        )


class DurationError(DashboardsError, ValueError):
    """A text that is no duration."""

    code = "duration"

    def __init__(self, text: object) -> None:
        super().__init__(
            f"no duration: got {text!r}, expected numbers with units ms, s, m, h, d or w, "
            "such as 15s, 1h30m or 7d. Write one of these."
        )


class MissingCasesError(DashboardsError):
    """A failure was defined without the promtool cases that prove its alerts."""

    code = "missing_cases"
    exit_code = 1

    def __init__(self, missing: Iterable[str]) -> None:
        super().__init__(
            f"alerts without proof: got no promtool cases for {', '.join(missing)}, expected each "
            "failure to have the five cases. Add them to dashboards/scenarios.py."
        )


class GrafanaRefusalError(DashboardsError):
    """A provisioning file that keeps Grafana from starting, or that it would silently change."""

    code = "grafana_refusal"
    exit_code = 1

    def __init__(self, path: str, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(
            f"{path} is not what Grafana expects: {'; '.join(self.problems)}. "
            "Correct the definition or setting that the rule comes from."
        )


class PlaceError(DashboardsError, ValueError):
    """An address from which no working stack can be configured."""

    code = "stack_place"

    def __init__(self, what: str, got: str, expected: str) -> None:
        super().__init__(
            f"wrong {what} for the stack: got {got!r}, expected {expected}. Correct the place."
        )


class NotificationError(DashboardsError, ValueError):
    """A webhook body that Alertmanager would not send."""

    code = "notification"

    def __init__(self, body: bytes, reason: Exception) -> None:
        super().__init__(
            f"no notification: got {body[:100]!r} ({type(reason).__name__}: {reason}), expected "
            "Alertmanager's webhook format with receiver and alerts. Send it from Alertmanager."
        )


class BoardFileError(DashboardsError):
    """A file that the viewer of boards cannot draw."""

    code = "board_file"

    def __init__(self, name: object, problem: str) -> None:
        super().__init__(
            f"cannot draw {name}: {problem}. The viewer draws the boards of "
            "`loopscope dashboards generate`: name one of them or a file of it."
        )


class RangeError(DashboardsError, ValueError):
    """A moment or a time range that is none."""

    code = "time_range"

    def __init__(self, got: str, expected: str) -> None:
        super().__init__(f"no time range: got {got!r}, expected {expected}. Correct it.")


class PrometheusError(DashboardsError):
    """Prometheus does not answer, or refuses a query."""

    code = "prometheus"
    exit_code = 1

    def __init__(self, url: str, reason: str, query: object) -> None:
        self.reason = reason
        asked = f" for {query!s:.200}" if query else ""
        super().__init__(
            f"Prometheus at {url} gave no answer: got {reason}{asked}, expected its HTTP API. "
            "Check the address with `curl URL/-/ready`."
        )


class DrawingError(DashboardsError):
    """A page or picture that could not be made here."""

    code = "drawing"
    exit_code = 1

    def __init__(self, what: str, got: str, act: str) -> None:
        super().__init__(f"cannot draw {what}: got {got}. {act}")


class NoCheckoutError(DashboardsError):
    """The package is installed outside a checkout, so that there is no place of its own."""

    code = "no_checkout"

    def __init__(self, root: str) -> None:
        super().__init__(
            f"no place for generated files: got {root}, expected a checkout with pyproject.toml. "
            "Name a folder with --out DIR."
        )


class OutdatedFilesError(DashboardsError):
    """Committed files are not what the definitions generate."""

    code = "outdated_files"
    exit_code = 1

    def __init__(self, differences: Iterable[str], *, repair: str) -> None:
        self.differences = tuple(differences)
        super().__init__(
            "generated files are out of date: " + "; ".join(self.differences) + ". "
            f"Run `{repair}`, and delete the files no longer generated."
        )
