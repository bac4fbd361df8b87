"""Whatever is sent to the API, it says what its own description says, and never fails."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from fakes import make_context
from hypothesis import HealthCheck, Phase, settings
from prometheus_client import CollectorRegistry
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from agent.api import create_app
from agent.conversing import Conversing
from agent.graph import build_graph
from agent.http.callers import Callers
from agent.memory.local import LocalStore
from agent.memory.memory import Memory
from agent.service import SupportAgent
from telemetry.content import ContentGate
from telemetry.families import metric_set
from telemetry.feedback import Feedback

EXAMPLES = 20
"""A path; all paths together take about ten seconds."""
KEY = {"Authorization": "Bearer k"}
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
    unsupported_method,
]


def make_app() -> Any:
    context = make_context({"grade": {"relevant": "yes"}})
    agent = SupportAgent(graph=build_graph(), context=context)
    families = metric_set(CollectorRegistry())
    return create_app(
        Conversing(lambda: agent, Memory(LocalStore())),
        lambda _: (b"a_metric 1\n", "text/plain"),
        callers=Callers({"k": "ann"}),
        feedback=Feedback(families, graph="g", gate=ContentGate()),
    )


schema = schemathesis.openapi.from_asgi("/openapi.json", make_app())


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_the_service_never_fails_and_keeps_to_its_description(case: Any) -> None:
    case.call_and_validate(headers=KEY, checks=CHECKS)


def test_every_path_is_described_with_an_example_of_its_body() -> None:
    described = schema.raw_schema["paths"]
    bodies = {
        path: operation["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        for path, operation in described.items()
        if "post" in operation
    }
    models = schema.raw_schema["components"]["schemas"]

    assert set(described) == {
        "/ask", "/ask/stream", "/conversations", "/conversations/{thread_id}", "/feedback",
        "/healthz", "/metrics", "/readyz", "/v1/chat/completions", "/v1/models",
        "/v1/models/{model}",
    }  # fmt: skip
    assert all("examples" in models[ref.rpartition("/")[2]] for ref in bodies.values())


@pytest.mark.parametrize("path", ["/ask", "/feedback", "/v1/chat/completions"])
def test_what_a_body_needs_is_described(path: str) -> None:
    operation = schema.raw_schema["paths"][path]["post"]

    assert {"200", "401", "413", "415", "422"} <= set(operation["responses"])
