"""Default readers: they know LangChain's documents and messages, and this project's state keys.

A reader sees what a node returned and what it was given, and takes small copies. Keys are looked
for in the update first and then in the state, because a node may change a list in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import takewhile
from typing import Any, Final, TypeGuard

from telemetry import names
from telemetry.documents import document_id, field_of, id_and_score
from telemetry.facts import (
    Chunks,
    Critique,
    Grades,
    Readers,
    State,
    Statement,
    Update,
    Verdict,
    finite,
)

MAX_CHUNKS: Final = 200
"""Chunks looked at in one retrieval. Chosen by us."""

_CHUNK_KEYS: Final = ("chunks", "documents", "docs", "retrieved_documents", "retrieved_docs")
_ONE_CHUNK_KEYS: Final = ("chunk", "document", "doc")  # sent to a grader of one document
_QUERY_KEYS: Final = ("query", "search_query", "rewritten_question", "question")
_QUESTION_KEYS: Final = ("standalone", "standalone_question", "question", "query", "input")
_REPLY_KEYS: Final = ("reply", "answer", "generation", "response")
_STATEMENT_KEYS: Final = frozenset(
    ("outcome", "max_rewrites", "max_drafts", "judgement_failures", "messages", *_REPLY_KEYS)
)
_TOPIC_KEYS: Final = ("topic", "topic_verdict", "on_topic")
_SCORE_KEYS: Final = ("score", "critique_score")
_NOTE_KEYS: Final = ("critique", "feedback", "note")
_DRAFT_KEYS: Final = ("draft", *_REPLY_KEYS)
_GRADE_KEYS: Final = ("grade", "relevance", "relevant", "is_relevant", "binary_score")
_GRADE_WORDS: Final = {
    **dict.fromkeys(("pass", "passed", "yes", "true", "relevant", "good", "useful"), True),
    **dict.fromkeys(("fail", "failed", "no", "false", "irrelevant", "bad"), False),
    **dict.fromkeys(("not_relevant", "not relevant", "not_useful"), False),
}
_RELEVANT_WORDS: Final = frozenset(("relevant", "yes", "true", "on_topic", "on-topic"))
_IRRELEVANT_WORDS: Final = frozenset(
    ("irrelevant", "no", "false", "off_topic", "off-topic", "not_relevant")
)


def read_chunks(update: Update, state: State) -> Chunks | None:
    """Find documents: under a usual key, in any list of documents, or in a tool's message."""
    found = _first(update, state, _CHUNK_KEYS)
    if not _is_list(found):
        found = next((value for value in update.values() if _holds_documents(value)), None)
    if not _is_list(found):
        found = _from_tool_messages(update.get("messages"))
    if found is None:
        return None
    pairs = [id_and_score(item) for item in found[:MAX_CHUNKS]]
    return Chunks(
        ids=tuple([id_ for id_, _ in pairs]),
        scores=tuple([score for _, score in pairs]),
        query=_searched_for(update, state),
    )


def read_grades(update: Update, state: State, chunk_ids: Sequence[str]) -> Grades | None:
    """Find verdicts: this project's graded attempts, a flag, or the documents that were kept.

    An execution that was sent a single document says nothing of the others.
    """
    only = _first({}, state, _ONE_CHUNK_KEYS)
    if only is not None and (id_ := document_id(only)) in chunk_ids:
        chunk_ids = (id_,)
    attempts = update.get("attempts")
    if _is_list(attempts) and attempts and isinstance(attempts[-1], dict):
        graded = attempts[-1].get("chunks") or ()
        return Grades({id_and_score(c)[0]: _passed(c.get("grade")) for c in graded})
    for key in _GRADE_KEYS:
        value = update.get(key)
        if _is_list(value):
            if _holds_documents(value):  # those that it kept, not a verdict on each
                continue
            if len(value) == len(chunk_ids) or len(chunk_ids) == MAX_CHUNKS < len(value):
                verdicts = [_passed(_plain(item)) for item in value]
                return Grades(dict(zip(chunk_ids, verdicts, strict=False)))
        elif value is not None and (passed := _passed(_plain(value))) is not None:
            return Grades(dict.fromkeys(chunk_ids, passed))
    kept = next((update[key] for key in _CHUNK_KEYS if key in update), None)
    if _is_list(kept):
        ids = {id_and_score(item)[0] for item in kept[:MAX_CHUNKS]}
        return Grades({id_: id_ in ids for id_ in chunk_ids})
    return None


def read_verdict(update: Update, _: State) -> Verdict | None:
    """Find the topic verdict; a guard that states no confidence is taken to be sure."""
    topic = next((update[key] for key in _TOPIC_KEYS if key in update), None)
    if topic is None:
        return None
    said = _word(field_of(topic, "classification") or _plain(topic))
    if said in _IRRELEVANT_WORDS:
        classification = names.IRRELEVANT
    elif said in _RELEVANT_WORDS:
        classification = names.RELEVANT
    else:
        return None
    sure = _word(field_of(topic, "confidence") or names.CONFIDENCES[0])
    return Verdict(classification, sure if sure in names.CONFIDENCES else names.CONFIDENCES[0])


def read_critique(update: Update, state: State) -> Critique | None:
    """Find a score, a note and the draft they are of; a list of notes counts as one text."""
    score = next((update[key] for key in _SCORE_KEYS if key in update), None)
    noted = next((update[key] for key in _NOTE_KEYS if key in update), None)
    if score is None and noted is None and not update:
        return None
    if _is_list(noted):
        noted = "\n".join(_text(part) or "" for part in noted)
    draft = _first({}, state, _DRAFT_KEYS)
    return Critique(finite(score), _text(noted), _text(draft))


def read_query(update: Update, _: State) -> str | None:
    """Find the rewritten search words."""
    return _text_under(_QUERY_KEYS, update)


def read_question(update: Update, _: State) -> str | None:
    """Find the question, made standalone where the graph does that."""
    return _text_under(_QUESTION_KEYS, update)


def read_statement(update: Update, _: State) -> Statement | None:
    """Find what the update says about the turn: this project's keys, or a usual key of a reply.

    In a graph of messages the reply is what the model says to nobody's tool.
    """
    if _STATEMENT_KEYS.isdisjoint(update):
        return None
    get = update.get
    reply = next((update[key] for key in _REPLY_KEYS if get(key)), None)
    if reply is None and getattr(newest := _newest(get("messages")), "type", None) == "ai":
        reply = None if getattr(newest, "tool_calls", None) else newest
    outcome, reason, bound = _value(get("outcome")), get("reason"), get("max_rewrites")
    cited, failures = get("citations"), get("judgement_failures")
    failures = [f for f in failures if type(f) is dict] if _is_list(failures) else ()
    return Statement(
        outcome=outcome if isinstance(outcome, str) and outcome in names.OUTCOMES else None,
        reason=reason if isinstance(reason, str) else None,
        reply=reply if isinstance(reply, str) else _text(reply),
        cited=tuple([str(id_) for id_ in cited[:MAX_CHUNKS]]) if _is_list(cited) else (),
        max_rewrites=bound if type(bound) is int else None,
        max_drafts=cap if type(cap := get("max_drafts")) is int else None,
        failures=tuple([(f.get("role"), f.get("reason")) for f in failures]),
    )


DEFAULT_READERS: Final = Readers(
    chunks=read_chunks,
    grades=read_grades,
    verdict=read_verdict,
    critique=read_critique,
    query=read_query,
    question=read_question,
    statement=read_statement,
)


def _first(update: Update, state: State, keys: tuple[str, ...]) -> Any:
    """Return the first of the keys that the update has, else that the state has, else None."""
    for key in keys:
        if key in update:
            return update[key]
    for key in keys:
        value = state.get(key) if type(state) is dict else field_of(state, key)
        if value is not None:
            return value
    return None


def _plain(value: Any) -> Any:
    """Return the one field of a structured verdict, else the value."""
    for key in ("binary_score", "grade", "score", "relevant"):
        inner = field_of(value, key)
        if inner is not None:
            return inner
    return value


def _passed(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    if type(value) is str and value in _GRADE_WORDS:
        return _GRADE_WORDS[value]
    return _GRADE_WORDS.get(_word(value))


def _word(value: Any) -> str:
    """Return a verdict in small letters; that of an `Enum` is its value."""
    return str(_value(value)).strip().lower()


def _value(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def _is_list(value: Any) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    return isinstance(value, list | tuple)


def _holds_documents(value: Any) -> bool:
    if not _is_list(value) or not value:
        return False
    first = value[0][0] if isinstance(value[0], tuple) and value[0] else value[0]
    return hasattr(first, "page_content")


def _from_tool_messages(messages: Any) -> list[Any] | None:
    """Return the documents of the newest tool messages, or the text of each as one chunk.

    A model may call several tools at once: their messages are one retrieval.
    """
    found: list[Any] = []
    newest = messages[::-1] if _is_list(messages) else [messages]
    replies = [*takewhile(_is_of_a_tool, newest)]
    for message in replies[::-1]:
        artifact = getattr(message, "artifact", None)
        text = _text(message) or ""
        if _holds_documents(artifact):
            found += artifact or ()
        elif text.strip():
            found.append(text)
    return found if replies else None


def _is_of_a_tool(message: Any) -> bool:
    return getattr(message, "type", None) == "tool"


def _searched_for(update: Update, state: State) -> str | None:
    query = _first(update, state, _QUERY_KEYS)
    if isinstance(query, str):
        return query
    for message in reversed(_first({}, state, ("messages",)) or ()):
        for call in getattr(message, "tool_calls", None) or ():
            query = call.get("args", {}).get("query")
            return query if isinstance(query, str) else None
    return None


def _text_under(keys: tuple[str, ...], update: Update) -> str | None:
    """Return the text under the first of the keys there is, else the newest message's."""
    for key in keys:
        if key in update:
            found = update[key]
            return found if isinstance(found, str) else None
    return _text(_newest(update.get("messages")))


def _newest(messages: Any) -> Any:
    return messages[-1] if _is_list(messages) and messages else messages


def _text(message: Any) -> str | None:
    if message is None or isinstance(message, str):
        return message
    if isinstance(message, tuple) and len(message) == 2 and isinstance(message[1], str):
        return message[1]  # ("user", "text")
    content = field_of(message, "content")
    if isinstance(content, str):
        return content
    text = field_of(message, "text")
    return str(text) if isinstance(text, str) else None
