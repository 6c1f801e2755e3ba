"""An OpenAI-compatible chat server on the loopback, whose brain is the offline model.

It speaks HTTP as a provider does: bearer keys, JSON errors, plain and streamed completions, tool calls whose arguments
arrive in pieces. It is strict where providers are, so that a request they would refuse fails here too. What it does not
prove: how a provider's model would choose.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from skillbelt.testing import Message, Reply, ToolCall, decide

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_PIECE = 7


class RefusedRequestError(Exception):
    """A request that a provider would answer with an error."""

    def __init__(self, status: int, message: str, code: str) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


class OpenAIServer:
    """Serves while the ``with`` block lasts; ``requests`` holds every body it was sent.

    Args:
        key: The only bearer key that is accepted.
        broken: A status to answer every request with, for tests of failing providers.
    """

    def __init__(self, key: str = "test-key", *, broken: int | None = None) -> None:
        self.key = key
        self.broken = broken
        self.requests: list[dict[str, Any]] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._http.daemon_threads = True
        self._http.owner = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        """The base URL, as ``OPENAI_BASE_URL`` wants it."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> OpenAIServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        owner: OpenAIServer = self.server.owner  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            if self.path != "/v1/chat/completions":
                raise RefusedRequestError(404, f"Unknown path {self.path}.", "not_found")
            if owner.broken:
                raise RefusedRequestError(owner.broken, "The server is out of order.", "server_error")
            if self.headers.get("Authorization") != f"Bearer {owner.key}":
                sent = self.headers.get("Authorization", "").removeprefix("Bearer ")
                raise RefusedRequestError(401, f"Incorrect API key provided: {sent}.", "invalid_api_key")
            request = json.loads(body)
            owner.requests.append(request)
            reply = decide(list(_messages(request)), _tool_names(request))
        except RefusedRequestError as refused:
            self._send(refused.status, "application/json", json.dumps(refused.body).encode())
            return
        if request.get("stream"):
            wants_usage = (request.get("stream_options") or {}).get("include_usage", False)
            events = [json.dumps(chunk) for chunk in _chunks(request, reply, usage=wants_usage)]
            self._send_events([*events, "[DONE]"])
        else:
            self._send(200, "application/json", json.dumps(_completion(request, reply)).encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _send_events(self, events: list[str]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            data = f"data: {event}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the base class
        """Say nothing: a test's output is read by people."""


# --- requests ---------------------------------------------------------------------------------------------------------


def _messages(request: dict[str, Any]) -> Iterator[Message]:
    """Yield the messages; tool messages must answer the calls of the assistant message before them, all of them."""
    open_calls: set[str] = set()
    for message in request["messages"]:
        role = _ROLES.get(message["role"])
        if role is None:
            raise RefusedRequestError(400, f"Invalid role {message['role']!r}.", "invalid_value")
        if role != "tool" and open_calls:
            raise RefusedRequestError(400, f"No tool message answered {sorted(open_calls)}.", "invalid_value")
        calls = tuple(
            ToolCall(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
            for call in message.get("tool_calls") or []
        )
        open_calls |= {call.id for call in calls}
        answers = message.get("tool_call_id")
        if role == "tool":
            if answers not in open_calls:
                raise RefusedRequestError(400, f"{answers!r} answers no tool call before it.", "invalid_value")
            open_calls.remove(answers)
        yield Message(role, _text(message.get("content")), calls, tool_call_id=answers)  # type: ignore[arg-type]


def _text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def _tool_names(request: dict[str, Any]) -> list[str]:
    names = []
    for tool in request.get("tools") or []:
        function = tool["function"]
        if not _TOOL_NAME.fullmatch(function["name"]) or len(function.get("description", "")) > 1024:
            raise RefusedRequestError(400, f"Invalid function {function['name']!r}.", "invalid_value")
        if function["parameters"].get("type") != "object":
            raise RefusedRequestError(400, f"The parameters of {function['name']!r} are no object.", "invalid_value")
        names.append(function["name"])
    return names


# --- responses --------------------------------------------------------------------------------------------------------

_USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def _calls(reply: Reply) -> list[dict[str, Any]]:
    return [
        {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": json.dumps(dict(c.arguments))}}
        for c in reply.tool_calls
    ]


def _finish(reply: Reply) -> str:
    return "tool_calls" if reply.tool_calls else "stop"


def _completion(request: dict[str, Any], reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
    if reply.tool_calls:
        message["tool_calls"] = _calls(reply)
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(reply)}
    return _frame(request, "chat.completion") | {"choices": [choice], "usage": _USAGE}


def _chunks(request: dict[str, Any], reply: Reply, *, usage: bool) -> Iterator[dict[str, Any]]:
    frame = _frame(request, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return frame | {"choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": None if reply.tool_calls else ""})
    for piece in reply.text.splitlines(keepends=True):
        yield chunk({"content": piece})
    for index, call in enumerate(_calls(reply)):
        arguments = call["function"].pop("arguments")
        yield chunk({"tool_calls": [{"index": index, **call, "function": {**call["function"], "arguments": ""}}]})
        for start in range(0, len(arguments), _PIECE):
            part = {"index": index, "function": {"arguments": arguments[start : start + _PIECE]}}
            yield chunk({"tool_calls": [part]})
    yield chunk({}, _finish(reply))
    if usage:
        yield frame | {"choices": [], "usage": _USAGE}


def _frame(request: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-test", "object": kind, "created": 1, "model": request["model"]}
