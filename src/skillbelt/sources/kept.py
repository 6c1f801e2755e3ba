"""What was fetched, kept in memory within a bound of bytes: nothing is written anywhere.

Responses are kept as long as their caching headers say and asked for again with their validators (SPEC-128); what has
a digest is kept under it, for it cannot change (SPEC-127).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from skillbelt.sources.fetch import Deadline, Fetched, Fetcher
from skillbelt.sources.lru import Kept

__all__ = ["CachedFetcher", "may_be_kept"]


@dataclass(frozen=True, slots=True)
class _Response:
    fetched: Fetched
    until: float


class CachedFetcher:
    """A fetcher that asks again only when it must.

    Args:
        fetcher: Does the asking.
    """

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        self._kept: Kept[_Response] = Kept(fetcher.limits.cache_bytes)

    def get(self, url: str, *, max_bytes: int, deadline: Deadline, again: bool = False) -> Fetched:
        """Get one resource; of one that did not change since, the response as it was kept.

        Args:
            url: An absolute URL.
            max_bytes: Bound of the body.
            deadline: When to give up.
            again: Ask the server also when the kept response is still fresh.

        Raises:
            SourceError: As :meth:`Fetcher.get <skillbelt.sources.fetch.Fetcher.get>`.
        """
        kept = self._kept.get(url)
        if kept is not None and not again and time.monotonic() < kept.until:
            return kept.fetched
        validators = {} if kept is None else _validators(kept.fetched.headers)
        fetched = self._fetcher.get(url, max_bytes=max_bytes, headers=validators, deadline=deadline)
        if fetched.status == 304 and kept is not None:
            fetched = replace(kept.fetched, headers={**kept.fetched.headers, **fetched.headers})
        if fetched.status != 200 or not may_be_kept(fetched.headers):
            self._kept.drop(url)
            return fetched
        until = time.monotonic() + _lifetime(fetched.headers, self._fetcher.limits.fresh)
        self._kept.put(url, _Response(fetched, until), len(fetched.body) + 1024)
        return fetched

    def seen(self, url: str) -> Fetched | None:
        """Return the kept response of a URL, however old, without asking."""
        kept = self._kept.get(url)
        return None if kept is None else kept.fetched


def may_be_kept(headers: Mapping[str, str]) -> bool:
    """Whether the server allows a response to be kept at all."""
    return "no-store" not in _directives(headers)


def _validators(headers: Mapping[str, str]) -> dict[str, str]:
    pairs = (("If-None-Match", "etag"), ("If-Modified-Since", "last-modified"))
    return {ask: headers[told] for ask, told in pairs if told in headers}


def _directives(headers: Mapping[str, str]) -> dict[str, str]:
    parts = headers.get("cache-control", "").lower().split(",")
    return {name.strip(): value.strip(' "') for name, _, value in (part.partition("=") for part in parts)}


def _lifetime(headers: Mapping[str, str], default: float) -> float:
    """Return for how many seconds a response may be used without asking."""
    told = _directives(headers)
    if "no-cache" in told:
        return 0.0
    age = _seconds(told.get("max-age", ""))
    return default if age is None else max(0.0, age - (_seconds(headers.get("age", "")) or 0.0))


def _seconds(text: str) -> float | None:
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 12 else None
