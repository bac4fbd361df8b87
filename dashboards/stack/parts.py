"""What the stack is made of: images, ports, users and flags, each stated once.

docker-compose.yml, the Dockerfile and the configuration files repeat these values where their
formats have no other way; the tests hold every repetition against this module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

AGENT_JOB: Final = "support-agent"
"""Label `job` of the agent's series in the compose stack."""

PROBE: Final = "probe:9465"
"""Where the prober shows its metrics inside the network, when it was asked for."""

OTLP_GRPC_PORT: Final = 4317
OTLP_HTTP_PORT: Final = 4318
RETENTION: Final = "15d"
"""How long Prometheus keeps samples. The longest look back is 7 days and 6 hours (a baseline and
its delay), or a week and the window of the traffic rule; 15 days hold both twice over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One service that keeps running."""

    image: str
    """Name and exact version tag."""
    port: int
    """Where it answers HTTP, and shows its own metrics, inside the network."""
    user: str
    """uid:gid the container runs as; its volume belongs to them."""
    is_published: bool = True
    """Whether the port is also bound to 127.0.0.1 of the host."""

    @property
    def tag(self) -> str:
        """The version alone."""
        return self.image.rpartition(":")[2]


LOOPSCOPE_IMAGE: Final = "loopscope:0.1.0"
"""Built from the Dockerfile; also runs the inbox, the traffic and the step for the volumes."""
LOOPSCOPE_USER: Final = "10002:10002"
"""Chosen by us: the user that the Dockerfile makes."""

PARTS: Final[dict[str, Part]] = {
    "agent": Part(image=LOOPSCOPE_IMAGE, port=8000, user=LOOPSCOPE_USER),
    "inbox": Part(image=LOOPSCOPE_IMAGE, port=9099, user=LOOPSCOPE_USER, is_published=False),
    "collector": Part(
        image="otel/opentelemetry-collector:0.149.0",
        port=8888,
        user="10001:10001",
        is_published=False,
    ),
    "tempo": Part(image="grafana/tempo:2.9.5", port=3200, user="10001:10001", is_published=False),
    "prometheus": Part(image="prom/prometheus:v3.13.3", port=9090, user="65534:65534"),
    "alertmanager": Part(image="prom/alertmanager:v0.34.1", port=9093, user="65534:65534"),
    "grafana": Part(image="grafana/grafana:12.4.5", port=3000, user="472:0"),
}
"""Service name -> part. Users are those of the images, but for ours."""


def address(name: str) -> str:
    """Return where a part answers inside the compose network, as host:port."""
    return f"{name}:{PARTS[name].port}"


def prometheus_flags(*, config: str, data: str, listen: str) -> list[str]:
    """Return the command line of Prometheus, without the program; from 2.42 on.

    Args:
        config: Path of the configuration file.
        data: Folder of its store.
        listen: host:port it answers on.
    """
    return [
        f"--config.file={config}",
        f"--storage.tsdb.path={data}",
        f"--storage.tsdb.retention.time={RETENTION}",
        "--enable-feature=exemplar-storage",
        f"--web.listen-address={listen}",
    ]


def alertmanager_flags(*, config: str, data: str, listen: str) -> list[str]:
    """Return the command line of Alertmanager, without the program; from 0.25 on.

    Args:
        config: Path of the configuration file.
        data: Folder of its silences and of what it notified.
        listen: host:port it answers on.
    """
    return [
        f"--config.file={config}",
        f"--storage.path={data}",
        f"--web.listen-address={listen}",
        "--cluster.listen-address=",  # one instance needs no port for others
    ]
