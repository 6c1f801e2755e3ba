"""A registry to test against: the real server, run by uvicorn on loopback, in a thread of this process.

::

    with running_registry(tmp_path / "packages", publish_key="secret-key") as url:
        client = RegistryClient(url, api_key="secret-key", allow_private=True)
        ...
        assert url.requests == ["PUT /skill/acme/pdf?version=v1.0.0", "GET /browse"]

``url`` is a ``str`` that also knows what was asked of the server, so that a test can say «no HTTP».
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from skillbelt.packages.server import registry_app

STARTS = 30.0
"""Seconds after which a server that should run, or should have stopped, is taken to hang."""


class Url(str):
    """Where the registry is, without a slash at the end.

    Attributes:
        requests: Method and path with query of every request, in the order of their arrival.
        host: ``127.0.0.1:port``, as a reference writes it.
    """

    requests: list[str]
    host: str

    def forget(self) -> None:
        """Forget what was asked so far."""
        self.requests.clear()


@contextmanager
def running_registry(
    folder: str | os.PathLike[str],
    *,
    publish_key: Any = None,
    read_key: str | None = None,
    port: int = 0,
    **options: Any,
) -> Iterator[Url]:
    """Serve a folder while the ``with`` block lasts.

    A folder that does not exist, or is empty, becomes a registry's own when there is a ``publish_key``; any other
    folder is one of skills, served read-only in ``namespace="skills"`` unless told otherwise.

    Args:
        folder: What to serve.
        publish_key: May publish (and read); a mapping says into which namespaces each key may.
        read_key: May read; without one anybody may.
        port: By default one that is free.
        **options: For :func:`~skillbelt.packages.server.registry_app`.
    """
    options |= {"publish_keys": publish_key, "read_keys": None if read_key is None else [read_key]}
    with serving(registry_app(Path(folder), **options), port=port) as url:
        yield url


@contextmanager
def serving(app: Any, *, port: int = 0) -> Iterator[Url]:
    """Run any ASGI application on loopback while the ``with`` block lasts."""
    listener = socket.create_server(("127.0.0.1", port))
    url = Url(f"http://127.0.0.1:{listener.getsockname()[1]}")
    url.host = url.removeprefix("http://")
    url.requests = []

    async def recorded(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            query = scope["query_string"].decode()
            url.requests.append(f"{scope['method']} {scope['raw_path'].decode()}{'?' if query else ''}{query}")
        await app(scope, receive, send)

    config = uvicorn.Config(
        recorded, http="h11", ws="none", lifespan="off", log_config=None, access_log=False, timeout_graceful_shutdown=2
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],), name="registry", daemon=True)
    thread.start()
    try:
        end = time.monotonic() + STARTS
        while not server.started:
            assert thread.is_alive() and time.monotonic() < end, "the registry does not start"
            time.sleep(0.005)
        yield url
    finally:
        server.should_exit = True
        thread.join(STARTS)
        listener.close()
        assert not thread.is_alive(), "the registry does not stop"
