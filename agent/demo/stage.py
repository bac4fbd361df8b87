"""Everything that runs during the demo: services, Prometheus, Alertmanager, receiver, traffic."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import Final

from agent.demo.cases import CASES, Case
from agent.demo.fleet import Job
from agent.demo.guide import Guide, Inbox, alertmanager_flags, prometheus_flags
from agent.demo.processes import child, find_binary, free_port
from agent.demo.watch import ready
from agent.errors import DemoError
from agent.faults.catalogue import FAULTS
from agent.settings import Settings
from agent.traffic.arrivals import arrivals
from agent.traffic.load import Load
from agent.traffic.mix import read_mix
from agent.traffic.tally import Tally
from agent.traffic.targets import HttpTarget

TIME_SCALE: Final = 1 / 72
"""An hour of the guide is 50 s. A smaller one would need more questions a second for the same
certainty, and this is what two busy cores can answer; a larger one would take longer."""
RATE: Final = 0.9
"""45 questions in the guide's hour, for each service."""
PROCESSES: Final = 2
"""Processes that share the services: one a core of the machine the demo is made for."""
START_SECONDS: Final = 90.0
"""Longest wait for the services; about 10 s on an idle machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is shown, and how fast."""

    folder: Path
    """An empty folder for configuration, data and logs."""
    cases: Sequence[Case] = CASES
    time_scale: float = TIME_SCALE
    """Factor on every duration of the guide."""
    rate: float = RATE
    """Questions a second for each service."""
    settings: Settings = field(default_factory=Settings)
    """Of every service."""


class Stage:
    """What is up, and the switch for the faults."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.guide = Guide(plan.time_scale)
        self.inbox = Inbox()
        self.addresses: dict[str, str] = {}
        """Name of a part or service -> base URL."""
        self.loads: dict[str, Load] = {}
        """Job -> its traffic."""
        self._fleets: list[Popen[str]] = []
        self._faults_are_on = False

    @property
    def tallies(self) -> dict[str, Tally]:
        """Job -> what was sent to it and what came back so far."""
        return {job: load.tally for job, load in self.loads.items()}

    def switch(self) -> None:
        """Turn every fault on, or off again."""
        self._faults_are_on = not self._faults_are_on
        for fleet in self._fleets:
            fleet.send_signal(signal.SIGUSR1)

    def fleets(self) -> list[AbstractContextManager[Popen[str]]]:
        """Return the processes of the services, dealt out evenly and not yet started."""
        jobs = [
            Job(
                name=case.job,
                fault=None if _is_of_traffic(case) else case.fault,
                max_rewrites=case.max_rewrites,
            )
            for case in self.plan.cases
        ]
        shares = [jobs[n::PROCESSES] for n in range(PROCESSES)]
        return [self._fleet(n, share) for n, share in enumerate(shares) if share]

    async def take_ports(self, fleets: Sequence[Popen[str]]) -> None:
        """Wait until the services listen, and note where.

        Raises:
            DemoError: A process ended or was too slow.
        """
        self._fleets = list(fleets)
        for number, fleet in enumerate(fleets):
            assert fleet.stdout is not None
            reading = asyncio.to_thread(fleet.stdout.readline)
            try:
                line = await asyncio.wait_for(reading, START_SECONDS)
            except TimeoutError:
                line = ""
            if not line:
                raise DemoError(f"the services did not start, see {self._log(number)}")
            for job, port in json.loads(line).items():
                self.addresses[job] = f"http://127.0.0.1:{port}"

    def servers(self) -> list[AbstractContextManager[Popen[str]]]:
        """Write their configuration and return Alertmanager and Prometheus, not yet started."""
        folder = self.plan.folder
        ports = {"Prometheus": free_port(), "Alertmanager": free_port()}
        at = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
        self.guide.write(
            folder,
            targets={
                case.job: self.addresses[case.job].removeprefix("http://")
                for case in self.plan.cases
            },
            alertmanager_at=at["Alertmanager"],
            inbox_url=self.inbox.url,
        )
        self.addresses |= {name: f"http://{address}" for name, address in at.items()}
        flags = {"Alertmanager": alertmanager_flags, "Prometheus": prometheus_flags}
        commands = {"Alertmanager": "prometheus-alertmanager", "Prometheus": "prometheus"}
        return [
            child(
                [
                    find_binary(commands[name]) or commands[name],
                    *flags[name](
                        config=str(folder / f"{name.lower()}.yml"),
                        data=str(folder / f"{name.lower()}-data"),
                        listen=at[name],
                    ),
                ],
                folder / f"{name.lower()}.log",
            )
            for name in flags
        ]

    def send(self, case: Case, target: HttpTarget, *, seed: int) -> asyncio.Task[Tally]:
        """Start a service's traffic."""
        load = Load(target, is_held_back=lambda: self._faults_are_on and _is_of_traffic(case))
        self.loads[case.job] = load
        arriving = arrivals(read_mix(), rate=self.plan.rate * case.load, seed=seed)
        return asyncio.create_task(load.run(arriving))

    def _fleet(self, number: int, jobs: list[Job]) -> AbstractContextManager[Popen[str]]:
        command = [
            sys.executable,
            "-m",
            "agent.demo.fleet",
            json.dumps([asdict(job) for job in jobs]),
            self.plan.settings.model_dump_json(),
        ]
        return child(command, self._log(number), talks=True)

    def _log(self, number: int) -> Path:
        return self.plan.folder / f"services-{number}.log"


@asynccontextmanager
async def staged(plan: Plan, opening: Callable[[], None]) -> AsyncIterator[Stage]:
    """Bring everything up, and take it down at the end of the block.

    Args:
        plan: What to show.
        opening: Called in a thread while the services start.
    """
    stage = Stage(plan)
    async with AsyncExitStack() as stack:
        fleets = [stack.enter_context(fleet) for fleet in stage.fleets()]
        await asyncio.to_thread(opening)
        await stage.take_ports(fleets)
        stack.enter_context(stage.inbox)
        for server in stage.servers():
            stack.enter_context(server)
        for name in ("Alertmanager", "Prometheus"):
            await ready(f"{stage.addresses[name]}/-/ready")
        traffic: list[asyncio.Task[Tally]] = []
        for seed, case in enumerate(plan.cases):
            target = await stack.enter_async_context(HttpTarget(stage.addresses[case.job]))
            traffic.append(stage.send(case, target, seed=seed))
        stack.push_async_callback(_stop, traffic)
        yield stage


async def _stop(traffic: Sequence[asyncio.Task[Tally]]) -> None:
    for task in traffic:
        task.cancel()
    await asyncio.gather(*traffic, return_exceptions=True)


def _is_of_traffic(case: Case) -> bool:
    return case.fault is not None and FAULTS[case.fault].where == "traffic"
