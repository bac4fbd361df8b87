"""Where spans and events go: one rule for our option, the specification's for the variables.

Our option takes the base URL of a collector. `http://c:4318` becomes `http://c:4318/v1/traces`,
`http://c:4318/otlp` becomes `http://c:4318/otlp/v1/traces`, and a URL that already ends with the
signal's path is kept. `OTEL_EXPORTER_OTLP_ENDPOINT` always gets the path appended,
`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is taken as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args
from urllib.parse import SplitResult, urlsplit, urlunsplit

from telemetry.environment import SignalVariables
from telemetry.errors import ExportSettingsError

Signal: TypeAlias = Literal["traces", "logs"]
Protocol: TypeAlias = Literal["http/protobuf", "grpc"]

PROTOCOLS: Final[tuple[Protocol, ...]] = get_args(Protocol)
EXPORTERS: Final = ("otlp", "console", "none")
GRPC_PORT: Final = 4317
HTTP_PORT: Final = 4318
_OPTION: Final = "OTLP endpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """Our own settings of the export; what is None is left to the environment."""

    endpoint: str | None = None
    """Base URL of the collector, or the full URL of one signal."""
    protocol: str | None = None
    """`http/protobuf` or `grpc`."""
    insecure: bool | None = None
    """Speak gRPC without TLS. Follows from the scheme; may only agree with it."""
    service_name: str = "loopscope"
    """`service.name`, unless the environment gives one."""
    service_version: str | None = None
    """`service.version`, unless the environment gives one."""
    keep_ratio: float = 1.0
    """Share of the traces without a failure that is exported, 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where one signal goes."""

    url: str
    """Full URL for HTTP, scheme and host for gRPC; `stderr` for the console."""
    protocol: Protocol | Literal["console"]
    warning: str | None = None
    """What looks wrong about it, and the fix."""

    @property
    def is_secure(self) -> bool:
        """Whether TLS is spoken."""
        return self.url.startswith("https://")

    def __str__(self) -> str:
        return self.url if self.protocol == "console" else f"{self.url} ({self.protocol})"


def resolve(signal: Signal, options: ExportOptions, variables: SignalVariables) -> Endpoint | None:
    """Return where a signal goes, or None when nothing says that it should leave the process.

    Raises:
        ExportSettingsError: Settings that are unknown or contradict each other.
    """
    exporter = variables.exporter
    if exporter is not None and exporter not in EXPORTERS:
        raise ExportSettingsError(
            f"OTEL_{signal.upper()}_EXPORTER", exporter, f"one of {EXPORTERS}", "Choose one."
        )
    if exporter == "none":
        return None
    if exporter == "console" and options.endpoint is None:
        return Endpoint(url="stderr", protocol="console")
    protocol = _protocol(options, variables)
    name, given = _given(options, variables, signal, is_wanted=exporter == "otlp")
    if given is None:
        return None
    if given == "":
        port = HTTP_PORT if protocol == "http/protobuf" else GRPC_PORT
        name, given = "OTEL_EXPORTER_OTLP_ENDPOINT", f"http://localhost:{port}"
    insecure = variables.insecure if options.insecure is None else options.insecure
    parts = _checked(name, given, protocol, insecure)
    if protocol == "grpc":
        url = urlunsplit((parts.scheme, parts.netloc, "", "", ""))
        return Endpoint(url=url, protocol=protocol, warning=_warning(parts, protocol))
    path = _path(parts.path, signal, name)
    url = urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))
    warning = _warning(parts, protocol) or (
        f"{name} is taken as it is, and has no path: OTLP is usually taken at /v1/{signal}. "
        f"Append it, or set OTEL_EXPORTER_OTLP_ENDPOINT instead."
        if path == "/"
        else None
    )
    return Endpoint(url=url, protocol=protocol, warning=warning)


def _protocol(options: ExportOptions, variables: SignalVariables) -> Protocol:
    given = options.protocol or variables.protocol or PROTOCOLS[0]
    for protocol in PROTOCOLS:
        if given == protocol:
            return protocol
    raise ExportSettingsError(
        "OTEL_EXPORTER_OTLP_PROTOCOL",
        given,
        f"one of {PROTOCOLS}",
        "Unset it for HTTP, or set it to grpc.",
    )


def _given(
    options: ExportOptions, variables: SignalVariables, signal: Signal, *, is_wanted: bool
) -> tuple[str, str | None]:
    """Return the setting that decides and its value: "" for the default, None for no export."""
    if options.endpoint is not None:
        return _OPTION, options.endpoint.strip()
    if variables.endpoint is not None:
        return f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT", variables.endpoint
    if variables.base_endpoint is not None:
        return "OTEL_EXPORTER_OTLP_ENDPOINT", variables.base_endpoint
    return "", "" if is_wanted else None


def _checked(name: str, given: str, protocol: Protocol, insecure: bool | None) -> SplitResult:
    """Split a URL whose scheme alone decides about TLS."""
    parts = urlsplit(given)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        host = given.rpartition("//")[2]
        raise ExportSettingsError(
            name,
            given,
            "a URL that begins with http:// or https://",
            f"Write http://{host} for plain text or https://{host} for TLS.",
        )
    try:
        _ = parts.port
    except ValueError as error:
        raise ExportSettingsError(
            name, given, "a port from 1 to 65535", "Correct the number after the colon."
        ) from error
    if insecure is not None and protocol == "grpc" and insecure != (parts.scheme == "http"):
        wanted = "http" if insecure else "https"
        raise ExportSettingsError(
            name,
            f"{given} with insecure={str(insecure).lower()}",
            "a scheme and an insecure flag that agree",
            f"Write {wanted}://{parts.netloc}, or drop the insecure flag: the scheme decides.",
        )
    return parts


def _path(path: str, signal: Signal, name: str) -> str:
    wanted = f"/v1/{signal}"
    if name == f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT":
        return path or "/"
    base = path.rstrip("/")
    if name == _OPTION:
        for other in get_args(Signal):
            base = base.removesuffix(f"/v1/{other}")
    return base + wanted


def _warning(parts: SplitResult, protocol: Protocol) -> str | None:
    host = parts.hostname
    if protocol == "http/protobuf" and parts.port == GRPC_PORT:
        return (
            f"OTLP over HTTP to port {GRPC_PORT} of {host}: that port usually speaks gRPC. "
            f"Use port {HTTP_PORT}, or set OTEL_EXPORTER_OTLP_PROTOCOL=grpc."
        )
    if protocol == "grpc" and parts.port == HTTP_PORT:
        return (
            f"OTLP over gRPC to port {HTTP_PORT} of {host}: that port usually speaks HTTP. "
            f"Use port {GRPC_PORT}, or set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf."
        )
    if protocol == "grpc" and parts.path.strip("/"):
        return f"OTLP over gRPC has no path: {parts.path} of {host} is ignored. Leave it out."
    return None


def explain(words: str) -> str:
    """Return what an exporter's last words mean, and what to do about it."""
    for sign, meaning, act in _MEANINGS:
        if sign in words:
            return f"{meaning}. {act}"
    return f"{words or 'the exporter gave no reason'}. Check the collector's log."


_MEANINGS: Final = (
    ("efused", "connection refused", "Start the collector, or correct host and port."),
    ("imed out", "no answer in time", "Check the network and the collector's load."),
    ("DEADLINE_EXCEEDED", "no answer in time", "Check the network and the collector's load."),
    ("BadStatusLine", "no HTTP server there", "It may speak gRPC: use port 4318, or set "
     "OTEL_EXPORTER_OTLP_PROTOCOL=grpc."),
    ("Connection aborted", "no HTTP server there", "It may speak gRPC: use port 4318, or set "
     "OTEL_EXPORTER_OTLP_PROTOCOL=grpc."),
    ("Name or service not known", "unknown host", "Correct the host name."),
    ("resolution", "unknown host", "Correct the host name."),
    ("SSL", "TLS failed", "Use http:// for plain text, or set OTEL_EXPORTER_OTLP_CERTIFICATE."),
    ("redirected by", "a redirect, which no exporter follows", "Give the address it leads to, "
     "often https:// in place of http://."),
    ("due to timeout", "overloaded, and asks to wait longer than a delivery may take", "Sample, or "
     "give the collector room."),
    ("code: 404", "HTTP 404", "Give the base URL of a collector; for a store that takes no log "
     "events set OTEL_LOGS_EXPORTER=none."),
    ("code: 405", "HTTP 405", "No OTLP receiver answers there: check port and path."),
    ("code: 401", "HTTP 401", "Set OTEL_EXPORTER_OTLP_HEADERS with the key."),
    ("code: 403", "HTTP 403", "Check the key in OTEL_EXPORTER_OTLP_HEADERS."),
    ("code: 413", "HTTP 413", "Lower OTEL_BSP_MAX_EXPORT_BATCH_SIZE."),
    ("Too Many Requests", "HTTP 429", "The collector limits the rate: sample, or widen it."),
    ("Service Unavailable", "HTTP 503", "The collector is overloaded or starting."),
    ("UNIMPLEMENTED", "no OTLP service there", "Check port and protocol."),
    ("UNAUTHENTICATED", "no valid key", "Set OTEL_EXPORTER_OTLP_HEADERS with the key."),
    ("UNAVAILABLE", "unavailable", "Nothing listens there, or it speaks HTTP: check port and "
     "protocol."),
)  # fmt: skip
"""(part of the exporter's or the server's words, meaning, what to do), first match wins."""
