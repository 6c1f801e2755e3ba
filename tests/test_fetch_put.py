"""Putting over HTTP: sent once, nowhere else, and within one deadline, to a real server that misbehaves."""

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from http_server import dripping_body, endless, hang_up, in_turn, outcome, redirect, reply, silent
from registry_server import HostileRegistry, shown_by
from skillbelt.sources import fetch
from skillbelt.sources.fetch import (
    Fetcher,
    HttpLimits,
    RefusedUrlError,
    ResponseTooLargeError,
    UnreachableError,
)

PATIENT = HttpLimits(deadline=20)
QUICK = HttpLimits(deadline=0.5)


@pytest.fixture
def site() -> Iterator[HostileRegistry]:
    with HostileRegistry() as site:
        yield site


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_FIRST_PAUSE", 0.001)


def fetcher(**options: Any) -> Fetcher:
    return Fetcher(**{"limits": PATIENT, "allow_private": True} | options)


def test_a_body_is_put_with_its_headers_and_those_of_its_origin(site: HostileRegistry) -> None:
    site.put("/a", "thanks", 201)
    body = bytes(range(256)) * 4000
    sender = fetcher(headers={"Authorization": "Bearer sesame"}, origin=site.url)
    got = sender.put(f"{site.url}/a?b=c", body, max_bytes=9, headers={"Content-Type": "x/y"})
    assert (got.status, got.body) == (201, b"thanks")
    (sent,) = site.requests
    assert (sent.method, sent.path, sent.body) == ("PUT", "/a?b=c", body)
    assert (sent.headers["content-type"], sent.headers["authorization"]) == ("x/y", "Bearer sesame")
    with HostileRegistry() as other:
        other.put("/a", "thanks")
        sender.put(f"{other.url}/a", b"x", max_bytes=9)
        assert "authorization" not in other.requests[0].headers


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_of_what_is_put_is_refused(site: HostileRegistry, status: int) -> None:
    site.routes["/a"] = redirect("/b", status)
    site.put("/b", "thanks")
    error = outcome(lambda: fetcher().put(f"{site.url}/a", b"x", max_bytes=9))
    assert isinstance(error, RefusedUrlError) and "redirects what is sent to it" in str(error)
    assert site.paths == ["/a"]


@pytest.mark.parametrize(
    "route", [hang_up, reply("", 500), reply("", 502), reply("", 504)], ids=["hangs up", "500", "502", "504"]
)
def test_what_may_have_arrived_is_not_put_again(site: HostileRegistry, route: Any) -> None:
    site.routes["/a"] = in_turn(route, reply("thanks"))
    got = outcome(lambda: fetcher().put(f"{site.url}/a", b"x", max_bytes=9))
    assert getattr(got, "sent", None) is True or got.status >= 500
    assert len(site.requests) == 1


def test_what_the_server_says_it_did_not_take_is_put_again(site: HostileRegistry) -> None:
    site.routes["/a"] = in_turn(reply("", 429), reply("", 503, Retry_After="0"), reply("thanks"))
    assert fetcher().put(f"{site.url}/a", b"x", max_bytes=9).body == b"thanks"
    assert [sent.body for sent in site.requests] == [b"x"] * 3


def test_whom_nobody_answers_is_tried_again_and_knows_that_nothing_was_sent(
    site: HostileRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    error = outcome(lambda: fetcher().put(f"http://127.0.0.1:{port}/", b"x", max_bytes=9))
    assert isinstance(error, UnreachableError) and error.sent is False and error.late is False
    assert len([wait for wait in waits if wait < 0.01]) == 2


@pytest.mark.parametrize("route", [silent, dripping_body()], ids=["silent", "drips"])
def test_a_put_ends_at_its_deadline(site: HostileRegistry, route: Any) -> None:
    site.routes["/a"] = route
    start = time.monotonic()
    error = outcome(lambda: fetcher(limits=QUICK).put(f"{site.url}/a", b"x", max_bytes=1 << 20))
    assert isinstance(error, UnreachableError) and error.late
    assert time.monotonic() - start < 0.5 + 0.2


def test_a_server_that_takes_a_large_body_byte_by_byte_is_left_at_the_deadline() -> None:
    stopped = threading.Event()

    def sip(server: socket.socket) -> None:
        talk, _ = server.accept()
        with talk:
            while not stopped.wait(0.01):
                talk.recv(4096)

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        thread = threading.Thread(target=sip, args=(server,), daemon=True)
        thread.start()
        start = time.monotonic()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        error = outcome(lambda: fetcher(limits=QUICK).put(url, bytes(32 << 20), max_bytes=9))
        taken = time.monotonic() - start
        stopped.set()
        thread.join()
    assert isinstance(error, UnreachableError) and error.late
    assert taken < 0.5 + 0.2


def test_the_answer_is_bounded_too(site: HostileRegistry) -> None:
    site.routes["/a"] = endless()
    error = outcome(lambda: fetcher().put(f"{site.url}/a", b"x", max_bytes=1000))
    assert isinstance(error, ResponseTooLargeError)


def test_only_web_addresses_that_are_allowed_are_put_to(site: HostileRegistry) -> None:
    for url in ("file:///tmp/x", site.url, "https://u:p@example.com/"):
        with pytest.raises(RefusedUrlError):
            Fetcher().put(url, b"x", max_bytes=9)
    assert site.connections == 0


def test_credentials_are_in_nothing_that_may_be_seen_of_an_error(site: HostileRegistry) -> None:
    secret = fetcher(headers={"Authorization": "Bearer sesame"}, limits=HttpLimits(retries=0))
    site.routes["/a"] = hang_up
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    for url in (f"{site.url}/a", f"http://127.0.0.1:{port}/"):
        for call in (lambda url=url: secret.put(url, b"x", max_bytes=9), lambda url=url: secret.get(url, max_bytes=9)):
            error = outcome(call)
            assert isinstance(error, UnreachableError)
            assert "sesame" not in shown_by(error)
            assert error.__cause__ is None and error.__context__ is None
