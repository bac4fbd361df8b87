"""The composition root: settings in, an observed agent out; the one place that knows every part."""

from __future__ import annotations

import copy
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever
from prometheus_client import CollectorRegistry

from agent.context import AgentContext
from agent.documents import open_index, subjects_of
from agent.errors import EmptyCorpusError, GoldenFileError, NoGoldenSetError
from agent.golden import GOLDEN_FILE, GoldenSet, load_golden
from agent.graph import NAME, SupportGraph, build_graph
from agent.memory.store import Size
from agent.models.build import ModelSettings, build_model
from agent.models.golden import GoldenChat
from agent.models.local.chat import LocalChat
from agent.models.requests import prompt_version
from agent.models.support import SupportModel
from agent.observer import Observer
from agent.parts import Parts
from agent.retrieval.second_source import load_retriever
from agent.retrieval.tfidf import TfidfRetriever
from agent.routers import GRADING_ROUTERS
from agent.service import SupportAgent
from agent.settings import Settings
from agent.state import Role
from telemetry import names
from telemetry.content import ContentGate
from telemetry.endpoints import ExportOptions
from telemetry.environment import report_tracers, silence_tracers
from telemetry.export import Export, make_export, setup_export
from telemetry.exposition import scrape
from telemetry.families import metric_set
from telemetry.feedback import Feedback
from telemetry.instrumentation import instrument
from telemetry.probe import Records
from telemetry.records import RecordSink
from telemetry.topology import node_paths

if TYPE_CHECKING:
    from telemetry.drift import DriftModel

ROLES: Final = {
    "enhance_query": names.ENHANCE,
    "validate_topic": names.GUARD,
    "handle_off_topic": names.OFF_TOPIC,
    "fetch_content": names.RETRIEVE,
    "assess_relevance": names.GRADE,
    "generate_response": names.ANSWER,
    "optimize_query": names.REWRITE,
    "handle_no_results": names.NO_RESULTS,
}
"""What each of our eight nodes is to telemetry."""
BRANCH_ROLES: Final = {
    "ask_clarification": names.CLARIFY,
    "generate_response/write_draft": names.REVISE,
    "generate_response/critique_draft": names.CRITIQUE,
    "search_fallback": names.RETRIEVE,
    "assess_fallback": names.GRADE,
}
"""The same for the nodes of the branches."""


class Composition:
    """The parts that take long to make, made once; agents that differ in cheap settings from them.

    Tracers of others that are on in this process are told of, or switched off with `local_only`.

    Args:
        settings: The user's settings.
        registry: Where the metrics go; a fresh one by default, so that two compositions in a
            process do not count together.
        records: Takes each finished turn; None keeps none.

    Raises:
        AgentError: Documents, index, golden set or model cannot be used; the message says why.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        registry: CollectorRegistry | None = None,
        records: Records | None = None,
    ) -> None:
        if settings.local_only:
            silence_tracers()
        else:
            report_tracers()
        self.settings = settings
        self.registry = registry if registry is not None else CollectorRegistry()
        self._observer = Observer(records)
        self.index = open_index(settings)
        self.chat = self._model(settings.model, settings.base_url)
        second = settings.second_model
        self.second = self._model(second, settings.second_base_url) if second is not None else None

    def _model(self, name: str, base_url: str | None) -> BaseChatModel:
        return build_model(
            name,
            in_process={
                "golden": lambda: GoldenChat(golden=self.golden),
                "local": lambda: LocalChat.fit(self.index.chunks, index=self.index),
            },
            settings=ModelSettings(
                timeout_seconds=self.settings.model_timeout_seconds, base_url=base_url
            ),
        )

    @cached_property
    def fallback(self) -> BaseRetriever | None:
        """The second source; None when no setting names one."""
        name = self.settings.fallback
        return load_retriever(name) if name is not None else None

    @cached_property
    def _by_role(self) -> dict[Role, BaseChatModel]:
        name = self.settings.revise_model if self.settings.revise else None
        return {"revise": self._model(name, self.settings.base_url)} if name is not None else {}

    @cached_property
    def golden(self) -> GoldenSet:
        """The golden set; read when first needed, since own documents may have none.

        Raises:
            GoldenFileError: It cannot be read, or an entry is wrong.
            NoGoldenSetError: None was given, and ours is not about these documents.
        """
        known = {chunk.id for chunk in self.index.chunks}
        try:
            return load_golden(self.settings.golden or GOLDEN_FILE, known)
        except GoldenFileError:
            if self.settings.golden is None:
                raise NoGoldenSetError() from None
            raise

    @cached_property
    def drift(self) -> DriftModel:
        """The measure of how far a rewrite is from its question, fitted on the documents."""
        from telemetry.drift import DriftModel  # takes long to import; few turns need it

        return DriftModel.fit([chunk.text for chunk in self.index.chunks])

    def with_registry(self, registry: CollectorRegistry) -> Composition:
        """Return a composition of the same parts that counts elsewhere, as another service does."""
        _ = self.drift  # made once for both
        other = copy.copy(self)
        other.__dict__.pop("default_agent", None)
        other.registry = registry
        return other

    @cached_property
    def default_agent(self) -> SupportAgent:
        """The agent of the user's own settings."""
        return self.agent(self.settings)

    def parts(self, settings: Settings) -> Parts:
        """Return what an agent with these settings is put together from."""
        return Parts(
            chat=self.chat,
            retriever=TfidfRetriever(index=self.index, k=settings.k),
            route_after_grading=GRADING_ROUTERS[settings.router_order],
            grader=settings.model,
        )

    def build(self, parts: Parts) -> dict[str, str]:
        """Return what an agent of these parts is built from: the labels of `rag_build_info`."""
        return {
            names.LABEL_INDEX: parts.retriever.index.fingerprint,
            names.LABEL_PROMPT: prompt_version(),
            names.LABEL_GRADER: parts.grader,
            names.LABEL_MODEL: self.settings.model,
        }

    def agent(self, settings: Settings, parts: Parts | None = None) -> SupportAgent:
        """Return an observed agent.

        Args:
            settings: May differ from the composition's in the shape of the graph, the bound, k,
                `min_score` and what the rewriter reads; documents and model stay the same.
            parts: Other parts than those of the settings.
        """
        parts = parts or self.parts(settings)
        graph = build_graph(
            topic_check=settings.topic_check,
            branches=settings.branches,
            route_after_grading=parts.route_after_grading,
        )
        subjects = subjects_of(settings, self.index.chunks)
        return SupportAgent(
            graph=self._observed(graph, settings, parts),
            context=AgentContext(
                model=SupportModel(
                    parts.chat, by_role=self._by_role, second=self.second, subjects=subjects
                ),
                retriever=parts.retriever,
                max_rewrites=settings.max_rewrites,
                max_drafts=settings.max_drafts if settings.revise else 0,
                fallback=self.fallback if settings.fallback else None,
                fallback_chunks=settings.k,
                rewrite_from=settings.rewrite_from,
                min_score=settings.min_score,
                subjects=subjects,
            ),
            limit=settings.recursion_limit,
            take_observation=self._observer.take,
        )

    def set_up_export(self) -> Export:
        """Send spans and events where the `OTEL_*` variables say."""
        options = ExportOptions(service_version=self.settings.version)
        books = metric_set(self.registry)
        return setup_export(options, dropped=books.dropped, failed=books.failed)

    def keep_records(self, url: str) -> None:
        """Keep a record of each turn from now on, in a SQLite file or a PostgreSQL database.

        Raises:
            TelemetryError: The address makes no sense, or its driver is not installed.
        """
        self._observer.records = RecordSink(
            url,
            gate=ContentGate.from_environment(),
            dropped=metric_set(self.registry).dropped,
            failed=metric_set(self.registry).failed,
        )

    def feedback(self) -> Feedback:
        """Return what takes people's verdicts on this composition's answers."""
        return Feedback(metric_set(self.registry), graph=NAME, gate=ContentGate.from_environment())

    def count_conversations(self, size: Size) -> None:
        """Show how much the memory keeps."""
        gauges = metric_set(self.registry).gauges
        gauges[names.CONVERSATIONS].labels(NAME).set(size.conversations)
        gauges[names.CONVERSATION_BYTES].labels(NAME).set(size.bytes)

    async def check_index(self) -> None:
        """Make sure that there is something to search in.

        Raises:
            EmptyCorpusError: There is nothing.
        """
        if not self.index.chunks:
            raise EmptyCorpusError("the index", "no chunk")

    def exposition(self, accept: str | None) -> tuple[bytes, str]:
        """Return the metrics and their content type, in the format that a scraper accepts."""
        found = scrape("/metrics", accept=accept or "", registry=self.registry)
        return found.body, found.content_type

    def _observed(self, graph: SupportGraph, settings: Settings, parts: Parts) -> SupportGraph:
        paths = set(node_paths(graph))
        roles = {n: role for n, role in (ROLES | BRANCH_ROLES).items() if n in paths}
        export = self._own_export(parts.otlp_endpoint)
        return instrument(
            graph,
            roles=roles,
            name=NAME,
            version=settings.version,
            registry=self.registry,
            tracer_provider=export.tracer_provider if export else None,
            logger_provider=export.logger_provider if export else None,
            records=self._observer,
            similarity=partial(_similarity, self),
            build=self.build(parts),
            max_rewrites=settings.max_rewrites,
        )

    def _own_export(self, endpoint: str | None) -> Export | None:
        """Make an export for one agent alone; its losses count in the same registry."""
        if endpoint is None:
            return None
        options = ExportOptions(endpoint=endpoint)
        books = metric_set(self.registry)
        return make_export(options, dropped=books.dropped, failed=books.failed)


def _similarity(composition: Composition, question: str, query: str) -> float | None:
    return composition.drift.similarity(question, query)
