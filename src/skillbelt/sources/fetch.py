"""Bytes over HTTP for a program that trusts neither the server nor the network.

One call has one deadline, whatever the server does with it; every body, decoded, has a bound; redirects are followed
by hand, each judged like the first address; names are judged by what they resolve to, at connect time; headers with
credentials stay with the origin they are for; proxies and the environment are not asked. What a body means is not
known here. httpx is imported when something is fetched (threat model, rows 15 to 17).
"""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, cast

from skillbelt.errors import LimitError, SkillError, SourceError
from skillbelt.limits import KIB, MIB
from skillbelt.sources.policy import Policy, RefusedUrlError, join_url, origin_of, parse_url, shown_url
from skillbelt.sources.sink import Sink
from skillbelt.sources.urls import Redactor

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
_ERROR_BYTES = 64 * KIB
_FIRST_PAUSE = 0.1


class UnreachableError(SourceError):
    """Nothing, or no whole response, came back in time."""


class ResponseTooLargeError(SourceError):
    """The body, decoded, is larger than the bound of the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """How much a source on the web may take of time, bytes and requests.

    Attributes:
        deadline: Seconds for one call of a source, with resolving, redirects, retries and reading.
        index_bytes: Bytes of an index of skills, decoded.
        archive_bytes: Bytes of one archive, or of one bundled file.
        cache_bytes: Bytes of content kept in memory.
        header_bytes: Bytes of a response's headers.
        redirects: Redirects followed for one request.
        retries: Further tries after a failed connection, 429 or 5xx.
        fresh: Seconds a response without caching headers is used before it is asked for again.

    Raises:
        LimitError: A value is negative, or no number.

    Example:
        >>> HttpLimits(deadline=5).redirects
        5
    """

    deadline: float = 15.0
    index_bytes: int = MIB
    archive_bytes: int = 16 * MIB
    cache_bytes: int = 32 * MIB
    header_bytes: int = 64 * KIB
    redirects: int = 5
    retries: int = 2
    fresh: float = 30.0

    def __post_init__(self) -> None:
        for each in fields(self):
            value: Any = getattr(self, each.name)
            kinds = (int, float) if isinstance(each.default, float) else int
            if not isinstance(value, kinds) or isinstance(value, bool) or not 0 <= value < 1 << 40:
                raise LimitError(f"{each.name} must be a number from 0 up, not {value!r}.")
        if not self.deadline:
            raise LimitError("deadline must be more than 0 seconds.")


class Deadline:
    """A point in time after which a call is over.

    Args:
        seconds: How far away it is.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds left, 0 when it has passed."""
        return max(0.0, self._end - time.monotonic())


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


class Fetcher:
    """Gets bytes under a policy; holds no connection and may be shared by threads.

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
        self._headers = dict(headers or {})
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
        deadline = deadline or self.deadline()
        start = self._policy.checked(parse_url(url))
        own = dict(self._headers) if self._home in (None, origin_of(start)) else {}
        own.update(headers or {})
        tries = 0
        while True:
            outcome: Fetched | UnreachableError
            try:
                outcome = self._followed(start, own, max_bytes, deadline)
                if outcome.status not in _AGAIN:
                    return outcome
                asked = _number(outcome.headers.get("retry-after"))
            except UnreachableError as error:
                outcome, asked = error, 0.0
            pause = max(asked, _FIRST_PAUSE * 2**tries * random.uniform(0.5, 1.5))  # noqa: S311 - no secret
            if tries >= self.limits.retries or pause >= deadline.left():
                if isinstance(outcome, Fetched):
                    return outcome
                raise outcome
            tries += 1
            time.sleep(pause)

    def _followed(self, url: httpx.URL, headers: dict[str, str], max_bytes: int, deadline: Deadline) -> Fetched:
        for _ in range(self.limits.redirects + 1):
            fetched = self._once(url, headers, max_bytes, deadline)
            location = fetched.headers.get("location")
            if fetched.status not in _REDIRECTS or location is None:
                return fetched
            target = self._policy.checked(parse_url(str(url), location))
            if origin_of(target) != origin_of(url):
                headers = {}  # and they stay away, even if the chain comes back
            url = target
        raise SourceError(f"{shown_url(url)} redirects more than {self.limits.redirects} times.")

    def _once(self, url: httpx.URL, headers: Mapping[str, str], max_bytes: int, deadline: Deadline) -> Fetched:
        import httpx

        transport = self._transport or self._network(deadline)
        try:
            request = httpx.Request(
                "GET",
                url,
                headers={"User-Agent": "skillbelt", "Accept": "*/*", "Accept-Encoding": "gzip", **headers},
                extensions={"timeout": dict.fromkeys(("connect", "read", "write", "pool"), deadline.left())},
            )
            response = transport.handle_request(request)
            try:
                return self._received(response, url, max_bytes, deadline)
            finally:
                response.close()
        except SkillError:
            raise
        except httpx.TimeoutException:
            raise self._late(url, deadline) from None
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError, ValueError) as error:
            if not deadline.left():
                raise self._late(url, deadline) from None
            # Not «from error»: an exception of httpx holds the request, and that the credentials.
            told = Redactor(headers).line(error)
            raise UnreachableError(f"{shown_url(url)} cannot be fetched ({told}).") from None
        finally:
            if self._transport is None:
                transport.close()

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
                    raise self._late(url, deadline)
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

    def _late(self, url: httpx.URL, deadline: Deadline) -> UnreachableError:
        return UnreachableError(f"{shown_url(url)} did not answer in full within {deadline.seconds:g} seconds.")


def _number(text: str | None) -> float:
    """Return a header that is a whole number, however long; 0 for anything else, such as a date to wait for."""
    return float(text) if text and text.isascii() and text.isdecimal() else 0.0
