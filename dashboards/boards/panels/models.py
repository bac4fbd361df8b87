"""Panels of model calls: how many, how long, how many tokens, how many fail."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders import timeseries

from dashboards.boards.over_time import lines, stacked
from dashboards.boards.queries import Queries
from dashboards.boards.style import NUMBER, PER_MINUTE, SECONDS
from dashboards.boards.targets import Query
from telemetry import names

_CALLS: Final = f"{names.OPERATION_DURATION}_count"
_MODEL: Final = names.LABEL_REQUEST_MODEL


def calls_by_role(queries: Queries) -> timeseries.Panel:
    """Model calls a minute by role."""
    return stacked(
        "Model calls a minute, by role",
        "What the calls are made for. Grading grows with every rewrite.",
        PER_MINUTE,
        Query(expr=queries.per_minute(names.LLM_CALLS, by=(names.LABEL_ROLE,)), legend="{{role}}"),
        empty="no calls",
    )


def tokens(queries: Queries) -> timeseries.Panel:
    """Tokens a minute."""
    return stacked(
        "Tokens a minute",
        "As the models report them; a model that reports none is missing here.",
        PER_MINUTE,
        Query(
            expr=queries.per_minute(f"{names.TOKEN_USAGE}_sum", by=(names.LABEL_TOKEN_TYPE,)),
            legend="{{gen_ai_token_type}}",
        ),
        empty="no tokens reported",
    )


def tokens_per_call(queries: Queries) -> timeseries.Panel:
    """Mean tokens of a call."""
    by = (_MODEL, names.LABEL_TOKEN_TYPE)
    return lines(
        "Tokens a call",
        "Mean by model. Input that grows means longer chunks, prompts or histories.",
        NUMBER,
        Query(
            expr=queries.mean(names.TOKEN_USAGE, by=by),
            legend="{{gen_ai_request_model}} {{gen_ai_token_type}}",
        ),
        empty="no tokens reported",
    ).interval(queries.smoothing)


def failed_calls(queries: Queries) -> timeseries.Panel:
    """Calls by model, failed or not."""
    return stacked(
        "Model calls, good and failed",
        "A failed call has an error type. All models at once point at the network or the key.",
        PER_MINUTE,
        Query(
            expr=queries.per_minute(_CALLS, 'error_type=""', by=(_MODEL,)),
            legend="{{gen_ai_request_model}}",
        ),
        Query(
            expr=queries.per_minute(_CALLS, 'error_type!=""', by=(_MODEL, names.LABEL_ERROR_TYPE)),
            legend="failed: {{gen_ai_request_model}} {{error_type}}",
        ),
        empty="no calls",
    )


def judgement_failures(queries: Queries) -> timeseries.Panel:
    """Replies that were no verdict by role and reason."""
    return stacked(
        "Replies without a verdict, by reason",
        "`unparsed` points at the prompt or the model, `truncated` at the token limit, `refused` "
        "at a content filter.",
        PER_MINUTE,
        Query(
            expr=queries.per_minute(
                names.JUDGEMENT_FAILURES, by=(names.LABEL_ROLE, names.LABEL_REASON)
            ),
            legend="{{role}}: {{reason}}",
        ),
        empty="nothing is judged",
    )


def slow_models(queries: Queries) -> timeseries.Panel:
    """95th percentile of model time."""
    return lines(
        "Time of a model call, 95 of 100 are faster",
        "A provider that got slower shows here; more calls a turn do not.",
        SECONDS,
        Query(
            expr=queries.quantile(0.95, names.OPERATION_DURATION, by=(_MODEL,)),
            legend="{{gen_ai_request_model}}",
        ),
        empty="no calls",
    ).interval(queries.smoothing)
