"""HTTP conversations on file: recorded by vcrpy where skillbelt really sends, and played back without a network.

vcrpy knows the transports of httpx, not our own, so its handler is put in front of ours: everything above, retries,
redirects, bounds and errors, is what runs in production. While a cassette is played back, no socket can be connected.

The conversations are scripted: with the registry server of this repository, on loopback, not with anybody's registry.
``python tests/cassettes.py`` records them anew.
"""

from __future__ import annotations

import re
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import vcr
from vcr.cassette import Cassette
from vcr.request import Request
from vcr.stubs.httpx_stubs import vcr_handle_request

from skillbelt.sources.wire import CheckedTransport

FOLDER = Path(__file__).parent / "data" / "cassettes"
LABEL = """\
# Scripted: a conversation with the registry server of this repository on loopback, not with anybody's registry.
# Recorded by vcrpy; keys were taken out. `python tests/cassettes.py` records it anew.
"""
PLACE = "http://registry.loopback"
"""What stands in a cassette for wherever the server was."""

_CHANGING = ("date", "server")


@contextmanager
def recorded(file: Path) -> Iterator[Cassette]:
    """Record what is sent and answered meanwhile."""
    file.unlink(missing_ok=True)  # vcrpy would keep what is on it and is not said any more
    with _cassette(file, "all") as cassette:
        yield cassette
    file.write_text(LABEL + file.read_text(encoding="utf-8"), encoding="utf-8")


@contextmanager
def played(file: Path) -> Iterator[Cassette]:
    """Answer from a cassette; whatever is not on it, and every connection, is an error."""
    with ExitStack() as stack:
        for where, name in ((socket.socket, "connect"), (socket.socket, "connect_ex"), (socket, "getaddrinfo")):
            stack.enter_context(mock.patch.object(where, name, _no_network))
        yield stack.enter_context(_cassette(file, "none"))


@contextmanager
def _cassette(file: Path, mode: str) -> Iterator[Cassette]:
    recorder = vcr.VCR(
        record_mode=mode,
        filter_headers=[("authorization", "Bearer ...")],
        before_record_request=_placed,
        before_record_response=_lasting,
        match_on=["method", "uri", "headers", "body"],
    )
    recorder.register_matcher("headers", _same_headers)
    with recorder.use_cassette(str(file)) as cassette:
        through_vcr = vcr_handle_request(cassette, CheckedTransport.handle_request, httpx)
        with mock.patch.object(CheckedTransport, "handle_request", through_vcr):
            yield cassette


def _placed(request: Request) -> Request:
    request.uri = re.sub(r"^http://127\.0\.0\.1:\d+", PLACE, request.uri)
    request.headers.pop("host", None)
    return request


def _lasting(response: dict[str, Any]) -> dict[str, Any]:
    response["headers"] = {name: value for name, value in response["headers"].items() if name not in _CHANGING}
    return response


def _same_headers(one: Request, other: Request) -> None:
    """Whether a key was sent is part of a request, which key is not."""
    assert ("authorization" in one.headers) == ("authorization" in other.headers)


def _no_network(*_: Any, **__: Any) -> None:
    raise AssertionError("a cassette is played back, and the network was asked")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    from test_registry_cassettes import SCENES, record

    FOLDER.mkdir(parents=True, exist_ok=True)
    for scene in SCENES:
        with tempfile.TemporaryDirectory() as folder:
            record(scene, FOLDER / f"registry_{scene}.yaml", Path(folder))
