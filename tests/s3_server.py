"""A real S3 protocol on loopback: moto behind its own web server, with every request recorded."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

SECRET = "testing-secret-sesame"


@dataclass
class S3Server:
    """Serves an empty account while the ``with`` block lasts; ``requests`` holds method, path, query and range."""

    requests: list[tuple[str, str, str, str | None]] = field(default_factory=list)

    def __enter__(self) -> S3Server:
        from moto.server import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        moto = DomainDispatcherApplication(create_backend_app)

        def counted(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
            names = ("REQUEST_METHOD", "PATH_INFO", "QUERY_STRING")
            method, path, query = (str(environ.get(name, "")) for name in names)
            self.requests.append((method, path, query, environ.get("HTTP_RANGE")))
            return moto(environ, start)  # type: ignore[no-any-return]

        self._server = make_server("127.0.0.1", 0, counted, threaded=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(30)

    @property
    def options(self) -> dict[str, Any]:
        """The storage options of s3fs."""
        endpoint = f"http://127.0.0.1:{self._server.port}"
        return {"key": "testing-key", "secret": SECRET, "client_kwargs": {"endpoint_url": endpoint}}

    @property
    def kinds(self) -> list[str]:
        """What was asked, in short: ``list skills/mail/``, ``get skills/mail/SKILL.md 0-4095``."""
        from urllib.parse import parse_qs

        told = []
        for method, path, query, span in self.requests:
            fields = parse_qs(query)
            key = path.partition("/bucket/")[2]
            if method == "GET" and "list-type" in fields:
                told.append(f"list {fields.get('prefix', [''])[0]}")
            else:
                told.append(f"{method.lower()} {key} {(span or 'whole').removeprefix('bytes=')}")
        return told

    def forget(self) -> None:
        self.requests.clear()
