"""A registry that cannot be trusted, on loopback: raw bytes on real sockets, as in :mod:`http_server`.

A sound one to test against is :mod:`registry_loopback`.
"""

from __future__ import annotations

import json
import socket
import struct
import traceback
from dataclasses import dataclass
from typing import Any

from http_server import ENDS, Request, Route, Site, _Handler, reply
from skillbelt.packages import PackedSkill, pack_skill
from skillbelt.sources import MappingSource

WELL_KNOWN = "/.well-known/cleverthis-packages"


@dataclass(frozen=True)
class Sent(Request):
    """A request with its method and its body."""

    method: str = "GET"
    body: bytes = b""


class HostileRegistry(Site):
    """Serves ``routes`` to any method while the ``with`` block lasts; a path without a route is a plain 404."""

    def __enter__(self) -> HostileRegistry:
        super().__enter__()
        self._server.RequestHandlerClass = _Reading
        return self

    def offer(self, packed: PackedSkill, place: str = "/skill/acme/pdf", **changes: Any) -> None:
        """Answer for a package by its name and by its id, with parts of the answer changed."""
        told = answer(packed, **changes)
        self.put(place, told)
        self.put(f"/packages/{packed.id}", told)


class _Reading(_Handler):
    """Reads the body as well: who hangs up on one makes the system throw away the answer."""

    def handle(self) -> None:
        site: HostileRegistry = self.server.site  # type: ignore[attr-defined]
        site.connections += 1
        talk: socket.socket = self.request
        talk.settimeout(ENDS)
        head, _, body = self._until(talk, b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        if not first:
            return
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        method, path = first.split(" ")[:2]
        route = site.routes.get(path.partition("?")[0], reply("nothing here", 404))
        while len(body) < int(headers.get("content-length", 0)):
            body += talk.recv(65536)
        request = Sent(path, headers, method, body)
        site.requests.append(request)
        for piece in route(request):
            if site.stopped.is_set():
                break
            talk.sendall(piece)
        if route is resets:
            talk.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        talk.close()

    @staticmethod
    def _until(talk: socket.socket, end: bytes) -> tuple[bytes, bytes, bytes]:
        got = b""
        while end not in got:
            piece = talk.recv(65536)
            if not piece:
                break
            got += piece
        return got.partition(end)


# --- what it says -----------------------------------------------------------------------------------------------------


def skill(name: str = "pdf", body: str = "Begin.\n", **files: str | bytes) -> PackedSkill:
    """A packed skill; ``references__guide_md="…"`` is ``references/guide.md``."""
    text = f"---\nname: {name}\ndescription: Does {name} things.\n---\n{body}"
    rest = {path.replace("__", "/").replace("_", "."): content for path, content in files.items()}
    return pack_skill(
        MappingSource({f"{name}/{path}": data for path, data in {"SKILL.md": text, **rest}.items()}), name
    )


def answer(packed: PackedSkill, **changes: Any) -> str:
    """The answer of a package endpoint."""
    told = {
        "id": str(packed.id),
        "integrity": packed.integrity,
        "type": "skill",
        "namespace": "acme",
        "name": packed.document["name"],
        "version": "v1.0.0",
        "document": dict(packed.document),
    }
    return json.dumps(told | changes)


def says(status: int, code: str | None = None, message: str = "No.", **details: Any) -> Route:
    """Answer with a failure; without a code as a web server does that knows nothing of registries."""
    if code is None:
        return reply("<html>Something</html>", status, Content_Type="text/html")
    return reply(json.dumps({"error": {"code": code, "message": message, "details": details}}), status)


def resets(_: Request) -> list[bytes]:
    """Begin to answer, and break the connection."""
    return [b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"]


# --- secrets ----------------------------------------------------------------------------------------------------------


def shown_by(error: BaseException) -> str:
    """Everything that may be seen of an error: its text, its fields, its traceback with the local variables of ours.

    Exceptions that led to it are part of that, those that are hidden by ``raise … from None`` too.
    """
    told, seen, waiting = [], set(), [error]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        told += [repr(each), str(each), repr(vars(each))]
        waiting += [each.__cause__, each.__context__]
        stack = traceback.StackSummary.extract(traceback.walk_tb(each.__traceback__), capture_locals=True)
        told += [repr(frame.locals) for frame in stack if "/tests/" not in frame.filename]
    return "\n".join(told)
