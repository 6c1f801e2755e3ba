"""Several registries at once, one client for each (S2-37).

Which registry a reference means is decided here: its host, or for ``registry:`` the default one. An id means the same
everywhere, so it is looked for in every registry that was given. No client is made before it is needed: what comes
from a cache loads no HTTP library.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

from skillbelt.errors import InvalidPackageReferenceError, RegistryNetworkError
from skillbelt.packages.references import PackageReference
from skillbelt.sources.paths import shown
from skillbelt.sources.urls import Veiled, public_url

if TYPE_CHECKING:
    import ssl

    import httpx

    from skillbelt.packages.client import RegistryClient
    from skillbelt.packages.limits import PackageLimits
    from skillbelt.sources.fetch import HttpLimits

__all__ = ["DEFAULT", "Registries", "Registry"]

DEFAULT = "registry"
"""The name of the default registry among others, as in ``registry:acme/pdf``; no host can be called that."""


class Registries:
    """The registries that references may lead to.

    Args:
        given: By host as references spell it, each a client or a URL; ``"registry"`` is the default one. The only one
            there is, is the default too.
        others: Also ask hosts that are not given, at ``https://<host>``.
        api_keys: By host: keys for registries that are given by URL, or not at all.
        limits: For clients made here; see :class:`~skillbelt.packages.RegistryClient`.
        package_limits: The same.
        allow_private: The same.
        allow_http: The same.
        ssl_context: The same.
        transport: The same.

    Example:
        >>> registries = Registries({"registry": "https://hub.example.com"})
        >>> registries.client("hub.example.com") is registries.client("registry")
        True
    """

    def __init__(
        self,
        given: Mapping[str, RegistryClient | str] | None = None,
        *,
        others: bool = True,
        api_keys: Mapping[str, str] | None = None,
        limits: HttpLimits | None = None,
        package_limits: PackageLimits | None = None,
        allow_private: bool = False,
        allow_http: bool = False,
        ssl_context: ssl.SSLContext | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._others = others
        self._lock = threading.Lock()
        self._keys = {host.lower(): Veiled(key) for host, key in (api_keys or {}).items()}
        self._options: dict[str, Any] = {
            "limits": limits,
            "package_limits": package_limits,
            "allow_private": allow_private,
            "allow_http": allow_http,
            "ssl_context": ssl_context,
            "transport": transport,
        }
        self._given = {name.lower(): _Slot.of(name.lower(), one) for name, one in (given or {}).items()}
        self._slots = dict(self._given)
        for slot in self._given.values():
            self._slots.setdefault(_host(slot.url), slot)
        if len(self._given) == 1:
            self._slots.setdefault(DEFAULT, *self._given.values())

    @classmethod
    def of(cls, given: Registry) -> Registries:
        """Return registries from what an application may pass for them.

        Args:
            given: Registries, one client or URL as the default, several by host, or ``None`` for none.
        """
        if isinstance(given, Registries):
            return given
        return cls(given if given is None or isinstance(given, Mapping) else {DEFAULT: given})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({ ({name: public_url(slot.url) for name, slot in self._given.items()}) })"

    # --- which one ----------------------------------------------------------------------------------------------------

    def client(self, host: str, *, reference: str | None = None) -> RegistryClient:
        """Return the client of a host, the same one every time.

        Args:
            host: As a reference spells it, or ``"registry"`` for the default.
            reference: What led here, for errors.

        Raises:
            InvalidPackageReferenceError: There is no default registry.
            RegistryNetworkError: The host may not be asked.
            MissingExtraError: httpx is not installed.
        """
        slot = self._slot(host.lower(), reference)
        with self._lock:
            if slot.client is None:
                slot.client = self._made(slot)
            return slot.client

    def clients_for(self, reference: PackageReference) -> tuple[RegistryClient, ...]:
        """Return the clients that may have what a reference means, in the order in which to ask them.

        Args:
            reference: Not a local one.

        Raises:
            InvalidPackageReferenceError: There is no registry to ask.
            RegistryNetworkError: The host may not be asked.
        """
        if reference.scheme != "id":
            return (self.client(reference.host or DEFAULT, reference=reference.text),)
        if not self._given:
            raise InvalidPackageReferenceError(
                f"The reference {shown(reference.text)} names no registry, and none was given to look in; "
                "pass registry=….",
                original_reference=reference.text,
            )
        first = [DEFAULT] if DEFAULT in self._slots else []
        clients = [self.client(name, reference=reference.text) for name in (*first, *self._given)]
        return tuple(dict.fromkeys(clients))

    def identity(self, reference: PackageReference) -> str:
        """Return what tells the registry of a reference from all others, without asking or making anything.

        Args:
            reference: One with a host, or of the default registry.

        Raises:
            InvalidPackageReferenceError: There is no default registry.
            RegistryNetworkError: The host may not be asked.
        """
        slot = self._slot(reference.host or DEFAULT, reference.text)
        return public_url(slot.url).rstrip("/").removeprefix("https://")

    # --- inside -------------------------------------------------------------------------------------------------------

    def _slot(self, host: str, reference: str | None) -> _Slot:
        slot = self._slots.get(host)
        if slot is not None:
            return slot
        if host == DEFAULT:
            raise InvalidPackageReferenceError(
                f"{_naming(reference)} means the default registry, and there is none; pass registry=…, or name the "
                f"default among several {DEFAULT!r}.",
                original_reference=reference,
            )
        if not self._others:
            raise RegistryNetworkError(
                f"{_naming(reference)} leads to {shown(host)}, which is not among the registries that may be asked.",
                url=f"https://{host}",
                details={"reason": "refused", "url": f"https://{host}"},
                original_reference=reference,
            )
        with self._lock:
            return self._slots.setdefault(host, _Slot(host, f"https://{host}"))

    def _made(self, slot: _Slot) -> RegistryClient:
        from skillbelt.packages.client import RegistryClient

        key = self._keys.get(slot.name) or self._keys.get(_host(slot.url))
        return RegistryClient(slot.url, api_key=key, discover=True, **self._options)


@dataclass(slots=True)
class _Slot:
    """A registry and, once it is needed, its client."""

    name: str
    url: str
    client: RegistryClient | None = None

    @classmethod
    def of(cls, name: str, one: RegistryClient | str) -> _Slot:
        return cls(name, one) if isinstance(one, str) else cls(name, one.url, one)


def _naming(reference: str | None) -> str:
    return "This" if reference is None else f"The reference {shown(reference)}"


def _host(url: str) -> str:
    """Return the host of a URL as a reference spells it."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2].lower()
    return host.removesuffix({"https": ":443", "http": ":80"}.get(parts.scheme, ":"))


Registry: TypeAlias = "Registries | RegistryClient | str | Mapping[str, RegistryClient | str] | None"
"""What an application may pass for registries: the default one as client or URL, several by host, or none."""
