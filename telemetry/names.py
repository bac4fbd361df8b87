"""Every span, attribute, metric and label name, every closed set and every bucket, spelled once.

The GenAI names follow revision v0.1.0 of the OpenTelemetry GenAI semantic conventions (repository
`open-telemetry/semantic-conventions-genai`). What that revision has no name for starts with
`rag.` (attributes) or `rag_` (metrics); no new `gen_ai.` name is made here.
"""

from __future__ import annotations

from typing import Final

CONVENTIONS: Final = "v0.1.0"
"""Revision of the OpenTelemetry GenAI semantic conventions that the `gen_ai.` names follow."""
SCOPE: Final = "loopscope.telemetry"
"""Name of the tracer and of the logger: the instrumentation scope of everything exported."""

# ---------------------------------------------------------------------------------------------
# Closed sets
# ---------------------------------------------------------------------------------------------
ANSWERED: Final = "answered"
NO_RESULTS: Final = "no_results"
OFF_TOPIC: Final = "off_topic"
CLARIFY: Final = "clarify"
GAVE_UP: Final = "gave_up"
RECURSION_LIMIT: Final = "recursion_limit"
ERROR: Final = "error"
CANCELLED: Final = "cancelled"
INTERRUPTED: Final = "interrupted"
OUTCOMES: Final = (
    ANSWERED, NO_RESULTS, OFF_TOPIC, CLARIFY, GAVE_UP, RECURSION_LIMIT, ERROR, CANCELLED,
    INTERRUPTED,
)  # fmt: skip
"""How a turn ended. `interrupted` is provisional: the turn waits for a person, and the run that
resumes it is counted again under its own end. So the questions that came to an end are the sum of
all the others, and every call of the graph is in exactly one of them."""

OTHER: Final = "other"
"""Stands for every value outside a closed set or above a cap."""
OUTCOME_GROUPS: Final = (ANSWERED, NO_RESULTS, OTHER)
"""The label `outcome` of the three histograms of a turn; nine values would cost 180 series."""

YES: Final = "yes"
NO: Final = "no"
RETRIEVED: Final = (YES, NO)

PASS: Final = "pass"
FAIL: Final = "fail"
NONE: Final = "none"
GRADES: Final = (PASS, FAIL)
GRADES_OR_NONE: Final = (PASS, FAIL, NONE)

TURN_ENDS: Final = (
    (ANSWERED, YES, PASS), (ANSWERED, YES, NONE), (ANSWERED, YES, FAIL), (ANSWERED, NO, NONE),
    (NO_RESULTS, YES, FAIL), (NO_RESULTS, YES, NONE), (NO_RESULTS, YES, PASS),
    (OFF_TOPIC, NO, NONE),
    (CLARIFY, NO, NONE),
    (GAVE_UP, YES, FAIL),
    *((outcome, retrieved, grade)
      for outcome in (RECURSION_LIMIT, ERROR, CANCELLED, INTERRUPTED)
      for retrieved, grade in ((NO, NONE), (YES, NONE), (YES, FAIL), (YES, PASS))),
)  # fmt: skip
"""(outcome, retrieved, last_grade) of the `rag_turns_total` series that exist from the start: what
a sound graph can reach, and two it must not reach: `no_results` although the last grading passed a
chunk (budget checked first), and `answered` although it passed none."""

REVISE_ENDS: Final = ((GAVE_UP, YES, PASS), (GAVE_UP, YES, NONE))
"""The same for a graph that revises: it may give up with good chunks in hand."""

ENHANCE: Final = "enhance"
GUARD: Final = "guard"
RETRIEVE: Final = "retrieve"
GRADE: Final = "grade"
REWRITE: Final = "rewrite"
ANSWER: Final = "answer"
CRITIQUE: Final = "critique"
REVISE: Final = "revise"
"""Also the name of the loop that drafts, critiques and revises, in the label `loop`."""
ROLES: Final = (
    ENHANCE, GUARD, RETRIEVE, GRADE, REWRITE, ANSWER, OFF_TOPIC, NO_RESULTS, CLARIFY, REVISE,
    CRITIQUE,
)  # fmt: skip
"""What a node does. A node without a role has the label `none`."""
CALLING_ROLES: Final = (ENHANCE, GUARD, GRADE, REWRITE, ANSWER, CLARIFY, REVISE, CRITIQUE)
"""Roles whose nodes usually call a model: their call counters exist as soon as a model does."""
JUDGING_ROLES: Final = (GUARD, GRADE, CRITIQUE)
"""Roles whose model gives a verdict: their failure series exist from the start."""
TERMINAL_OUTCOMES: Final = {
    ANSWER: ANSWERED, OFF_TOPIC: OFF_TOPIC, NO_RESULTS: NO_RESULTS, CLARIFY: CLARIFY,
}  # fmt: skip
"""Role of the node that ended the turn -> outcome, for a graph that states none itself."""

RELEVANT: Final = "relevant"
IRRELEVANT: Final = "irrelevant"
CLASSIFICATIONS: Final = (RELEVANT, IRRELEVANT)
CONFIDENCES: Final = ("high", "medium", "low")

HIT: Final = "hit"
EMPTY: Final = "empty"
RETRIEVAL_RESULTS: Final = (HIT, EMPTY, ERROR)
ATTEMPTS: Final = ("0", "1", "2", "3_plus")
"""Label `attempt` of a retrieval or grading: rewrites made before it in the turn."""
REWRITE_ATTEMPTS: Final = ATTEMPTS[1:]
"""Label `attempt` of a rewrite: 1 for the first of the turn."""

NEW_CHUNKS: Final = "new_chunks"
SAME_CHUNKS: Final = "same_chunks"
SAME_CHUNKS_AND_SCORES: Final = "same_chunks_and_scores"
NOTHING_MATCHED: Final = "nothing_matched"
EFFECTS: Final = (NEW_CHUNKS, SAME_CHUNKS, SAME_CHUNKS_AND_SCORES, NOTHING_MATCHED)
"""What a rewrite did to the retrieval. `same_chunks_and_scores` is the synonym swap."""

LOOPS: Final = (REVISE,)
"""Label `loop`. The rewrite loop has metrics of its own, which are older."""
PASSED: Final = "passed"
AT_CAP: Final = "at_cap"
STOPPED: Final = "stopped"
LOOP_ENDS: Final = (PASSED, AT_CAP, STOPPED)
"""How a loop ended: with a draft that passed, with its drafts used up, or otherwise."""
SCORE_ROSE: Final = "score_rose"
SCORE_NOT_RISEN: Final = "score_not_risen"
STALE_CRITIQUE: Final = "stale_critique"
REVISION_EFFECTS: Final = (SCORE_ROSE, SCORE_NOT_RISEN, STALE_CRITIQUE)
"""What a revision did. A stale critique is that of an earlier draft, whatever the score."""

FAILURE_REASONS: Final = (
    "none", "unparsed", "ambiguous", "refused", "truncated", "timeout", "rate_limit", "error",
)  # fmt: skip
"""Why a model's reply could not be used as a judgement."""
FAILED_CALL_REASONS: Final = ("timeout", "rate_limit", "error")
"""Those that tell of a call that failed; with the others the model replied, but not a verdict."""

INPUT: Final = "input"
OUTPUT: Final = "output"
TOKEN_TYPES: Final = (INPUT, OUTPUT)

UP: Final = "up"
DOWN: Final = "down"
VERDICTS: Final = (UP, DOWN)
"""What a person said of an answer: the label `verdict`, and the label of its evaluation."""

SIGNALS: Final = ("spans", "events", "records")
"""Label `signal` of what telemetry had to drop."""
PLACES: Final = ("run", "node", "model", "reader", "record", "export")
"""Label `where` of telemetry's own failures."""

# ---------------------------------------------------------------------------------------------
# Labels of metrics
# ---------------------------------------------------------------------------------------------
LABEL_GRAPH: Final = "graph"
LABEL_VERSION: Final = "version"
LABEL_OUTCOME: Final = "outcome"
LABEL_RETRIEVED: Final = "retrieved"
LABEL_LAST_GRADE: Final = "last_grade"
LABEL_CLASSIFICATION: Final = "classification"
LABEL_CONFIDENCE: Final = "confidence"
LABEL_RESULT: Final = "result"
LABEL_ATTEMPT: Final = "attempt"
LABEL_GRADE: Final = "grade"
LABEL_EFFECT: Final = "effect"
LABEL_ROLE: Final = "role"
LABEL_MODEL: Final = "model"
LABEL_NODE: Final = "node"
LABEL_ERROR_TYPE: Final = "error_type"
LABEL_LOOP: Final = "loop"
LABEL_END: Final = "end"
LABEL_ROUTER: Final = "router"
LABEL_ROUTE: Final = "route"
LABEL_REASON: Final = "reason"
LABEL_INDEX: Final = "index"
LABEL_PROMPT: Final = "prompt"
LABEL_GRADER: Final = "grader"
LABEL_SIGNAL: Final = "signal"
LABEL_QUESTION_ID: Final = "question_id"
"""Place of a question in the golden file, 1 for the first; a closed set for each prober."""
LABEL_EXPECTED: Final = "expected"
LABEL_GOT: Final = "got"
LABEL_VERDICT: Final = "verdict"
LABEL_WHERE: Final = "where"
LABEL_OPERATION: Final = "gen_ai_operation_name"
LABEL_PROVIDER: Final = "gen_ai_provider_name"
LABEL_REQUEST_MODEL: Final = "gen_ai_request_model"
LABEL_TOKEN_TYPE: Final = "gen_ai_token_type"

MARK_TAG: Final = "loopscope"
"""Tag of the annotations in Grafana that the boards show."""

EXEMPLAR_TRACE_ID: Final = "trace_id"
"""Exemplar label that holds the trace id; the name a Grafana data source must link on."""
EXEMPLAR_SPAN_ID: Final = "span_id"

# ---------------------------------------------------------------------------------------------
# Metrics (the name as scraped; a counter ends in `_total`)
# ---------------------------------------------------------------------------------------------
TURNS: Final = "rag_turns_total"
"""Counter. Finished turns. Labels: graph, version, outcome, retrieved, last_grade."""
TOPIC_CHECKS: Final = "rag_topic_checks_total"
"""Counter. Verdicts of the guard. Labels: graph, classification, confidence."""
RETRIEVALS: Final = "rag_retrievals_total"
"""Counter. Runs of a retrieve node. Labels: graph, version, result, attempt."""
GRADES_GIVEN: Final = "rag_grades_total"
"""Counter. Chunks graded. Labels: graph, version, grade, attempt."""
REWRITES: Final = "rag_rewrites_total"
"""Counter. Rewrites whose retrieval came back. Labels: graph, version, effect, attempt."""
REWRITES_PER_TURN: Final = "rag_rewrites_per_turn"
"""Histogram, rewrites. Labels: graph, outcome (`OUTCOME_GROUPS`)."""
CHUNK_SCORE: Final = "rag_chunk_score"
"""Histogram, the retriever's own unit. Labels: graph, version, grade (pass, fail, none)."""
REWRITE_SIMILARITY: Final = "rag_rewrite_similarity"
"""Histogram, likeness of a rewrite to the standalone question, 0 to 1. Labels: graph, attempt."""
ANSWERED_AFTER_DRIFT: Final = "rag_answered_after_drift_total"
"""Counter. Turns answered although their rewrites had drifted. Label: graph."""
RECURSION_ERRORS: Final = "rag_recursion_errors_total"
"""Counter. Turns that hit a recursion limit, in the outer or in an inner graph. Label: graph."""
LLM_CALLS: Final = "rag_llm_calls_total"
"""Counter. Chat model calls. Labels: graph, role, model."""
LLM_CALLS_PER_TURN: Final = "rag_llm_calls_per_turn"
"""Histogram, calls. Labels: graph, outcome (`OUTCOME_GROUPS`)."""
TURN_DURATION: Final = "rag_turn_duration_seconds"
"""Histogram, seconds. Wall time of a turn. Labels: graph, outcome (`OUTCOME_GROUPS`)."""
NODE_DURATION: Final = "rag_node_duration_seconds"
"""Histogram, seconds. Wall time of one node execution. Labels: graph, node, role."""
NODE_ERRORS: Final = "rag_node_errors_total"
"""Counter. Node executions that ended in an exception. Labels: graph, node, error_type."""
ROUTES: Final = "rag_routes_total"
"""Counter. Choices of a router. Labels: graph, router (node it leaves), route (node it chose)."""
JUDGEMENT_FAILURES: Final = "rag_judgement_failures_total"
"""Counter. Model replies that were no judgement. Labels: graph, role, reason."""
LOOP_ENDS_TOTAL: Final = "rag_loop_ends_total"
"""Counter. Turns in which the loop ran, by how it ended. Labels: graph, loop, end."""
REVISIONS: Final = "rag_revisions_total"
"""Counter. Drafts after the first that were critiqued. Labels: graph, loop, effect."""
TERMINAL_CONFLICTS: Final = "rag_terminal_conflicts_total"
"""Counter. Turns in which nodes of two terminal roles ran. Label: graph."""
PROBE_TURNS: Final = "rag_probe_turns_total"
"""Counter. Finished turns that a probe asked for, which no other series counts. Label: graph."""
FEEDBACK: Final = "rag_feedback_total"
"""Counter. What people said of answers. Label: verdict."""
PROBES: Final = "rag_probe_total"
"""Counter of the prober. Known questions asked. Labels: question_id, expected, got."""
PROBE_UNEXPECTED: Final = "rag_probe_unexpected_in_a_row"
"""Gauge of the prober. Rounds in a row in which a question came out unlike expected. Label:
question_id."""
PROBE_DURATION: Final = "rag_probe_duration_seconds"
"""Histogram of the prober, seconds. From a question to its whole reply."""
PROBE_LAST_ROUND: Final = "rag_probe_last_round_timestamp_seconds"
"""Gauge of the prober, Unix time. When every question had been asked once more."""
OPEN_TURNS: Final = "rag_open_turns"
"""Gauge. Turns that have started and not ended. Label: graph."""
TOKEN_USAGE: Final = "gen_ai_client_token_usage"
"""Histogram, tokens of one model call. Labels: the convention's, with `_` for `.`."""
OPERATION_DURATION: Final = "gen_ai_client_operation_duration_seconds"
"""Histogram, seconds of one model call. Labels: the convention's, and error_type."""
CONVERSATIONS: Final = "rag_conversations"
"""Gauge. Conversations that a service keeps, in whatever store. Label: graph."""
CONVERSATION_BYTES: Final = "rag_conversation_bytes"
"""Gauge, bytes. What they take in their store. Label: graph."""
RECURSION_LIMIT_GAUGE: Final = "rag_recursion_limit"
"""Gauge. Supersteps allowed to the latest turn. Label: graph."""
RECURSION_STEPS_NEEDED: Final = "rag_recursion_steps_needed"
"""Gauge. Supersteps of the longest bounded path; the limit must be larger. Label: graph."""
REWRITE_BUDGET: Final = "rag_rewrite_budget"
"""Gauge. Rewrites allowed a turn. Label: graph."""
BUILD_INFO: Final = "rag_build_info"
"""Gauge, always 1. Labels: graph, version, index, prompt, grader, model."""
TELEMETRY_DROPPED: Final = "rag_telemetry_dropped_total"
"""Counter. Items telemetry gave up on. Label: signal."""
TELEMETRY_ERRORS: Final = "rag_telemetry_errors_total"
"""Counter. Failures inside telemetry; the graph never sees them. Label: where."""

# ---------------------------------------------------------------------------------------------
# Buckets (upper bounds; chosen by us unless a source is named)
# ---------------------------------------------------------------------------------------------
REWRITES_BUCKETS: Final = (0.5, 1.5, 2.5, 3.5, 5.5)
LLM_CALLS_BUCKETS: Final = (1.5, 2.5, 4.5, 7.5, 10.5, 14.5, 20.5, 30.5)
SCORE_BUCKETS: Final = (
    0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
)  # fmt: skip
SIMILARITY_BUCKETS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
TURN_DURATION_BUCKETS: Final = (0.5, 2.5, 5.0, 10.0, 20.0, 40.0, 120.0)
"""Seconds. Latency objectives must be one of these, below the last."""
NODE_DURATION_BUCKETS: Final = (0.05, 0.5, 5.0, 60.0)
"""Seconds. Few, because each bucket is one series a node: with them the eight-node agent and its
model have 396 series, failed calls included, of the 400 that a replica may have."""
TOKEN_BUCKETS: Final = tuple(4**power for power in range(14))
"""Tokens, 1 to 67,108,864. Source: GenAI conventions, `gen_ai.client.token.usage`."""
OPERATION_DURATION_BUCKETS: Final = tuple(round(0.01 * 2**power, 2) for power in range(14))
"""Seconds, 0.01 to 81.92. Source: GenAI conventions, `gen_ai.client.operation.duration`."""

# ---------------------------------------------------------------------------------------------
# Spans and events
# ---------------------------------------------------------------------------------------------
SPAN_TURN: Final = "invoke_workflow {graph}"
SPAN_NODE: Final = "node {node}"
SPAN_CHAT: Final = "chat {model}"
SPAN_RETRIEVAL: Final = "retrieval {source}"
SPAN_FEEDBACK: Final = "feedback {graph}"
"""What a person said after the turn, where there is no log of events: its own span has ended."""

EVENT_EVALUATION: Final = "gen_ai.evaluation.result"
EVENT_RETRY: Final = "rag.retry"
"""On a node's span: an attempt failed and the retry policy tries again."""
EVENT_INTERRUPTED: Final = "rag.interrupted"
"""On a node's span: the node paused the graph for a person."""
EVENT_EXCEPTION: Final = "exception"
EVENT_INFERENCE: Final = "gen_ai.client.inference.operation.details"
"""Holds the messages of a call, when content is asked for on events."""

IN_PROCESS_PROVIDER: Final = "loopscope"
"""`ls_provider` of a chat model that runs in this process: its span is INTERNAL."""

# ---------------------------------------------------------------------------------------------
# Attributes of the conventions
# ---------------------------------------------------------------------------------------------
OPERATION_NAME: Final = "gen_ai.operation.name"
OPERATION_TURN: Final = "invoke_workflow"
OPERATION_CHAT: Final = "chat"
OPERATION_TEXT: Final = "text_completion"
OPERATION_RETRIEVAL: Final = "retrieval"
AGENT_NAME: Final = "gen_ai.agent.name"
AGENT_VERSION: Final = "gen_ai.agent.version"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
PROVIDER_NAME: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
REQUEST_TEMPERATURE: Final = "gen_ai.request.temperature"
REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"
REQUEST_STREAM: Final = "gen_ai.request.stream"
RESPONSE_ID: Final = "gen_ai.response.id"
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESPONSE_FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
USAGE_INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
USAGE_OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
USAGE_CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
USAGE_REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
TIME_TO_FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
DATA_SOURCE_ID: Final = "gen_ai.data_source.id"
RETRIEVAL_TOP_K: Final = "gen_ai.retrieval.top_k"
EVALUATION_NAME: Final = "gen_ai.evaluation.name"
EVALUATION_LABEL: Final = "gen_ai.evaluation.score.label"
EVALUATION_VALUE: Final = "gen_ai.evaluation.score.value"
EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"
"""Text of a person: only when content is asked for."""
ERROR_TYPE: Final = "error.type"
SYNTHETIC_TYPE: Final = "user_agent.synthetic.type"
"""On a turn that a probe asked for: `test`. Level: development, general conventions."""
SYNTHETIC_TEST: Final = "test"
EXCEPTION_TYPE: Final = "exception.type"

# Content: present only when content capture is on.
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
RETRIEVAL_QUERY: Final = "gen_ai.retrieval.query.text"
RETRIEVAL_DOCUMENTS: Final = "gen_ai.retrieval.documents"
EXCEPTION_MESSAGE: Final = "exception.message"
EXCEPTION_STACKTRACE: Final = "exception.stacktrace"
REWRITE_QUERY: Final = "rag.rewrite.query"
CONTENT_ATTRIBUTES: Final = (
    INPUT_MESSAGES, OUTPUT_MESSAGES, RETRIEVAL_QUERY, RETRIEVAL_DOCUMENTS, EXCEPTION_MESSAGE,
    EXCEPTION_STACKTRACE, REWRITE_QUERY, EVALUATION_EXPLANATION,
)  # fmt: skip
"""The only keys under which text of people, documents or models may leave the process."""

# ---------------------------------------------------------------------------------------------
# Attributes of our own
# ---------------------------------------------------------------------------------------------
RAG_OUTCOME: Final = "rag.outcome"
RAG_REASON: Final = "rag.reason"
RAG_TOPIC_CLASSIFICATION: Final = "rag.topic.classification"
RAG_TOPIC_CONFIDENCE: Final = "rag.topic.confidence"
RAG_REWRITES: Final = "rag.rewrites"
RAG_MAX_REWRITES: Final = "rag.max_rewrites"
RAG_LLM_CALLS: Final = "rag.llm_calls"
RAG_RETRIEVALS: Final = "rag.retrievals"
RAG_SYNONYM_SWAPS: Final = "rag.synonym_swaps"
RAG_DRIFTED: Final = "rag.drifted"
RAG_BUDGET_FIRST: Final = "rag.budget_first"
RAG_CONFLICT: Final = "rag.conflict"
"""True when nodes of two terminal roles ran in the turn."""
RAG_RECURSION_LIMIT: Final = "rag.recursion_limit"
RAG_LAST_NODE: Final = "rag.last_node"
"""Node that ran last, on a turn that did not end by itself."""
RAG_FINDINGS: Final = "rag.findings"
"""Names of the detectors that found something in the turn."""
RAG_NODE: Final = "rag.node"
RAG_ROLE: Final = "rag.role"
RAG_STEP: Final = "rag.step"
RAG_ATTEMPT: Final = "rag.attempt"
"""Rewrites made so far in the turn, 0 for none; on a rewrite its own number, 1 for the first."""
RAG_TRIES: Final = "rag.tries"
"""Times the node was started by its retry policy; absent when once."""
RAG_CACHED: Final = "rag.cached"
"""True on a node that LangGraph's node cache served: it did not run."""
RAG_CHUNK_IDS: Final = "rag.chunk.ids"
RAG_CHUNK_SCORES: Final = "rag.chunk.scores"
RAG_GRADES: Final = "rag.grades"
RAG_GRADE_PASSED: Final = "rag.grade.passed"
RAG_REWRITE_SIMILARITY: Final = "rag.rewrite.similarity"
RAG_REWRITE_EFFECT: Final = "rag.rewrite.effect"
RAG_LOOP: Final = "rag.loop"
"""On what belongs to a loop of drafts, and on its turn: `revise`."""
RAG_LOOP_END: Final = "rag.loop.end"
RAG_DRAFT: Final = "rag.draft"
"""Number of the draft, 1 for the first."""
RAG_DRAFTS: Final = "rag.drafts"
RAG_MAX_DRAFTS: Final = "rag.max_drafts"
RAG_CRITIQUE_SCORE: Final = "rag.critique.score"
RAG_CRITIQUE_SCORES: Final = "rag.critique.scores"
RAG_CRITIQUE_EFFECT: Final = "rag.critique.effect"
"""What the revision that is judged did, one of `REVISION_EFFECTS`."""
RAG_NON_FINITE: Final = "rag.non_finite"
"""True when a NaN or an infinity was left out of the span's attributes."""
RAG_TRUNCATED: Final = "rag.truncated"
"""True when a value was cut or left out to keep the span small."""
