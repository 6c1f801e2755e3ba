"""A loopback server that speaks as OpenAI and as Anthropic do, from a script. It judges nothing and invents nothing.

It is strict where the providers are known to be: every call of a tool is answered, in its place; roles take turns;
names and sizes are within bounds. A request they would refuse is refused here with status 400. What it cannot show:
how a provider's model would answer.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = str | list[tuple[str, dict[str, Any]]]
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class RefusedError(Exception):
    """A request that a provider would refuse."""


class WireServer:
    """Serves while the ``with`` block lasts.

    Args:
        steps: What to answer, one entry a request: a text, or calls as ``(name, arguments)``.
    """

    def __init__(self, steps: list[Step]) -> None:
        self.steps = list(steps)
        self.requests: list[dict[str, Any]] = []
        self.refused: list[str] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._http.daemon_threads = True
        self._http.owner = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> WireServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        owner: WireServer = self.server.owner  # type: ignore[attr-defined]
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        speak = {"/v1/chat/completions": _OpenAI, "/v1/messages": _Anthropic}[self.path]
        try:
            speak.check(body)
        except RefusedError as refused:
            owner.refused.append(str(refused))
            self._send(400, "application/json", json.dumps({"error": {"message": str(refused)}}).encode())
            return
        owner.requests.append(body)
        number = len(owner.requests)
        step = owner.steps[number - 1]
        calls = [] if isinstance(step, str) else [(f"{speak.prefix}{number}_{i}", *c) for i, c in enumerate(step)]
        text = step if isinstance(step, str) else ""
        if body.get("stream"):
            self._send(200, "text/event-stream", "".join(speak.stream(body, text, calls)).encode())
        else:
            self._send(200, "application/json", json.dumps(speak.whole(body, text, calls)).encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the base class
        """Say nothing."""


def _refuse(when: bool, why: str) -> None:
    if when:
        raise RefusedError(why)


def _check_tool(name: str, schema: Any, description: str) -> None:
    _refuse(not _NAME.fullmatch(name), f"Invalid name of a tool: {name!r}.")
    _refuse(schema.get("type") != "object", f"The schema of {name!r} is no object.")
    _refuse(len(description) > 1024, f"The description of {name!r} is too long.")


Calls = list[tuple[str, str, dict[str, Any]]]


class _OpenAI:
    prefix = "call_"

    @staticmethod
    def check(body: dict[str, Any]) -> None:
        waiting: list[str] = []
        for message in body["messages"]:
            role = message["role"]
            _refuse(role not in ("system", "developer", "user", "assistant", "tool"), f"Invalid role {role!r}.")
            if role == "tool":
                _refuse(message["tool_call_id"] not in waiting, "A result answers no call right before it.")
                waiting.remove(message["tool_call_id"])
                continue
            _refuse(bool(waiting), f"No result for {waiting}.")
            waiting = [call["id"] for call in message.get("tool_calls") or []]
            _refuse(any(not _ID.fullmatch(id_) for id_ in waiting), "Invalid id of a call.")
        _refuse(bool(waiting), f"No result for {waiting}.")
        for tool in body.get("tools") or []:
            function = tool["function"]
            _check_tool(function["name"], function["parameters"], function.get("description", ""))

    @staticmethod
    def _calls(calls: Calls) -> list[dict[str, Any]]:
        return [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for id_, name, arguments in calls
        ]

    @classmethod
    def whole(cls, body: dict[str, Any], text: str, calls: Calls) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": text or None, "refusal": None}
        if calls:
            message["tool_calls"] = cls._calls(calls)
        finish = "tool_calls" if calls else "stop"
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        frame = {"id": "chatcmpl-scripted", "object": "chat.completion", "created": 1, "model": body["model"]}
        return frame | {"choices": [choice], "usage": usage}

    @classmethod
    def stream(cls, body: dict[str, Any], text: str, calls: Calls) -> Iterator[str]:
        frame = {"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}

        def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
            return f"data: {json.dumps(frame | {'choices': [choice]})}\n\n"

        yield chunk({"role": "assistant", "content": text or None})
        for index, call in enumerate(cls._calls(calls)):
            arguments = call["function"].pop("arguments")
            start = {"index": index, **call, "function": {**call["function"], "arguments": ""}}
            yield chunk({"tool_calls": [start]})
            for at in range(0, len(arguments), 7):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": arguments[at : at + 7]}}]})
        yield chunk({}, "tool_calls" if calls else "stop")
        yield "data: [DONE]\n\n"


class _Anthropic:
    prefix = "toolu_"

    @staticmethod
    def check(body: dict[str, Any]) -> None:
        messages = body["messages"]
        _refuse(not messages or messages[0]["role"] != "user", "The first message must be of the user.")
        waiting: set[str] = set()
        for before, message in zip([None, *messages], messages, strict=False):
            role = message["role"]
            _refuse(before is not None and before["role"] == role, "Roles must take turns.")
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            _refuse(not blocks, "A message is empty.")
            _refuse(any(b["type"] == "text" and not b["text"].strip() for b in blocks), "A text block is empty.")
            answers = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
            _refuse(waiting != set(answers), f"Results {answers} are not those of the calls {sorted(waiting)}.")
            kinds = [b["type"] for b in blocks]
            _refuse("tool_result" in kinds[len(answers) :], "Results come before everything else of a message.")
            waiting = {b["id"] for b in blocks if b["type"] == "tool_use"}
            _refuse(any(not _ID.fullmatch(id_) for id_ in waiting), "Invalid id of a call.")
        _refuse(bool(waiting), f"No result for {sorted(waiting)}.")
        for tool in body.get("tools") or []:
            _check_tool(tool["name"], tool["input_schema"], tool.get("description", ""))

    @staticmethod
    def _blocks(text: str, calls: Calls) -> list[dict[str, Any]]:
        used = [{"type": "tool_use", "id": id_, "name": name, "input": given} for id_, name, given in calls]
        return [*([{"type": "text", "text": text}] if text else []), *used]

    @classmethod
    def _frame(cls, body: dict[str, Any]) -> dict[str, Any]:
        usage = {"input_tokens": 1, "output_tokens": 1}
        frame = {"id": "msg_scripted", "type": "message", "role": "assistant", "model": body["model"]}
        return frame | {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}

    @classmethod
    def whole(cls, body: dict[str, Any], text: str, calls: Calls) -> dict[str, Any]:
        stop = "tool_use" if calls else "end_turn"
        return cls._frame(body) | {"content": cls._blocks(text, calls), "stop_reason": stop}

    @classmethod
    def stream(cls, body: dict[str, Any], text: str, calls: Calls) -> Iterator[str]:
        def event(kind: str, **data: Any) -> str:
            return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"

        yield event("message_start", message=cls._frame(body))
        for index, block in enumerate(cls._blocks(text, calls)):
            if block["type"] == "text":
                yield event("content_block_start", index=index, content_block={"type": "text", "text": ""})
                yield event("content_block_delta", index=index, delta={"type": "text_delta", "text": block["text"]})
            else:
                given = json.dumps(block["input"])
                yield event("content_block_start", index=index, content_block={**block, "input": {}})
                for at in range(0, len(given), 7):
                    delta = {"type": "input_json_delta", "partial_json": given[at : at + 7]}
                    yield event("content_block_delta", index=index, delta=delta)
            yield event("content_block_stop", index=index)
        stop = "tool_use" if calls else "end_turn"
        yield event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage={"output_tokens": 1})
        yield event("message_stop")
