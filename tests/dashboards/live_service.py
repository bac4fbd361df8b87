"""A real agent with every fault once, scraped by a real Prometheus with the generated rules."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, aclosing, contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from itertools import cycle, zip_longest
from pathlib import Path

import httpx
from native_servers import free_port, wait_until
from prometheus_client import CollectorRegistry, start_http_server
from ruled_prometheus import prometheus

from agent.api import create_app
from agent.compose import Composition
from agent.conversing import Conversing
from agent.faults.catalogue import FAULTS, read_fault
from agent.faults.chance import Chance
from agent.faults.chat import ChatFault, faulty_chat
from agent.faults.requests import asks_for, wanders
from agent.http.callers import Callers
from agent.memory.local import LocalStore
from agent.memory.memory import Memory
from agent.memory.store import Size
from agent.probing.asking import HttpProbe
from agent.probing.known import KnownQuestion, known_questions
from agent.probing.rounds import rounds
from agent.service import SupportAgent
from agent.settings import Settings as AgentSettings
from dashboards.render.source import Prometheus
from dashboards.settings import Settings, load_settings
from telemetry import names, synthetic_turns
from telemetry.probe_metrics import ProbeMetrics

SETTINGS = load_settings(scrape_interval="1s", time_scale=1 / 200, latency_seconds=0.5)
"""Windows of 4.5 s, 18 s and 108 s; what takes longer than half a second is slow."""
NOBODY_LISTENS = "http://127.0.0.1:1"
NOT_OF_THE_AGENT = frozenset({"metrics-gone", "traffic-stopped", "slow-model"})
"""Nor is the slow model ours: it takes longer than the test may."""
SLOW_SECONDS = 0.55
GOLDEN_ROUNDS = 14
FAULTY_ROUNDS = 3
GOLDEN_BOUND = 3
FAULTY, GOLDEN = "support-agent", "golden-agent"
"""Values of the label `job`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """A Prometheus that has seen everything."""

    source: Prometheus
    settings: Settings
    start: float
    end: float


@contextmanager
def live(home: Path) -> Iterator[Live]:
    """Serve two agents, ask them, and wait until their rules have been evaluated."""
    start = time.time()
    agents = {FAULTY: _faulty_agent(), GOLDEN: _golden_agent()}
    with ExitStack() as open_parts:
        ports = {"prometheus": [free_port()]}
        for job, registry in [(job, each) for job, (all_, _) in agents.items() for each in all_]:
            server, thread = start_http_server(0, addr="127.0.0.1", registry=registry)
            ports.setdefault(job, []).append(server.server_port)
            open_parts.callback(thread.join)
            open_parts.callback(server.server_close)
            open_parts.callback(server.shutdown)
        url = open_parts.enter_context(
            prometheus(home, SETTINGS, ports, port=ports["prometheus"][0])
        )
        source = Prometheus(url=url)
        everyone = f"count(count by (job) ({names.BUILD_INFO}))"
        wait_until(lambda: _value(source, everyone) == len(agents), "a first scrape")
        first_scrape = time.time()
        for _ in zip_longest(*(ask() for _, ask in agents.values())):
            pass  # the two take turns, so that events of each fall into many scrapes
        past = first_scrape + SETTINGS.range_seconds(SETTINGS.window_medium)
        wait_until(lambda: time.time() > past + 1, "a past to compare with")
        end = _wait_for_scrapes(source, jobs=len(agents))
        yield Live(source=source, settings=SETTINGS, start=start, end=end)


def _composition(version: str, **settings: object) -> Composition:
    return Composition(
        AgentSettings(model="golden", records="off", version=version, **settings),
        registry=CollectorRegistry(),
    )


Job = tuple[tuple[CollectorRegistry, ...], Callable[[], Iterator[None]]]
"""What a job's processes export, and how the questions are asked."""


def _golden_agent() -> Job:
    """The published lab's agent, under a bound above the one that does."""
    composition = _composition("lab", max_rewrites=GOLDEN_BOUND)
    agent = composition.default_agent

    composition.count_conversations(Size(conversations=2, bytes=4_096))
    feedback, verdicts = composition.feedback(), cycle(names.VERDICTS)

    def ask() -> Iterator[None]:
        for _ in range(GOLDEN_ROUNDS):
            feedback.give(next(verdicts), trace_id=None, span_id=None)
            yield _ask_all(composition, agent)

    return (composition.registry,), ask


def _faulty_agent() -> Job:
    """A sound version, and one with each fault: all are there, at 0, before the first scrape.

    A prober beside them sees the index go bad.
    """
    composition = _composition("1.0")
    faulty = [
        *(_with_fault(composition, name) for name in sorted(FAULTS.keys() - NOT_OF_THE_AGENT)),
        *_more_agents(composition),
    ]

    questions, registry = known_questions(composition.golden), CollectorRegistry()
    books = ProbeMetrics(registry, {each.id: (each.expected, each.reachable) for each in questions})
    bad_index = _with_fault(composition, "index-regression")

    def ask() -> Iterator[None]:
        yield asyncio.run(_probe(questions, books, [composition.default_agent, bad_index]))
        # The sound one again at the end: a busy machine takes longer than a window for the others.
        for agent in (composition.default_agent, *faulty, composition.default_agent):
            yield _ask_all(composition, agent, rounds=FAULTY_ROUNDS)

    return (composition.registry, registry), ask


async def _probe(
    questions: Sequence[KnownQuestion], books: ProbeMetrics, agents: Sequence[SupportAgent]
) -> None:
    """Make rounds through the service: the first two with the first agent, two with the last."""
    asked = [agents[0]]
    app = create_app(
        Conversing(lambda: asked[-1], Memory(LocalStore())), lambda _: (b"", ""),
        callers=Callers({}, "key"), apart=synthetic_turns,
    )  # fmt: skip
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app)) as client:
        ask = HttpProbe("http://service", "key", timeout_seconds=60, client=client)
        every = 2 * SETTINGS.scrape_interval
        async with aclosing(rounds(questions, ask, books, every_seconds=every)) as made:
            async for each in made:
                if each.number == 2:
                    asked.append(agents[-1])
                if each.number == 4:
                    break


def _with_fault(composition: Composition, name: str) -> SupportAgent:
    settings = composition.settings.model_copy(update={"version": name})
    parts = read_fault(f"{name}:1").into(composition.parts(settings))
    return composition.agent(settings, replace(parts, otlp_endpoint=NOBODY_LISTENS))


def _more_agents(composition: Composition) -> Iterator[SupportAgent]:
    """Yield agents with what no fault of the catalogue does quickly: slow, silent, nonsense."""
    guard = asks_for("guard")
    late = cycle(['{"relevant": "no"}'] * 2 * GOLDEN_BOUND + ['{"relevant": "yes"}'] * 2)
    for name, faults in {
        "slow": [ChatFault(when=guard, delay_seconds=SLOW_SECONDS)],
        "nonsense": [ChatFault(when=guard, reply=lambda _: "Well, it depends.")],
        "drifted-answers": [
            wanders(Chance(), ["How much is plan M?", "Who runs the company?"]),
            ChatFault(when=asks_for("grade"), reply=lambda _: next(late)),
            ChatFault(when=asks_for("answer"), reply=lambda _: "It depends on the plan."),
        ],
    }.items():
        changes = {"version": name, "max_rewrites": GOLDEN_BOUND}
        settings = composition.settings.model_copy(update=changes)
        parts = composition.parts(settings)
        chat = reduce(faulty_chat, faults, parts.chat)
        yield composition.agent(settings, replace(parts, chat=chat))
    yield from _revising_agents(composition)
    nothing_found = {"version": "nothing-found", "min_score": 0.99}
    yield composition.agent(composition.settings.model_copy(update=nothing_found))


def _revising_agents(composition: Composition) -> Iterator[SupportAgent]:
    """Yield agents whose drafts pass at once, never get better, or are judged with all before."""
    critics = {
        "drafts-pass": ["all fully none"],
        "drafts-get-better": ["some partly a", "all fully b"],
        "drafts-stay": ["some partly a", "some partly b", "some partly c"],
        "critique-grows": ["some partly a", "some partly ab", "some partly abc"],
    }
    for name, said in critics.items():
        replies = cycle(map(_critique, said))
        settings = composition.settings.model_copy(update={"version": name, "revise": True})
        parts = composition.parts(settings)
        critic = ChatFault(
            when=asks_for("critique"), reply=lambda _, replies=replies: next(replies)
        )
        chat = faulty_chat(parts.chat, critic)
        yield composition.agent(settings, replace(parts, chat=chat))


def _critique(words: str) -> str:
    return json.dumps(dict(zip(("supported", "answers", "note"), words.split(), strict=True)))


def _ask_all(composition: Composition, agent: SupportAgent, *, rounds: int = 1) -> None:
    for _ in range(rounds):
        for question in composition.golden:
            agent.answer(question.question)


def _wait_for_scrapes(source: Prometheus, *, jobs: int) -> float:
    """Wait until the counters of the last turn are stored and the rules have read them.

    Returns:
        A moment at which every target is up: a busy machine misses scrapes now and then.
    """
    scraped_twice = time.time() + SETTINGS.scrape_interval
    seen = f"count(min by (job) (timestamp({names.BUILD_INFO})) > {scraped_twice})"
    wait_until(lambda: _value(source, seen) == jobs, "a last scrape")
    time.sleep(2 * SETTINGS.evaluation_seconds)  # the rules follow their own clock
    moments = [0.0]

    def is_up() -> bool:
        moments.append(time.time())
        return all(
            _value(source, f"count({metric})", moments[-1]) >= jobs
            for metric in (names.BUILD_INFO, names.REWRITE_BUDGET)
        )

    wait_until(is_up, "every target")
    return moments[-1]


def _value(source: Prometheus, expr: str, at: float | None = None) -> float:
    found = source.instant(expr, at or time.time())
    return found[0].points[0][1] if found else 0.0
