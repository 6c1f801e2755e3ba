"""A web server on loopback that can also misbehave: drip, truncate, never stop, redirect anywhere, refuse to talk.

It writes raw bytes to real sockets, so what is tested is what a client meets. Every request is recorded.
"""

from __future__ import annotations

import gzip
import json
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

ENDS = 30.0
"""Seconds after which a call that should have ended long ago is taken to hang."""


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]


Route = Callable[[Request], Iterable[bytes]]


@dataclass
class Site:
    """Serves ``routes`` while the ``with`` block lasts; a path without a route is 404."""

    address: str = "127.0.0.1"
    tls: ssl.SSLContext | None = None
    routes: dict[str, Route] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)
    connections: int = 0

    def __enter__(self) -> Site:
        self.stopped = threading.Event()
        if self.tls is not None:
            self.tls.sni_callback = lambda _socket, name, _context: self.names.append(name)
        self._server = _Server((self.address, 0), _Handler)
        self._server.site = self
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(ENDS)

    @property
    def url(self) -> str:
        return f"http{'s' if self.tls else ''}://{self.address}:{self.port}"

    @property
    def paths(self) -> list[str]:
        """The paths asked for since the last :meth:`forget`."""
        return [request.path for request in self.requests]

    def forget(self) -> None:
        self.requests.clear()

    def put(self, path: str, body: bytes | str, status: int = 200, **headers: str) -> None:
        """Serve a body at a path."""
        self.routes[path] = reply(body, status, **headers)

    def publish(self, path: str, skills: list[Any], schema: str | None = "", **headers: str) -> None:
        """Serve an index of skills."""
        known = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
        root: dict[str, Any] = {} if schema is None else {"$schema": schema or known}
        self.put(path, json.dumps(root | {"skills": skills}), **{"Content-Type": "application/json"} | headers)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 64
    site: Site

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients under test hang up in the middle."""


class _Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        site: Site = self.server.site  # type: ignore[attr-defined]
        site.connections += 1
        talk: socket.socket = self.request
        talk.settimeout(ENDS)
        if site.tls is not None:
            talk = site.tls.wrap_socket(talk, server_side=True)
        head = b""
        while b"\r\n\r\n" not in head:
            piece = talk.recv(65536)
            if not piece:
                return
            head += piece
        first, *lines = head.decode("latin-1").split("\r\n\r\n")[0].split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        request = Request(first.split(" ")[1], headers)
        site.requests.append(request)
        route = site.routes.get(request.path.partition("?")[0], reply("nothing here", 404))
        for piece in route(request):
            if site.stopped.is_set():
                break
            talk.sendall(piece)
        talk.close()


# --- routes -----------------------------------------------------------------------------------------------------------


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Said", "Connection: close", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def reply(body: bytes | str = b"", status: int = 200, **headers: str) -> Route:
    """Answer as a server should."""
    data = body.encode() if isinstance(body, str) else body
    named = {"Content-Length": str(len(data))} | {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: [_head(status, named) + data]


def tagged(body: bytes | str, tag: str, **headers: str) -> Route:
    """Answer 304 to who has the tag already."""
    fresh, known = reply(body, ETag=f'"{tag}"', **headers), reply(b"", 304, ETag=f'"{tag}"')
    return lambda request: (known if request.headers.get("if-none-match") == f'"{tag}"' else fresh)(request)


def redirect(to: str, status: int = 302) -> Route:
    return reply(b"elsewhere", status, Location=to)


def in_turn(*routes: Route) -> Route:
    """Answer each request with the next route, the last one for ever."""
    left = list(routes)
    return lambda request: (left.pop(0) if len(left) > 1 else left[0])(request)


def silent(_: Request) -> Iterator[bytes]:
    """Take the request and never answer."""
    while True:
        time.sleep(0.02)
        yield b""


def hang_up(_: Request) -> list[bytes]:
    """Close without a word."""
    return []


def drip(start: bytes, piece: bytes = b"x", pause: float = 0.02) -> Route:
    """Send a start, then a little at a time, for ever."""

    def route(_: Request) -> Iterator[bytes]:
        yield start
        while True:
            time.sleep(pause)
            yield piece

    return route


def dripping_body() -> Route:
    return drip(_head(200, {"Content-Length": "1000000"}))


def dripping_headers() -> Route:
    return drip(b"HTTP/1.1 200 OK\r\nX-Slow: ")


def endless(status: int = 200) -> Route:
    """Send a body that never ends, as fast as it is taken."""
    return lambda _: _then(_head(status, {}), repeat(b"x" * 65536))


def truncated(body: bytes, promised: int) -> Route:
    return lambda _: [_head(200, {"Content-Length": str(promised)}) + body]


def bomb(mebibytes: int) -> Route:
    """Send a body that gzip blows up a thousandfold."""
    return reply(gzip.compress(bytes(mebibytes << 20)), Content_Encoding="gzip")


def huge_headers(size: int) -> Route:
    line = b"X-Pad: " + b"x" * 1000 + b"\r\n"
    return lambda _: [b"HTTP/1.1 200 OK\r\n" + line * (size // 1000) + b"Content-Length: 0\r\n\r\n"]


def _then(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


# --- calls ------------------------------------------------------------------------------------------------------------


def outcome(call: Callable[[], Any]) -> Any:
    """Return what a call gives or raises; fail when it does not end."""
    got: list[Any] = []

    def run() -> None:
        try:
            got.append(call())
        except Exception as error:
            got.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(ENDS)
    assert not thread.is_alive(), "the call does not end"
    return got[0]
