"""The network below :mod:`skillbelt.sources.fetch`: a name is resolved once, and what was judged is connected to.

Everything that waits (resolver, connect, TLS, each read) waits at most until the deadline of the call; the time-outs
of httpx restart on every byte. Needs httpx, so it is imported only when something is fetched. No proxies, no
environment, no connection kept: each request has its own, closed after it.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpcore
import httpx

from skillbelt.sources.addresses import parsed

if TYPE_CHECKING:
    from skillbelt.sources.fetch import Deadline

__all__ = ["CheckedTransport"]

_PIECE = 16 * 1024


class CheckedTransport(httpx.BaseTransport):
    """Carries requests to checked addresses until a deadline.

    Args:
        choose: Given a host and its addresses, returns those that may be connected to, or raises.
        deadline: When to give up.
        ssl_context: Whom to trust.
    """

    def __init__(
        self, choose: Callable[[str, list[str]], list[str]], deadline: Deadline, ssl_context: ssl.SSLContext
    ) -> None:
        self._pool = httpcore.ConnectionPool(
            ssl_context=ssl_context,
            network_backend=_Backend(choose, deadline),
            max_keepalive_connections=0,
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the body of the response is read as it is iterated."""
        with _translated():
            response = self._pool.handle_request(
                httpcore.Request(
                    method=request.method,
                    url=httpcore.URL(
                        scheme=request.url.raw_scheme,
                        host=request.url.raw_host,
                        port=request.url.port,
                        target=request.url.raw_path,
                    ),
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        return httpx.Response(response.status, headers=response.headers, stream=_Body(response))

    def close(self) -> None:
        """Close the connection."""
        self._pool.close()


class _Body(httpx.SyncByteStream):
    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        with _translated():
            yield from self._response.iter_stream()

    def close(self) -> None:
        self._response.close()


@contextmanager
def _translated() -> Iterator[None]:
    """Turn errors of httpcore, which share no root, into those of httpx."""
    try:
        yield
    except httpcore.TimeoutException as error:
        raise httpx.TimeoutException(str(error)) from error
    except httpcore.ConnectError as error:  # nothing was sent yet
        raise httpx.ConnectError(str(error)) from error
    except httpcore.NetworkError as error:
        raise httpx.NetworkError(str(error)) from error
    except (httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
        raise httpx.ProtocolError(str(error)) from error


class _Backend(httpcore.NetworkBackend):
    def __init__(self, choose: Callable[[str, list[str]], list[str]], deadline: Deadline) -> None:
        self._choose = choose
        self._deadline = deadline
        self._plain = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        addresses = self._choose(host, _resolved(host, port, self._deadline))
        for number, address in enumerate(addresses, start=1):
            # An address that swallows packets must not use up the time of the others.
            share = _left(self._deadline, httpcore.ConnectTimeout) / (len(addresses) - number + 1)
            try:
                stream = self._plain.connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if number == len(addresses):
                    raise
            else:
                return _Stream(stream, self._deadline)
        raise httpcore.ConnectError(f"{host} has no address")


class _Stream(httpcore.NetworkStream):
    """A connection whose every wait ends at the deadline, however often a byte arrives; other time-outs are ignored."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(self._deadline, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        # In pieces, for httpcore would start the time-out anew with every bit of it that the other side takes.
        whole = memoryview(buffer)
        for start in range(0, len(whole), _PIECE):
            self._stream.write(bytes(whole[start : start + _PIECE]), _left(self._deadline, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        left = _left(self._deadline, httpcore.ConnectTimeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(deadline: Deadline, error: type[httpcore.TimeoutException]) -> float:
    left = deadline.left()
    if left <= 0:
        raise error("the deadline has passed")
    return left


def _resolved(host: str, port: int, deadline: Deadline) -> list[str]:
    """Return the addresses of a host, without waiting past the deadline: the resolver knows no time-out."""
    if parsed(host) is not None:
        return [host]
    answer: Future[list[str]] = Future()

    def ask() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answer.set_result(list(dict.fromkeys(str(info[4][0]) for info in found)))
        except (OSError, UnicodeError) as error:
            answer.set_exception(error)

    threading.Thread(target=ask, name="skillbelt-resolver", daemon=True).start()
    try:
        return answer.result(_left(deadline, httpcore.ConnectTimeout))
    except TimeoutError:
        raise httpcore.ConnectTimeout(f"{host} was not resolved in time") from None
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(f"{host} cannot be resolved: {error}") from error
