"""Bytes over HTTP for a program that trusts neither the server nor the network.

One call has one deadline, whatever the server does with it; every body, decoded, has a bound; redirects are followed
by hand, each judged like the first address; names are judged by what they resolve to, at connect time; headers with
credentials stay with the origin they are for; proxies and the environment are not asked. What a body means is not
known here. httpx is imported when something is fetched (threat model, rows 15 to 17).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from skillbelt.errors import SkillError, SourceError
from skillbelt.limits import KIB
from skillbelt.sources.deadline import Deadline, HttpLimits
from skillbelt.sources.policy import Policy, RefusedUrlError, join_url, origin_of, parse_url, shown_url
from skillbelt.sources.sink import Sink
from skillbelt.sources.urls import Redactor, Veiled

if TYPE_CHECKING:
    import ssl

    import httpx

__all__ = [
    "Deadline",
    "Fetched",
    "Fetcher",
    "HttpLimits",
    "RefusedUrlError",
    "ResponseTooLargeError",
    "UnreachableError",
    "join_url",
]

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_AGAIN = frozenset({429, 500, 502, 503, 504})
_NOT_NOW = frozenset({429, 503})
_ERROR_BYTES = 64 * KIB
_FIRST_PAUSE = 0.1


class UnreachableError(SourceError):
    """Nothing, or no whole response, came back in time.

    Attributes:
        sent: Whether the request may have reached the server; ``False`` when nobody was connected to.
        late: Whether it was the deadline that ended the call.
    """

    sent: bool = True
    late: bool = False


class ResponseTooLargeError(SourceError):
    """The body, decoded, is larger than the bound of the call."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A response.

    Attributes:
        status: Its status; redirects have been followed, retries made.
        headers: By lower-case name.
        body: Decoded, within the bound; of an error (from 400 on) at most the first 64 KiB.
        url: Where it came from in the end.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    url: str


@dataclass(frozen=True, slots=True)
class _Asked:
    """What stays the same over the hops and tries of one call."""

    method: str
    max_bytes: int
    deadline: Deadline
    body: bytes | None = field(default=None, repr=False)


class Fetcher:
    """Gets, and puts, bytes under a policy; holds no connection and may be shared by threads.

    Args:
        limits: Bounds.
        allow_private: Also ask addresses that are not public: loopback, private networks, link-local.
        allow_http: Also without TLS. Loopback needs only ``allow_private``.
        hosts: The only hosts that are asked, in any hop; ``None`` for all (SPEC-129).
        headers: Sent to ``origin`` only, e.g. credentials.
        origin: A URL whose scheme, host and port ``headers`` are for; by default those of each call's URL.
        ssl_context: Whom to trust instead of the public authorities.
        transport: Carries requests instead of the network. Addresses are then judged by their spelling only: what
            they resolve to is the transport's business.

    Example:
        >>> import httpx
        >>> canned = httpx.MockTransport(lambda request: httpx.Response(200, content=b"hello"))
        >>> Fetcher(transport=canned).get("https://example.com/a", max_bytes=100).body
        b'hello'
    """

    def __init__(
        self,
        *,
        limits: HttpLimits | None = None,
        allow_private: bool = False,
        allow_http: bool = False,
        hosts: Collection[str] | None = None,
        headers: Mapping[str, str] | None = None,
        origin: str | None = None,
        ssl_context: ssl.SSLContext | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.limits = limits or HttpLimits()
        self._policy = Policy(private=allow_private, http=allow_http, hosts=hosts)
        self._headers = {name: Veiled(value) for name, value in (headers or {}).items()}
        self._home = None if origin is None else origin_of(parse_url(origin))
        self._ssl = ssl_context
        self._transport = transport

    def deadline(self) -> Deadline:
        """Return a deadline for several requests of one call."""
        return Deadline(self.limits.deadline)

    def check(self, url: str) -> None:
        """Raise unless a URL may be asked, as far as its spelling tells.

        Raises:
            RefusedUrlError: It may not.
        """
        self._policy.checked(parse_url(url))

    def get(
        self,
        url: str,
        *,
        max_bytes: int,
        headers: Mapping[str, str] | None = None,
        deadline: Deadline | None = None,
    ) -> Fetched:
        """Get one resource.

        Args:
            url: An absolute URL.
            max_bytes: Bound of the decoded body.
            headers: Sent to the origin of ``url`` only.
            deadline: Shared with other requests; by default its own of ``limits.deadline`` seconds.

        Returns:
            The response, whatever its status.

        Raises:
            RefusedUrlError: The policy forbids the address, or one it redirects to.
            UnreachableError: No whole response within the deadline.
            ResponseTooLargeError: The body is larger than ``max_bytes``.
            SourceError: Anything else that makes a response unusable.
        """
        asked = _Asked("GET", max_bytes, deadline or self.deadline())
        start, own = self._start(url, headers)
        return self._repeated(lambda: self._followed(start, own, asked), asked)

    def put(
        self,
        url: str,
        body: bytes,
        *,
        max_bytes: int,
        headers: Mapping[str, str] | None = None,
        deadline: Deadline | None = None,
    ) -> Fetched:
        """Put one resource where the caller says, and nowhere else: a redirect is refused.

        It is sent again only when the server cannot have acted on it: nobody was connected to, or it answered 429
        or 503.

        Args:
            url: An absolute URL.
            body: What to send.
            max_bytes: Bound of the decoded body of the response.
            headers: Sent with it.
            deadline: As for :meth:`get`.

        Returns:
            The response, whatever its status.

        Raises:
            RefusedUrlError: The policy forbids the address, or the server redirects.
            UnreachableError: No whole response within the deadline; its ``sent`` tells whether it may have arrived.
            ResponseTooLargeError: The body of the response is larger than ``max_bytes``.
            SourceError: Anything else that makes a response unusable.
        """
        asked = _Asked("PUT", max_bytes, deadline or self.deadline(), body)
        start, own = self._start(url, headers)

        def once() -> Fetched:
            fetched = self._once(start, own, asked)
            if fetched.status in _REDIRECTS and "location" in fetched.headers:
                raise RefusedUrlError(
                    f"{shown_url(start)} redirects what is sent to it, which is not followed; send it to where it is."
                )
            return fetched

        return self._repeated(once, asked)

    def _start(self, url: str, headers: Mapping[str, str] | None) -> tuple[httpx.URL, dict[str, str]]:
        start = self._policy.checked(parse_url(url))
        own: dict[str, str] = {**self._headers} if self._home in (None, origin_of(start)) else {}
        return start, own | dict(headers or {})

    def _repeated(self, once: Callable[[], Fetched], asked: _Asked) -> Fetched:
        """Try until there is an answer, or no try or time is left."""
        again = _AGAIN if asked.body is None else _NOT_NOW
        tries = 0
        while True:
            outcome: Fetched | UnreachableError
            try:
                outcome = once()
                if outcome.status not in again:
                    return outcome
                wanted = _number(outcome.headers.get("retry-after"))
            except UnreachableError as error:
                if error.sent and asked.body is not None:
                    raise
                outcome, wanted = error, 0.0
            pause = max(wanted, _FIRST_PAUSE * 2**tries * random.uniform(0.5, 1.5))  # noqa: S311 - no secret
            if tries >= self.limits.retries or pause >= asked.deadline.left():
                if isinstance(outcome, Fetched):
                    return outcome
                raise outcome
            tries += 1
            time.sleep(pause)

    def _followed(self, url: httpx.URL, headers: dict[str, str], asked: _Asked) -> Fetched:
        for _ in range(self.limits.redirects + 1):
            fetched = self._once(url, headers, asked)
            location = fetched.headers.get("location")
            if fetched.status not in _REDIRECTS or location is None:
                return fetched
            target = self._policy.checked(parse_url(str(url), location))
            if origin_of(target) != origin_of(url):
                headers = {}  # and they stay away, even if the chain comes back
            url = target
        raise SourceError(f"{shown_url(url)} redirects more than {self.limits.redirects} times.")

    def _once(self, url: httpx.URL, headers: Mapping[str, str], asked: _Asked) -> Fetched:
        import httpx

        deadline = asked.deadline
        transport = self._transport or self._network(deadline)
        try:
            request = httpx.Request(
                asked.method,
                url,
                headers={"User-Agent": "skillbelt", "Accept": "*/*", "Accept-Encoding": "gzip", **headers},
                content=asked.body,
                extensions={"timeout": dict.fromkeys(("connect", "read", "write", "pool"), deadline.left())},
            )
            response = transport.handle_request(request)
            try:
                return self._received(response, url, asked.max_bytes, deadline)
            finally:
                response.close()
        except SkillError:
            raise
        except httpx.TimeoutException:
            failure = _late(url, deadline)
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError, ValueError) as error:
            failure = _late(url, deadline)
            if deadline.left():
                failure = UnreachableError(f"{shown_url(url)} cannot be fetched ({Redactor(headers).line(error)}).")
                failure.sent = not isinstance(error, httpx.ConnectError)
        finally:
            if self._transport is None:
                transport.close()
        # Raised here, where no other exception is on its way: those of httpx hold the request, and that credentials.
        raise failure from None

    def _received(self, response: httpx.Response, url: httpx.URL, max_bytes: int, deadline: Deadline) -> Fetched:
        status = response.status_code
        headers = {name.lower(): value for name, value in response.headers.items()}
        size = sum(len(name) + len(value) for name, value in response.headers.raw)
        if size > self.limits.header_bytes:
            raise SourceError(f"{shown_url(url)} sent {size} bytes of headers; {self.limits.header_bytes} are allowed.")
        if status in _REDIRECTS:
            return Fetched(status, headers, b"", str(url))  # nobody reads those bodies, and they may be endless
        failed = status >= 400
        bound = min(max_bytes, _ERROR_BYTES) if failed else max_bytes
        sink = Sink(bound, headers.get("content-encoding", ""))
        fits = True
        if not failed and sink.plain and _number(headers.get("content-length")) > bound:
            fits = False  # said beforehand: not a byte of it is read
        else:
            for piece in cast("Iterable[bytes]", response.stream):
                if not deadline.left():
                    raise _late(url, deadline)
                fits = sink.add(piece)
                if not fits:
                    break
        if not fits and not failed:
            raise ResponseTooLargeError(f"{shown_url(url)} is larger than {max_bytes} bytes.")
        if fits and not sink.complete:
            raise UnreachableError(f"{shown_url(url)} ended too early.")
        return Fetched(status, headers, sink.body(), str(url))

    def _network(self, deadline: Deadline) -> httpx.BaseTransport:
        import httpx

        from skillbelt.sources.wire import CheckedTransport

        if self._ssl is None:
            self._ssl = httpx.create_ssl_context(trust_env=False)
        return CheckedTransport(self._policy.choose, deadline, self._ssl)


def _late(url: httpx.URL, deadline: Deadline) -> UnreachableError:
    error = UnreachableError(f"{shown_url(url)} did not answer in full within {deadline.seconds:g} seconds.")
    error.late = True
    return error


def _number(text: str | None) -> float:
    """Return a header that is a whole number, however long; 0 for anything else, such as a date to wait for."""
    return float(text) if text and text.isascii() and text.isdecimal() else 0.0
