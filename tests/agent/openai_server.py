"""A small server that speaks OpenAI's chat protocol on loopback and plays a script of replies.

A reply is a function of the handler and the request's body. The last one of a script repeats.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]


class OpenAIServer:
    """Records the body of every request it sees, in `requests`."""

    def __init__(self) -> None:
        self.requests: list[Body] = []
        self.released = threading.Event()
        self._script: list[Reply] = []
        self._lock = threading.Lock()
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.openai = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def plays(self, *script: Reply) -> None:
        self._script = list(script)

    def reset(self) -> None:
        """Let go of hanging requests and forget what was asked and played."""
        self.released.set()
        self.released, self.requests, self._script = threading.Event(), [], []

    def next_reply(self, body: Body) -> Reply:
        with self._lock:
            self.requests.append(body)
            return self._script.pop(0) if len(self._script) > 1 else self._script[0]

    def __enter__(self) -> OpenAIServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    openai: OpenAIServer
    daemon_threads = False  # so that closing waits for the last reply

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that did not wait for its reply."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """HTTP/1.0: every reply closes its connection, so no client keeps a socket open."""

    server: _Server

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        data = self.rfile.read(size)
        if len(data) < size:  # the client has gone
            return
        body = json.loads(data)
        reply = self.server.openai.next_reply(body)
        reply(self, body)

    def log_message(self, *_: Any) -> None:
        pass

    def send(self, data: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


Reply = Callable[[_Handler, Body], None]


def content(text: str | None, *, finish: str = "stop", **message: Any) -> Reply:
    """A message of text; streamed in pieces of four characters when a stream is asked for."""

    def reply(handler: _Handler, body: Body) -> None:
        if body.get("stream"):
            pieces = [text[i : i + 4] for i in range(0, len(text), 4)] if text else []
            deltas = [{"content": piece} for piece in pieces]
            _send_stream(handler, [{"role": "assistant", **message}, *deltas], finish)
        else:
            _send_message(handler, {"content": text, **message}, finish)

    return reply


def tool_call(arguments: str, *, finish: str = "tool_calls", name: str | None = None) -> Reply:
    """A call of the tool that the request offers, with these arguments as they are."""

    def reply(handler: _Handler, body: Body) -> None:
        function = {"name": name or body["tools"][0]["function"]["name"], "arguments": arguments}
        call = {"id": "call_1", "type": "function", "function": function}
        if body.get("stream"):
            _send_stream(handler, [{"tool_calls": [{"index": 0, **call}]}], finish)
        else:
            _send_message(handler, {"content": None, "tool_calls": [call]}, finish)

    return reply


def obeys_schema(verdict: Body) -> Reply:
    """The verdict in the way that was asked for: a tool call, or JSON in the content."""

    def reply(handler: _Handler, body: Body) -> None:
        text = json.dumps(verdict)
        (tool_call(text) if "tools" in body else content(text))(handler, body)

    return reply


def error(status: int, code: str | None = None, message: str = "no", **headers: str) -> Reply:
    """An error in OpenAI's form."""
    body = json.dumps({"error": {"message": message, "type": "error", "code": code}}).encode()
    return lambda handler, _: handler.send(body, status, **headers)


def raw(data: bytes) -> Reply:
    """Any bytes, said to be JSON."""
    return lambda handler, _: handler.send(data)


def no_choices(handler: _Handler, _: Body) -> None:
    handler.send(_completion([]))


def hangs(handler: _Handler, _: Body) -> None:
    """No reply until the test is over."""
    handler.server.openai.released.wait()
    handler.close_connection = True


def resets(handler: _Handler, _: Body) -> None:
    """Drop the connection the hard way."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def rejects_schema(otherwise: Reply) -> Reply:
    """An old server: it answers 400 to tools and response formats."""
    refusal = error(400, message="response_format and tools are not supported")

    def reply(handler: _Handler, body: Body) -> None:
        has_schema = "tools" in body or "response_format" in body
        (refusal if has_schema else otherwise)(handler, body)

    return reply


def _completion(choices: list[Body]) -> bytes:
    usage = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
    head = {"id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-x"}
    return json.dumps({**head, "usage": usage, "choices": choices}).encode()


def _send_message(handler: _Handler, message: Body, finish: str) -> None:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    handler.send(_completion([choice]))


def _send_stream(handler: _Handler, deltas: list[Body], finish: str) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.end_headers()
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    for choice in [*choices, {"index": 0, "delta": {}, "finish_reason": finish}]:
        chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-x"}
        handler.wfile.write(f"data: {json.dumps({**chunk, 'choices': [choice]})}\n\n".encode())
    handler.wfile.write(b"data: [DONE]\n\n")
