"""Lab: the golden set at every bound, in the background, with a slider and runs side by side."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, get_args

from nicegui import background_tasks, events, ui

from agent.console import words
from agent.console.frame import frame, note, text
from agent.console.pages.lab_result import draw_result
from agent.console.sources import Sources
from agent.console.workbench import PUBLISHED, Experiment, Plan
from agent.errors import AgentError
from agent.settings import RewriteFrom, RouterOrder

LEAD = (
    "Ask a golden set at every bound on rewrites and see what each answers and costs. Nothing "
    "here counts in the metrics or the turn records."
)
MAX_KEPT = 8
"""Finished runs kept for a caller; chosen by us: more do not fit side by side."""
MAX_GOLDEN_BYTES = 1_000_000
TOO_LARGE = f"A golden set is a YAML file of at most {MAX_GOLDEN_BYTES:,} bytes: choose another."
OWN_SET = "golden set of the settings"


def build(sources: Sources, caller: str) -> None:
    """Draw the page for a caller."""
    with frame("/lab", "Lab", LEAD):
        _LabPage(sources, sources.experiments.setdefault(caller, [])).draw()


class _LabPage:
    """The form, the run under way, and the finished runs."""

    def __init__(self, sources: Sources, kept: list[Experiment]) -> None:
        self._sources = sources
        self._kept = kept
        self._golden: tuple[Path, str] | None = None
        self._shown: list[Experiment] = [e for e in kept if e.report is not None][-1:]

    def draw(self) -> None:
        if not self._sources.is_read_only:
            self._draw_form()
        self._progress = ui.element("section").props('aria-live="polite"')
        self._results = ui.element("section")
        self._draw_results()
        running = [experiment for experiment in self._kept if not experiment.is_over]
        if running:
            self._follow(running[-1])

    def _draw_form(self) -> None:
        with ui.element("section").classes("panel"):
            with ui.element("div").classes("row"):
                ui.button("Run the published example", on_click=lambda: self._start(PUBLISHED))
                text("one click: the stand-in model, five questions, bounds 0 to 3", "soft small")
            with ui.expansion("Your own run").classes("grow").style("margin-top: 8px"):
                self._draw_options()

    def _draw_options(self) -> None:
        settings = self._sources.settings
        models = list(dict.fromkeys(["golden", "local", settings.model]))
        with ui.element("div").classes("row"):
            model = ui.select(models, value=settings.model, label="Model")
            order = ui.select(list(get_args(RouterOrder)), value="evidence_first",
                              label="Router order")  # fmt: skip
            source = ui.select(list(get_args(RewriteFrom)), value=settings.rewrite_from,
                               label="Rewrite from")  # fmt: skip
            largest = ui.number("Largest bound", value=3, min=2, max=20, precision=0)
            for control in (model, order, source, largest):
                control.props("outlined dense").style("min-width: 150px")
        ui.upload(
            label="Golden set (YAML, optional)",
            auto_upload=True,
            max_file_size=MAX_GOLDEN_BYTES,
            on_upload=self._take_golden,
            on_rejected=lambda: self._refuse_golden(TOO_LARGE),
        ).props('flat bordered accept=".yaml,.yml"').style("margin: 12px 0; max-width: 100%")
        self._golden_said = text("", "soft small").props('role="status"')
        self._golden_problem = ui.element("div")

        def own() -> None:
            path, name = self._golden or (None, OWN_SET)
            self._start(
                Plan(
                    model=str(model.value),
                    golden=path,
                    golden_name=name,
                    max_bound=int(largest.value or 3),
                    router_order=order.value,
                    rewrite_from=source.value,
                )
            )

        ui.button("Run", on_click=own).props("unelevated")

    async def _take_golden(self, upload: events.UploadEventArguments) -> None:
        """Take an uploaded golden set; its first mistake is told at once."""
        name = upload.file.name
        if upload.file.size() > MAX_GOLDEN_BYTES:  # the browser asks before; another client may not
            self._refuse_golden(TOO_LARGE)
            return
        path = self._sources.workbench.keep(name, await upload.file.read())
        try:
            questions = await asyncio.to_thread(
                self._sources.workbench.questions, Plan(golden=path)
            )
        except AgentError as error:
            self._refuse_golden(str(error).replace(f"{path.parent}/", ""))
            return
        self._golden = path, name
        self._golden_problem.clear()
        told = words.counted(len(questions), "question")
        self._golden_said.say(f"Golden set: {name}, {told}.")

    def _refuse_golden(self, problem: str) -> None:
        """Say why a file is not taken; the set before it stays."""
        self._golden_problem.clear()
        with self._golden_problem:
            note(problem, is_bad=True)

    def _start(self, plan: Plan) -> None:
        if any(not experiment.is_over for experiment in self._kept):
            ui.notify("A run is under way: wait for it or cancel it.")
            return
        experiment = Experiment(plan)
        self._kept.append(experiment)
        del self._kept[:-MAX_KEPT]
        background_tasks.create(asyncio.to_thread(experiment.run, self._sources.workbench))
        self._follow(experiment)

    def _follow(self, experiment: Experiment) -> None:
        with self._progress:
            box = ui.element("div").classes("panel")
            with box, ui.element("div").classes("row"):
                said = text("Preparing the model …", "grow").props('role="status"')
                bar = ui.linear_progress(0, show_value=False).props("rounded").classes("grow")
                ui.button("Cancel", on_click=experiment.cancel).props("outline dense")

            def look() -> None:
                if experiment.total:
                    said.say(f"Asked {experiment.done} of {experiment.total} questions")
                    bar.value = experiment.done / experiment.total
                if not experiment.is_over:
                    return
                timer.cancel(with_current_invocation=False)
                box.delete()
                if experiment.problem is not None:
                    with self._progress:
                        note(f"The run ended: {experiment.problem}", is_bad=True)
                else:
                    self._shown = [experiment]
                self._draw_results()

            timer = ui.timer(0.25, look)

    def _draw_results(self) -> None:
        self._results.clear()
        finished = [experiment for experiment in self._kept if experiment.report is not None]
        with self._results:
            if not finished:
                note("No run yet. The published example takes a second or two.")
                return
            self._draw_choice(finished)
            with ui.element("div").classes("half" if len(self._shown) > 1 else ""):
                for experiment in self._shown:
                    if experiment.report is not None:
                        with ui.element("div"):
                            draw_result(experiment.plan.told, experiment.report,
                                        is_alone=len(self._shown) == 1)  # fmt: skip

    def _draw_choice(self, finished: list[Experiment]) -> None:
        names = {n: f"Run {n + 1}: {e.plan.told}" for n, e in enumerate(finished)}
        current = [n for n, e in enumerate(finished) if e in self._shown]

        def choose(event: events.ValueChangeEventArguments[Any]) -> None:
            self._shown = [finished[number] for number in sorted(event.value)[:2]]
            self._draw_results()

        with ui.element("div").classes("row").style("margin-bottom: 16px"):
            if len(finished) > 1:
                ui.select(names, value=current, multiple=True, label="Shown runs (two at most)",
                          on_change=choose).props("outlined dense").classes("grow")  # fmt: skip
            ui.button("Download as JSON", on_click=self._download).props("outline")

    def _download(self) -> None:
        reports = [
            {"plan": e.plan.told, **e.report.as_json()} for e in self._shown if e.report is not None
        ]
        ui.download.content(json.dumps(reports, indent=2), "loopscope-lab.json")
