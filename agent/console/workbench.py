"""Agents for experiments: beside the served one, so that no metric and no record counts them."""

from __future__ import annotations

import hashlib
import tempfile
import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from agent.compose import Composition
from agent.lab.report import PUBLISHED_BOUND, Lab, LabReport
from agent.service import SupportAgent
from agent.settings import RewriteFrom, RouterOrder, Settings

MAX_COMPOSITIONS: Final = 4
"""Models with their golden sets kept ready; chosen by us: each holds the documents once more."""
MAX_UPLOADS: Final = 32
"""Golden sets kept of those that were uploaded, until the process ends; chosen by us."""
MAX_NAME: Final = 100
"""Characters kept of an uploaded file's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What an experiment runs with."""

    model: str = "golden"
    golden: Path | None = None
    """None for the golden set of the settings."""
    golden_name: str = "golden set of the settings"
    max_bound: int = 3
    router_order: RouterOrder = "evidence_first"
    rewrite_from: RewriteFrom = "original"

    @property
    def told(self) -> str:
        """The plan in one line."""
        order = self.router_order.replace("_", " ")
        return f"{self.model}, {order}, rewrite from {self.rewrite_from}, {self.golden_name}"


PUBLISHED: Final = Plan(golden_name="the published example")
"""The published lab: stand-in model and five questions on the handbook, bounds 0 to 3."""


class Workbench:
    """Makes agents for the lab, the walk and the comparison of orders.

    Args:
        settings: The user's; an experiment differs in what its plan says.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._ready: OrderedDict[tuple[str, Path | None, bool], Composition] = OrderedDict()
        self._lock = threading.Lock()
        self._kept: OrderedDict[Path, None] = OrderedDict()

    def agent(self, plan: Plan, *, max_rewrites: int, topic_check: bool = True) -> SupportAgent:
        """Return an agent for one question; takes seconds when its model is new.

        Raises:
            AgentError: The model or the golden set cannot be used; the message says why.
        """
        composition = self._composition(plan)
        varied = {
            "max_rewrites": max_rewrites,
            "topic_check": topic_check,
            "router_order": plan.router_order,
            "rewrite_from": plan.rewrite_from,
        }
        return composition.agent(composition.settings.model_copy(update=varied))

    def keep(self, name: str, content: bytes) -> Path:
        """Keep an uploaded golden set and return where; the oldest ones are given up.

        Args:
            name: Of the file, as its owner calls it.
            content: Of the file.
        """
        folder = Path(self._uploads.name) / hashlib.sha256(content).hexdigest()[:16]
        folder.mkdir(exist_ok=True)
        path = folder / (Path(name.replace("\\", "/")).name[-MAX_NAME:] or "golden.yaml")
        path.write_bytes(content)
        with self._lock:
            self._kept.pop(path, None)
            self._kept[path] = None
            if len(self._kept) > MAX_UPLOADS:
                self._kept.popitem(last=False)[0].unlink(missing_ok=True)
        return path

    def questions(self, plan: Plan) -> list[str]:
        """Return the golden questions of a plan, in their order.

        Raises:
            AgentError: As `agent`.
        """
        return [question.question for question in self._composition(plan).golden]

    def lab(self, plan: Plan) -> Lab:
        """Return the lab of a plan, ready to run.

        Raises:
            AgentError: As `agent`.
        """
        composition = self._composition(plan)

        def make_agent(
            *,
            max_rewrites: int,
            topic_check: bool,
            router_order: RouterOrder,
            clarify: bool = False,
        ) -> SupportAgent:
            varied = {
                "max_rewrites": max_rewrites,
                "topic_check": topic_check,
                "router_order": plan.router_order
                if router_order == "evidence_first"
                else router_order,
                "rewrite_from": plan.rewrite_from,
                "clarify": clarify,
            }
            return composition.agent(composition.settings.model_copy(update=varied))

        return Lab(
            make_agent=make_agent,
            golden=composition.golden,
            k=composition.settings.k,
            max_bound=max(plan.max_bound, PUBLISHED_BOUND),
        )

    @cached_property
    def _uploads(self) -> tempfile.TemporaryDirectory[str]:
        """A folder that goes with the process."""
        return tempfile.TemporaryDirectory(prefix="loopscope-golden-")

    def _composition(self, plan: Plan) -> Composition:
        is_published = plan is PUBLISHED
        key = (plan.model, plan.golden, is_published)
        with self._lock:
            if key not in self._ready:
                changed: dict[str, object] = {"model": plan.model}
                if plan.golden is not None:
                    changed["golden"] = plan.golden
                if is_published:
                    changed |= {"docs": None, "index": None, "golden": None, "k": 2}
                settings = self._settings.model_copy(update=changed)
                self._ready[key] = Composition(settings)
                if len(self._ready) > MAX_COMPOSITIONS:
                    self._ready.popitem(last=False)
            self._ready.move_to_end(key)
            return self._ready[key]


class CancelledExperimentError(Exception):
    """Somebody stopped the experiment."""


class Experiment:
    """One run of the lab; `run` blocks, the rest tells of it meanwhile from another thread."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.done = 0
        self.total = 0
        self.report: LabReport | None = None
        self.problem: str | None = None
        self._is_stopped = threading.Event()

    @property
    def is_over(self) -> bool:
        """Whether it has ended, well or not."""
        return self.report is not None or self.problem is not None

    def cancel(self) -> None:
        """Stop before the next question."""
        self._is_stopped.set()

    def run(self, workbench: Workbench) -> None:
        """Ask everything; ends with `report` or `problem` set."""
        try:
            lab = workbench.lab(self.plan)
            self.total = lab.questions_to_ask
            self.report = lab.run(self._tick)
        except CancelledExperimentError:
            self.problem = f"cancelled after {self.done} of {self.total} questions"
        except Exception as error:  # noqa: BLE001 - the edge: shown where the result would be
            self.problem = str(error) or type(error).__name__

    def _tick(self) -> None:
        self.done += 1
        if self._is_stopped.is_set():
            raise CancelledExperimentError
