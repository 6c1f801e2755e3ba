"""The fetcher against a real server that misbehaves: each call ends, within its bounds, with one kind of error."""

import gzip
import socket
import ssl
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpcore
import httpx
import pytest

from http_server import (
    Site,
    bomb,
    dripping_body,
    dripping_headers,
    endless,
    hang_up,
    huge_headers,
    in_turn,
    outcome,
    redirect,
    reply,
    silent,
    truncated,
)
from skillbelt.errors import LimitError, MissingExtraError, SourceError
from skillbelt.sources import fetch, policy
from skillbelt.sources.addresses import is_loopback, is_public
from skillbelt.sources.fetch import (
    Fetched,
    Fetcher,
    HttpLimits,
    RefusedUrlError,
    ResponseTooLargeError,
    UnreachableError,
)
from skillbelt.sources.kept import CachedFetcher, Kept
from skillbelt.sources.sink import Sink
from skillbelt.sources.urls import Redactor, public_url

QUICK = HttpLimits(deadline=0.5)
PATIENT = HttpLimits(deadline=20)
MIB = 1 << 20


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_FIRST_PAUSE", 0.001)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """A resolver of its own: what a name has, in turn, the last one for ever; ``asked`` counts by name."""
    table: dict[str, list[str]] = {}
    real = socket.getaddrinfo

    def getaddrinfo(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        if host not in table:
            return real(host, port, *args, **kwargs)
        table.setdefault(f"asked {host}", []).append(host)
        found = table[host].pop(0) if len(table[host]) > 1 else table[host][0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found.split()]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return table


def fetcher(**options: Any) -> Fetcher:
    return Fetcher(**{"limits": PATIENT, "allow_private": True} | options)


# --- what is given ----------------------------------------------------------------------------------------------------


def test_a_body_comes_with_its_status_its_headers_and_where_it_came_from(site: Site) -> None:
    site.put("/a", "hello", X_Note="one")
    got = fetcher().get(f"{site.url}/a?b=c#d", max_bytes=5)
    assert (got.status, got.body, got.headers["x-note"]) == (200, b"hello", "one")
    assert got.url == f"{site.url}/a?b=c"
    assert "hello" not in repr(got)


def test_a_status_of_failure_is_an_answer_and_its_body_is_cut(site: Site) -> None:
    site.routes["/a"] = endless(status=404)
    got = fetcher().get(f"{site.url}/a", max_bytes=MIB)
    assert (got.status, len(got.body)) == (404, 65536)
    site.put("/b", "x" * 100, 403)
    assert fetcher().get(f"{site.url}/b", max_bytes=10).body == b"x" * 10


def test_a_gzipped_body_is_decoded_and_more_than_one_member_too(site: Site) -> None:
    site.put("/a", gzip.compress(b"hello ") + gzip.compress(b"world"), Content_Encoding="gzip")
    assert fetcher().get(f"{site.url}/a", max_bytes=11).body == b"hello world"
    assert site.requests[0].headers["accept-encoding"] == "gzip"


async def test_it_works_inside_a_running_event_loop(site: Site) -> None:
    site.put("/a", "hello")
    assert fetcher().get(f"{site.url}/a", max_bytes=5).body == b"hello"


def test_threads_share_a_fetcher(site: Site) -> None:
    for number in range(8):
        site.put(f"/{number}", f"body {number}")
    shared, got = fetcher(), {}

    def ask(number: int) -> None:
        got[number] = shared.get(f"{site.url}/{number}", max_bytes=100).body

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == {number: f"body {number}".encode() for number in range(8)}


# --- time -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "route", [silent, dripping_body(), dripping_headers()], ids=["silent", "drips its body", "drips its headers"]
)
def test_a_server_that_takes_its_time_does_not_hold_a_call_past_its_deadline(site: Site, route: Any) -> None:
    site.routes["/a"] = route
    error = outcome(lambda: fetcher(limits=QUICK).get(f"{site.url}/a", max_bytes=MIB))
    assert isinstance(error, UnreachableError)
    assert str(error) == f"'{site.url}/a' did not answer in full within 0.5 seconds."


def test_a_server_that_drips_informational_responses_does_not_either(site: Site) -> None:
    def route(_: object) -> Iterator[bytes]:
        while True:
            yield b"HTTP/1.1 103 Early Hints\r\n\r\n"

    site.routes["/a"] = route
    assert isinstance(outcome(lambda: fetcher(limits=QUICK).get(f"{site.url}/a", max_bytes=9)), UnreachableError)


def test_a_server_that_never_shakes_hands_does_not_either() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"https://127.0.0.1:{server.getsockname()[1]}/"
        assert isinstance(outcome(lambda: fetcher(limits=QUICK).get(url, max_bytes=9)), UnreachableError)


def test_a_resolver_that_hangs_does_not_either(monkeypatch: pytest.MonkeyPatch) -> None:
    forever = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: forever.wait(60) and [])
    error = outcome(lambda: fetcher(limits=QUICK).get("https://slow.example/", max_bytes=9))
    forever.set()
    assert isinstance(error, UnreachableError) and "within 0.5 seconds" in str(error)


def test_a_chain_of_slow_redirects_shares_one_deadline(site: Site) -> None:
    site.routes["/a"] = redirect("/b")
    site.routes["/b"] = silent
    assert isinstance(outcome(lambda: fetcher(limits=QUICK).get(f"{site.url}/a", max_bytes=9)), UnreachableError)


def test_requests_of_one_call_can_share_a_deadline(site: Site) -> None:
    site.put("/a", "hello")
    shared = fetcher(limits=HttpLimits(deadline=1e-9))
    error = outcome(lambda: shared.get(f"{site.url}/a", max_bytes=9, deadline=shared.deadline()))
    assert isinstance(error, UnreachableError) and site.connections == 0
    assert shared.get(f"{site.url}/a", max_bytes=9, deadline=fetcher().deadline()).body == b"hello"


def test_a_transport_of_the_callers_is_held_to_the_deadline_between_pieces() -> None:
    class Slow(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            while True:
                yield b""

    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=Slow()))
    error = outcome(lambda: fetcher(limits=QUICK, transport=transport).get("https://a.example/", max_bytes=9))
    assert isinstance(error, UnreachableError)


def test_a_transport_that_fails_because_time_is_up_says_that_time_is_up() -> None:
    def late(_: httpx.Request) -> httpx.Response:
        time.sleep(0.3)
        raise OSError("interrupted")

    brief = fetcher(limits=HttpLimits(deadline=0.2), transport=httpx.MockTransport(late))
    error = outcome(lambda: brief.get("https://a.example/", max_bytes=9))
    assert str(error) == "'https://a.example/' did not answer in full within 0.2 seconds."


# --- size -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("route", [endless(), bomb(16), reply(b"x" * 1001)], ids=["endless", "bomb", "declared"])
def test_a_body_past_its_bound_is_refused(site: Site, route: Any) -> None:
    site.routes["/a"] = route
    error = outcome(lambda: fetcher().get(f"{site.url}/a", max_bytes=1000))
    assert isinstance(error, ResponseTooLargeError) and str(error) == f"'{site.url}/a' is larger than 1000 bytes."


def test_a_bomb_takes_no_more_memory_than_the_bound(site: Site) -> None:
    site.routes["/a"] = bomb(64)
    tracemalloc.start()
    with pytest.raises(ResponseTooLargeError):
        fetcher().get(f"{site.url}/a", max_bytes=MIB)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * MIB


def test_a_body_of_exactly_the_bound_is_taken() -> None:
    plain = Sink(5, "identity")
    assert plain.add(b"hello") and plain.complete and plain.body() == b"hello"
    packed = Sink(5, "gzip")
    assert packed.add(gzip.compress(b"hello")) and packed.complete and packed.body() == b"hello"
    assert not Sink(4, "gzip").add(gzip.compress(b"hello"))


@pytest.mark.parametrize("size", [70_000, 200_000], ids=["past our bound", "past the parser's"])
def test_headers_past_their_bound_are_refused(site: Site, size: int) -> None:
    site.routes["/a"] = huge_headers(size)
    error = outcome(lambda: fetcher(limits=HttpLimits(retries=0)).get(f"{site.url}/a", max_bytes=9))
    assert isinstance(error, SourceError)


@pytest.mark.parametrize(
    ("route", "words"),
    [
        (reply(b"not gzip at all", Content_Encoding="gzip"), "damaged"),
        (reply(gzip.compress(b"hello" * 99)[:-12], Content_Encoding="gzip"), "ended too early"),
        (reply(b"x", Content_Encoding="br"), "'br', which was not asked for"),
        (truncated(b"hello", 500), "cannot be fetched"),
    ],
    ids=["damaged", "cut gzip", "brotli", "cut"],
)
def test_a_body_that_is_not_whole_is_not_given(site: Site, route: Any, words: str) -> None:
    site.routes["/a"] = route
    error = outcome(lambda: fetcher().get(f"{site.url}/a", max_bytes=1000))
    assert isinstance(error, SourceError) and words in str(error)


# --- retries ----------------------------------------------------------------------------------------------------------


def test_a_server_that_fails_twice_is_asked_three_times(site: Site) -> None:
    site.routes["/a"] = in_turn(reply("busy", 503), hang_up, reply("hello"))
    assert fetcher().get(f"{site.url}/a", max_bytes=9).body == b"hello"
    assert len(site.requests) == 3


def test_one_that_keeps_failing_is_left_after_that(site: Site) -> None:
    site.put("/a", "busy", 500)
    assert fetcher().get(f"{site.url}/a", max_bytes=9).status == 500
    assert len(site.requests) == 3
    site.routes["/b"] = hang_up
    error = outcome(lambda: fetcher().get(f"{site.url}/b", max_bytes=9))
    assert isinstance(error, UnreachableError) and "cannot be fetched (" in str(error)
    assert len(site.requests) == 6


def test_one_that_asks_to_wait_past_the_deadline_is_not_waited_for(site: Site) -> None:
    site.put("/a", "later", 429, Retry_After="3600")
    assert fetcher().get(f"{site.url}/a", max_bytes=9).status == 429
    assert len(site.requests) == 1


def test_a_date_to_wait_for_is_not_waited_for(site: Site) -> None:
    site.routes["/a"] = in_turn(reply("", 503, Retry_After="Fri, 31 Dec 2199 23:59:59 GMT"), reply("hello"))
    assert fetcher().get(f"{site.url}/a", max_bytes=9).body == b"hello"


def test_a_port_nobody_listens_on_is_said_to_be_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    error = outcome(lambda: fetcher().get(f"http://127.0.0.1:{port}/", max_bytes=9))
    assert isinstance(error, UnreachableError) and "refused" in str(error)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "x" * 70 + ".example"])
def test_a_name_that_does_not_resolve_is_said_to_be_so(host: str) -> None:
    error = outcome(lambda: fetcher().get(f"https://{host}/", max_bytes=9))
    assert isinstance(error, SourceError) and host[:20] in str(error)


# --- redirects --------------------------------------------------------------------------------------------------------


def test_redirects_are_followed_up_to_their_bound(site: Site) -> None:
    for number in range(6):
        site.routes[f"/{number}"] = redirect(f"{number + 1}", (301, 302, 303, 307, 308, 302)[number])
    site.put("/6", "hello")
    assert fetcher().get(f"{site.url}/1", max_bytes=9).body == b"hello"
    error = outcome(lambda: fetcher().get(f"{site.url}/0", max_bytes=9))
    assert isinstance(error, SourceError) and str(error) == f"'{site.url}/6' redirects more than 5 times."
    site.routes["/loop"] = redirect("/loop")
    assert isinstance(outcome(lambda: fetcher().get(f"{site.url}/loop", max_bytes=9)), SourceError)


def test_a_redirect_without_a_place_or_with_an_endless_body_is_only_an_answer(site: Site) -> None:
    site.routes["/a"] = endless(status=302)
    got = fetcher().get(f"{site.url}/a", max_bytes=9)
    assert (got.status, got.body) == (302, b"")


@pytest.mark.parametrize(
    "to", ["file:///etc/passwd", "ftp://127.0.0.1/", "data:text/plain,x", "//[bad", "http://u:p@127.0.0.1/"]
)
def test_a_redirect_to_anything_but_a_web_address_is_refused(site: Site, to: str) -> None:
    site.routes["/a"] = redirect(to)
    error = outcome(lambda: fetcher().get(f"{site.url}/a", max_bytes=9))
    assert isinstance(error, RefusedUrlError) and ":p@" not in str(error)
    assert len(site.requests) == 1


def test_a_redirect_to_a_private_address_is_refused_before_it_is_connected_to(
    site: Site, names: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "is_public", lambda address: address == "127.0.0.1")
    names["canary.example"] = ["127.0.0.2"]
    with Site("127.0.0.2") as canary:
        for host in ("canary.example", "127.0.0.2", "127.2", "0x7f.0.0.2", "2130706434"):
            site.routes["/a"] = redirect(f"http://{host}:{canary.port}/secret")
            with pytest.raises(RefusedUrlError, match="not on the public internet"):
                fetcher(allow_private=False, allow_http=True).get(f"{site.url}/a", max_bytes=9)
        assert canary.connections == 0


def test_headers_stay_with_their_origin(site: Site) -> None:
    token = {"Authorization": "Bearer sesame"}
    with Site() as other:
        other.put("/b", "hello")
        other.routes["/back"] = redirect(f"{site.url}/c")
        site.put("/c", "home")
        site.routes["/a"] = redirect(f"{other.url}/b")
        site.routes["/round"] = redirect(f"{other.url}/back")
        shared = fetcher(headers=token, origin=site.url)
        shared.get(f"{site.url}/c", max_bytes=9)
        shared.get(f"{site.url}/a", max_bytes=9, headers={"X-Own": "1"})
        shared.get(f"{other.url}/b", max_bytes=9)
        shared.get(f"{site.url}/round", max_bytes=9)
        fetcher(headers=token).get(f"{site.url}/a", max_bytes=9)
        assert all("authorization" not in r.headers and "x-own" not in r.headers for r in other.requests)
    sent = [(r.path, "authorization" in r.headers) for r in site.requests]
    assert sent == [("/c", True), ("/a", True), ("/round", True), ("/c", False), ("/a", True)]


# --- where to ---------------------------------------------------------------------------------------------------------

PRIVATE = [
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.19.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:10.0.0.1",
    "::ffff:7f00:1",
    "::7f00:1",
    "64:ff9b::a00:1",
    "64:ff9b:1::a00:1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "3fff::1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fe80::1%lo",
    "ff02::1",
    "5f00::1",
    "not an address",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_addresses_that_are_not_of_the_public_internet_are_known(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "172.32.0.1", "::ffff:1.1.1.1", "64:ff9b::101:101", "2606:4700::1"])
def test_and_so_are_those_that_are(address: str) -> None:
    assert is_public(address)


def test_this_machine_is_known_by_its_spelling() -> None:
    assert all(map(is_loopback, ("localhost", "LOCALHOST.", "127.9.9.9", "::1", "[::1]", "::ffff:127.0.0.1")))
    assert not any(map(is_loopback, ("localhost.example", "10.0.0.1", "::2", "2130706433")))


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1:{port}/",
        "https://localhost:{port}/",
        "https://127.1:{port}/",
        "https://0177.0.0.1:{port}/",
        "https://0x7f000001:{port}/",
        "https://2130706433:{port}/",
        "https://[::ffff:127.0.0.1]:{port}/",
        "https://rebound.example:{port}/",
        "http://127.0.0.1:{port}/",
        "file:///etc/passwd",
        "/etc/passwd",
        "https://",
        "https://user:sesame@example.com/",
        "https://[bad/",
    ],
)
def test_by_default_only_https_to_the_public_internet_is_asked(
    site: Site, names: dict[str, list[str]], url: str
) -> None:
    names["rebound.example"] = ["127.0.0.1"]
    error = outcome(lambda: Fetcher(limits=PATIENT).get(url.format(port=site.port), max_bytes=9))
    assert isinstance(error, RefusedUrlError) and "sesame" not in str(error)
    assert site.connections == 0


def test_loopback_needs_no_tls_when_private_addresses_are_allowed_and_other_hosts_do(site: Site) -> None:
    site.put("/", "hello")
    assert fetcher().get(f"http://localhost:{site.port}/", max_bytes=9).body == b"hello"
    with pytest.raises(RefusedUrlError, match="is not https; pass allow_http=True"):
        fetcher().get("http://10.0.0.1/", max_bytes=9)
    with pytest.raises(RefusedUrlError, match="not on the public internet; pass allow_private=True"):
        fetcher(allow_private=False, allow_http=True).get(site.url, max_bytes=9)


def test_only_hosts_of_the_list_are_asked_in_any_hop(site: Site) -> None:
    site.routes["/a"] = redirect(f"http://localhost:{site.port}/b")
    with pytest.raises(RefusedUrlError, match="not among the allowed"):
        fetcher(hosts=["127.0.0.1"]).get(f"{site.url}/a", max_bytes=9)
    assert site.paths == ["/a"]


def test_a_name_is_resolved_once_and_what_was_judged_is_connected_to(site: Site, names: dict[str, list[str]]) -> None:
    site.put("/", "hello")
    names["skills.example"] = ["127.0.0.1", "127.0.0.99"]
    got = fetcher(allow_http=True).get(f"http://skills.example:{site.port}/", max_bytes=9)
    assert got.body == b"hello" and names["asked skills.example"] == ["skills.example"]
    assert site.requests[0].headers["host"] == f"skills.example:{site.port}"


def test_a_name_that_is_rebound_between_two_tries_is_refused(
    names: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def connect(_: object, host: str, *args: object) -> None:
        asked.append(host)
        raise httpcore.ConnectError("nobody there")

    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", connect)
    names["rebound.example"] = ["1.1.1.1 10.0.0.1 2.2.2.2", "10.0.0.1"]
    with pytest.raises(RefusedUrlError):
        Fetcher(limits=PATIENT).get("https://rebound.example/", max_bytes=9)
    assert asked == ["1.1.1.1", "2.2.2.2"]


def test_the_next_address_is_tried_when_one_does_not_answer(site: Site, names: dict[str, list[str]]) -> None:
    site.put("/", "hello")
    names["two.example"] = ["127.0.0.99 127.0.0.1"]
    assert fetcher(allow_http=True).get(f"http://two.example:{site.port}/", max_bytes=9).body == b"hello"
    names["none.example"] = [""]
    error = outcome(lambda: fetcher(allow_http=True).get("http://none.example/", max_bytes=9))
    assert isinstance(error, UnreachableError) and "has no address" in str(error)


def test_proxies_of_the_environment_are_not_asked(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.put("/", "hello")
    with Site() as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        assert fetcher().get(site.url, max_bytes=9).body == b"hello"
        assert proxy.connections == 0


def test_credentials_are_in_no_message(site: Site) -> None:
    site.routes["/a"] = hang_up
    secret = fetcher(headers={"Authorization": "Bearer sesame"}, limits=HttpLimits(retries=0))
    error = outcome(lambda: secret.get(f"{site.url}/a?token=sesame", max_bytes=9))
    assert isinstance(error, UnreachableError) and "sesame" not in str(error) + repr(secret)
    assert error.__cause__ is None and error.__suppress_context__
    broken = fetcher(headers={"Authorization": "Bearer\r\nsesame"}, limits=HttpLimits(retries=0))
    error = outcome(lambda: broken.get(f"{site.url}/a", max_bytes=9))
    assert isinstance(error, SourceError) and "sesame" not in str(error)


# --- TLS --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[ssl.SSLContext, ssl.SSLContext]]:
    """Make the context of a server that has a certificate for a name, and that of a client that trusts it."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    folder: Path = tmp_path_factory.mktemp("tls")

    def issue(name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        now = datetime(2020, 1, 1)
        certificate = (
            x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
            .not_valid_before(now)
            .not_valid_after(now + timedelta(days=365 * 80))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        pem = serialization.Encoding.PEM
        file = folder / f"{name}.pem"
        secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        file.write_bytes(secret + certificate.public_bytes(pem))
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(file)
        return server, ssl.create_default_context(cadata=certificate.public_bytes(pem).decode())

    return issue


def test_the_name_is_kept_for_tls_though_the_address_is_connected_to(
    authority: Any, names: dict[str, list[str]]
) -> None:
    server, client = authority("skills.example")
    names["skills.example"] = names["other.example"] = ["127.0.0.1"]
    with Site(tls=server) as site:
        site.put("/", "hello")
        trusting = fetcher(ssl_context=client)
        assert trusting.get(f"https://skills.example:{site.port}/", max_bytes=9).body == b"hello"
        assert site.names == ["skills.example"]
        for url, who in ((f"https://other.example:{site.port}/", trusting), (f"{site.url}/", fetcher())):
            error = outcome(lambda url=url, who=who: who.get(url, max_bytes=9))
            assert isinstance(error, UnreachableError) and "certificate verify failed" in str(error).lower()
        assert len(site.requests) == 1


# --- the rest ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad", [{"deadline": 0}, {"deadline": -1}, {"retries": 1.5}, {"index_bytes": True}, {"deadline": float("nan")}]
)
def test_bounds_that_are_none_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(LimitError, match=next(iter(bad))):
        HttpLimits(**bad)


def test_without_httpx_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "httpx", None)
    with pytest.raises(MissingExtraError, match=r'pip install "skillbelt\[remote\]"'):
        Fetcher().get("https://example.com/", max_bytes=9)


def test_whatever_a_transport_raises_becomes_one_kind_of_error() -> None:
    def broken(request: httpx.Request) -> httpx.Response:
        raise OSError(5, "cable unplugged")

    error = outcome(lambda: fetcher(transport=httpx.MockTransport(broken)).get("https://a.example/", max_bytes=9))
    assert isinstance(error, UnreachableError) and "cable unplugged" in str(error)


def test_a_kept_response_is_used_while_it_is_fresh_and_asked_for_again_after(site: Site) -> None:
    site.put("/a", "one", Cache_Control="max-age=60", ETag='"1"', Last_Modified="Mon, 30 Nov 2026 00:00:00 GMT")
    cached = CachedFetcher(fetcher())

    def get(path: str = "/a", **options: Any) -> Fetched:
        return cached.get(f"{site.url}{path}", max_bytes=99, deadline=fetcher().deadline(), **options)

    assert cached.seen(f"{site.url}/a") is None
    assert get().body == get().body == b"one" and len(site.requests) == 1
    site.put("/a", "", 304, Cache_Control="no-cache")
    assert get(again=True).body == b"one"
    assert site.requests[1].headers["if-none-match"] == '"1"' and "if-modified-since" in site.requests[1].headers
    assert cached.seen(f"{site.url}/a").body == b"one"  # type: ignore[union-attr]
    assert get().body == b"one" and len(site.requests) == 3
    site.put("/a", "two", Cache_Control="max-age=60", Age="99")
    assert get().body == b"two" and get().body == b"two" and len(site.requests) == 5
    site.put("/a", "gone", 404)
    assert get().status == 404 and cached.seen(f"{site.url}/a") is None
    site.put("/b", "secret", Cache_Control="no-store")
    assert get("/b").body == b"secret" and cached.seen(f"{site.url}/b") is None
    site.put("/c", "strange", 304)
    assert get("/c").status == 304


def test_what_is_kept_stays_within_its_bound_and_what_was_used_last_stays() -> None:
    kept: Kept[str] = Kept(10)
    kept.put("a", "a", 4)
    kept.put("b", "b", 4)
    assert kept.get("a") == "a"
    kept.put("c", "c", 4)
    assert [kept.get(key) for key in "abc"] == ["a", None, "c"]
    kept.put("a", "larger than all", 11)
    assert kept.get("a") is None
    kept.put("c", "again", 9)
    kept.drop("c")
    kept.drop("c")
    kept.put("d", "d", 10)
    assert kept.get("d") == "d"


def test_urls_and_errors_are_shown_without_secrets() -> None:
    assert public_url("https://me:pa@ss@example.com/a?sig=1#x") == "https://example.com/a"
    say = Redactor({"client": {"key": "sesame-key"}, "many": [b"sesame-bytes", "s3", 5]}).line
    assert say(ValueError("no sesame-key, no sesame-bytes in s3\nhttp://u:p@h/")) == (
        "ValueError: no …, no … in s3 http://h/"
    )
    assert say(ValueError()) == "ValueError" and say(ValueError("a\x1bb")) == "ValueError: a\ufffdb"
