"""Which URLs may be asked for: by their spelling before a request, by their addresses when it connects.

Nothing in a skill or an index can loosen it; only the application's arguments do (threat model, row 16).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from skillbelt.errors import MissingExtraError, SourceError
from skillbelt.sources.addresses import is_loopback, is_public, parsed
from skillbelt.sources.urls import public_url

if TYPE_CHECKING:
    import httpx

__all__ = ["Policy", "RefusedUrlError", "join_url", "origin_of", "parse_url", "shown_url"]

_SHOWN = 200


class RefusedUrlError(SourceError):
    """The policy does not allow this address: scheme, host, private network, user in the URL."""


class Policy:
    """What may be asked.

    Args:
        private: Also addresses that are not public.
        http: Also without TLS. Loopback needs only ``private``.
        hosts: The only hosts; ``None`` for all.
    """

    def __init__(self, *, private: bool = False, http: bool = False, hosts: Collection[str] | None = None) -> None:
        self._private = private
        self._http = http
        self._hosts = None if hosts is None else frozenset(host.lower() for host in hosts)

    def checked(self, url: httpx.URL) -> httpx.URL:
        """Return a URL that may be asked, as far as its spelling tells.

        Raises:
            RefusedUrlError: It may not.
        """
        if url.scheme not in ("http", "https") or not url.host:
            raise RefusedUrlError(f"{shown_url(url)} is not a web address; only https is fetched.")
        if url.userinfo:
            raise RefusedUrlError(f"{shown_url(url)} came with a user or password in it; pass headers instead.")
        if self._hosts is not None and url.host.lower() not in self._hosts:
            raise RefusedUrlError(f"{shown_url(url)} is on a host that is not among the allowed ones.")
        if url.scheme == "http" and not (self._http or (self._private and is_loopback(url.host))):
            raise RefusedUrlError(f"{shown_url(url)} is not https; pass allow_http=True to fetch it all the same.")
        if parsed(url.host) is not None:
            self.choose(url.host, [url.host])
        return url

    def choose(self, host: str, addresses: Sequence[str]) -> list[str]:
        """Return the addresses of a host that may be connected to.

        Raises:
            RefusedUrlError: It has some, and none of them may be.
        """
        chosen = [address for address in addresses if self._private or is_public(address)]
        if addresses and not chosen:
            raise RefusedUrlError(
                f"{host[:_SHOWN]!r} is not on the public internet; pass allow_private=True if that is meant to be."
            )
        return chosen


def parse_url(url: str, reference: str | None = None) -> httpx.URL:
    """Return a URL, or a reference resolved against it, without fragment; one parser judges and asks.

    Raises:
        RefusedUrlError: It is no URL.
        MissingExtraError: httpx is not installed.
    """
    try:
        import httpx
    except ImportError:
        raise MissingExtraError("Fetching skills over HTTP", extra="remote") from None
    try:
        whole = httpx.URL(url)
        whole = (whole if reference is None else whole.join(reference)).copy_with(fragment=None)
    except (httpx.InvalidURL, TypeError, ValueError):
        whole = None
    # httpx escapes what cannot be in the name of a host instead of refusing it.
    if whole is None or not re.fullmatch(rb"[A-Za-z0-9._:-]*", whole.raw_host):
        raise RefusedUrlError(f"{public_url(str(reference or url))[:_SHOWN]!r} is not a URL.")
    return whole


def join_url(base: str, reference: str) -> str:
    """Resolve a reference against the URL it was found at (RFC 3986, SPEC-124).

    Raises:
        RefusedUrlError: It is no URL.

    Example:
        >>> join_url("https://example.com/.well-known/agent-skills/index.json", "mail/SKILL.md")
        'https://example.com/.well-known/agent-skills/mail/SKILL.md'
    """
    return str(parse_url(base, reference))


def origin_of(url: httpx.URL) -> tuple[str, str, int | None]:
    """Return scheme, host and port, the port also when it is not written."""
    return url.scheme, url.host.lower(), url.port or {"http": 80, "https": 443}.get(url.scheme)


def shown_url(url: httpx.URL) -> str:
    """Return a URL for a message: quoted, bounded, without user and query."""
    return repr(public_url(str(url))[:_SHOWN])
