"""The variables of the environment that decide about export, read once, when export is set up.

No other module of the export reads the environment. The exporters of the OpenTelemetry SDK read a
few more by themselves (headers, certificates, compression, time-outs), its resource and sampler
theirs; all of them keep the meaning that the specification gives them.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Final

from telemetry.batching import BatchLimits
from telemetry.content import MODES, NO_CONTENT, VARIABLE

logger = logging.getLogger(__name__)

BATCH_SIZE: Final = 512
"""Spans or events a request, unless a variable says otherwise: the specification's default."""
CONTENT_BATCH_SIZE: Final = 256
"""The same where text is captured. A span of ours then takes up to 13 kB, and the gRPC receiver of
a collector refuses a request above 4 MiB as a whole."""

_OFF: Final = ("", "0", "false", "no", "off")

TRACING_SWITCHES: Final = {
    "LANGSMITH_TRACING": "LangSmith",
    "LANGSMITH_TRACING_V2": "LangSmith",
    "LANGCHAIN_TRACING": "LangSmith",
    "LANGCHAIN_TRACING_V2": "LangSmith",
    "LANGCHAIN_WANDB_TRACING": "Weights & Biases",
    "LANGCHAIN_COMET_TRACING": "Comet",
    "DD_LLMOBS_ENABLED": "Datadog",
}
"""Variables that make LangChain, or a tracer around the process, send conversations elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalVariables:
    """What the environment says about one signal; None where it says nothing."""

    exporter: str | None
    """OTEL_TRACES_EXPORTER or OTEL_LOGS_EXPORTER."""
    endpoint: str | None
    """The signal's own OTEL_EXPORTER_OTLP_..._ENDPOINT."""
    base_endpoint: str | None
    """OTEL_EXPORTER_OTLP_ENDPOINT."""
    protocol: str | None
    insecure: bool | None
    limits: BatchLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportVariables:
    """What the environment says about export."""

    is_disabled: bool
    traces: SignalVariables
    logs: SignalVariables


def read_export(environment: Mapping[str, str] | None = None) -> ExportVariables:
    """Read the standard `OTEL_*` variables, by default of the process. Empty means unset."""
    environment = os.environ if environment is None else environment
    return ExportVariables(
        is_disabled=_is_on(environment.get("OTEL_SDK_DISABLED")),
        traces=_signal(environment, "TRACES", "BSP", delay_ms=5_000),
        logs=_signal(environment, "LOGS", "BLRP", delay_ms=1_000),
    )


def active_tracers(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables that switch on somebody else's tracer, and whose it is."""
    return {
        name: product for name, product in TRACING_SWITCHES.items() if _is_on(environment.get(name))
    }


def report_tracers(environment: Mapping[str, str] = os.environ) -> None:
    """Warn in one line about each tracer that is on beside ours."""
    for name, product in active_tracers(environment).items():
        logger.warning(
            "%s is set: questions, documents and replies are also sent to %s. "
            "Unset it, or run with the local-only switch.",
            name,
            product,
        )


def silence_tracers(environment: MutableMapping[str, str] = os.environ) -> tuple[str, ...]:
    """Switch off every tracer beside ours in this process; return the variables changed.

    LangSmith remembers what it read, so its memory is cleared too.
    """
    changed = tuple(active_tracers(environment))
    for name in changed:
        environment[name] = "false"
    if changed:
        from langsmith import utils

        remembered: Any = utils.get_env_var
        remembered.cache_clear()
    return changed


def _signal(
    environment: Mapping[str, str], signal: str, batches: str, delay_ms: int
) -> SignalVariables:
    def read(name: str) -> str | None:
        return environment.get(name, "").strip() or None

    own, base = f"OTEL_EXPORTER_OTLP_{signal}", "OTEL_EXPORTER_OTLP"
    insecure = read(f"{own}_INSECURE") or read(f"{base}_INSECURE")
    capacity = _count(environment, f"OTEL_{batches}_MAX_QUEUE_SIZE", 2_048)
    has_text = (read(VARIABLE) or NO_CONTENT).upper() in {*MODES} - {NO_CONTENT}
    usual = CONTENT_BATCH_SIZE if has_text else BATCH_SIZE
    batch_size = _count(environment, f"OTEL_{batches}_MAX_EXPORT_BATCH_SIZE", usual)
    delay = _count(environment, f"OTEL_{batches}_SCHEDULE_DELAY", delay_ms)
    return SignalVariables(
        exporter=read(f"OTEL_{signal}_EXPORTER"),
        endpoint=read(f"{own}_ENDPOINT"),
        base_endpoint=read(f"{base}_ENDPOINT"),
        protocol=read(f"{own}_PROTOCOL") or read(f"{base}_PROTOCOL"),
        insecure=None if insecure is None else _is_on(insecure),
        limits=BatchLimits(
            capacity=capacity,
            batch_size=min(batch_size, capacity),
            interval_seconds=delay / 1_000,
        ),
    )


def _count(environment: Mapping[str, str], name: str, default: int) -> int:
    """Read a positive whole number; anything else warns and means the default, as specified."""
    text = environment.get(name, "").strip()
    if not text:
        return default
    if text.isdecimal() and int(text) > 0:
        return int(text)
    logger.warning("%s: got %r, expected a whole number above 0. Using %d.", name, text, default)
    return default


def _is_on(value: str | None) -> bool:
    return value is not None and value.strip().lower() not in _OFF
