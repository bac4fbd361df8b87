"""A real Prometheus with the generated rules, on scaled time, for tests marked `servers`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from native_servers import answers, need, running, wait_until

from dashboards import prometheus_rules
from dashboards.settings import Settings
from dashboards.stack import parts, render


@contextmanager
def prometheus(
    home: Path, settings: Settings, targets: Mapping[str, Sequence[int]], *, port: int
) -> Iterator[str]:
    """Run it and yield its address.

    Args:
        home: Folder for its files.
        settings: Of the rules.
        targets: Value of the label `job` -> ports on loopback to scrape.
        port: To listen on.
    """
    rules = home / "rules"
    for path, text in prometheus_rules.files(settings).items():
        file = rules / Path(path).name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    place = render.Place(
        targets={job: [f"127.0.0.1:{port}" for port in each] for job, each in targets.items()},
        alertmanager="127.0.0.1:9", rules=str(rules / "*.yml"), notifications="http://127.0.0.1:9/",
    )  # fmt: skip
    config, listen = home / "prometheus.yml", f"127.0.0.1:{port}"
    config.write_text(render.prometheus(place, settings), encoding="utf-8")
    flags = parts.prometheus_flags(config=str(config), data=str(home / "data"), listen=listen)
    with running([need("prometheus"), *flags], home / "prometheus.log"):
        wait_until(lambda: answers(f"http://{listen}/-/ready"), "Prometheus")
        yield f"http://{listen}"
