"""One registry, asked over HTTP: four endpoints to read, one to publish (S2-24 to S2-30).

Every call has one deadline, bounds and a few retries (:mod:`skillbelt.sources.fetch`), and ends with an answer that
was verified or with one typed error. Nothing is cached here and nothing is written to disk. The API key goes to the
origin of the registry and nowhere else, and is in no message, ``repr`` or traceback.

It is synchronous and safe to share between threads. In a coroutine: ``await asyncio.to_thread(client.find, …)``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from skillbelt.errors import (
    IntegrityError,
    InvalidPackageIdError,
    InvalidPackageReferenceError,
    PackageNotFoundError,
    PackageValidationError,
)
from skillbelt.limits import KIB
from skillbelt.models import JsonValue
from skillbelt.packages.answers import (
    MOST,
    PackageAnswer,
    PackageInfo,
    RegistryInfo,
    VerifiedPackage,
    read_answer,
    read_page,
    read_published,
    read_versions,
)
from skillbelt.packages.canonical import package_id
from skillbelt.packages.exchange import Exchange
from skillbelt.packages.ids import PackageId, PackageType
from skillbelt.packages.limits import PackageLimits
from skillbelt.packages.places import concrete_place, place, place_path
from skillbelt.packages.refusals import unusable
from skillbelt.packages.verifying import check_name, check_place, verified
from skillbelt.packages.versions import LATEST
from skillbelt.sources.fetch import HttpLimits
from skillbelt.sources.paths import shown
from skillbelt.sources.urls import Veiled, public_url

if TYPE_CHECKING:
    import ssl

    import httpx

__all__ = ["RegistryClient"]

_AROUND = 16 * KIB
"""Bytes of an answer that are not its document."""

_PARTS_OF_A_FILE = 16
"""More than a file of a document has: its key, its fields, its commas."""


class RegistryClient:
    """Asks one registry.

    Args:
        url: Where it is: its base address, to which the endpoints are added.
        api_key: For registries that want one; sent as ``Authorization: Bearer`` to the origin of ``url`` only.
        limits: Bounds of time, bytes, redirects and retries. Each call has ``limits.deadline`` seconds in all.
        package_limits: Bounds of one package; larger answers are not read.
        allow_private: Also ask addresses that are not public, such as loopback.
        allow_http: Also without TLS. Loopback needs only ``allow_private``.
        discover: Ask ``/.well-known/cleverthis-packages`` once, before the first question, where the endpoints are;
            a registry without one has them at ``url``.
        ssl_context: Whom to trust instead of the public authorities.
        transport: Carries requests instead of the network, e.g. in tests.

    Raises:
        RegistryNetworkError: The URL may not be asked.
        LimitError: The API key cannot be sent in a header.
        MissingExtraError: httpx is not installed.

    Example:
        >>> RegistryClient("https://registry.example.com", api_key="secret")
        RegistryClient('https://registry.example.com')
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        limits: HttpLimits | None = None,
        package_limits: PackageLimits | None = None,
        allow_private: bool = False,
        allow_http: bool = False,
        discover: bool = False,
        ssl_context: ssl.SSLContext | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        api_key = None if api_key is None else Veiled(api_key)  # this frame may be in a traceback
        self.label = public_url(str(url).rstrip("/"))
        self._exchange = Exchange(
            url,
            api_key=api_key,
            limits=limits,
            allow_private=allow_private,
            allow_http=allow_http,
            discover=discover,
            ssl_context=ssl_context,
            transport=transport,
        )
        self.url = self._exchange.url
        bounds = package_limits or PackageLimits()
        self._package_bytes = bounds.document_bytes + _AROUND
        self._read = partial(read_answer, most=max(MOST, _PARTS_OF_A_FILE * bounds.files))
        self._index_bytes = self._exchange.limits.index_bytes

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.label!r})"

    # --- reading ------------------------------------------------------------------------------------------------------

    def package(self, package: PackageId | str, *, reference: str | None = None) -> PackageAnswer:
        """Return a package by its id (S2-24).

        Args:
            package: Its id.
            reference: What led to it, for errors.

        Raises:
            InvalidPackageIdError: It is no id.
            PackageNotFoundError: The registry has none of that id.
            IntegrityError: It sent other content.
            RegistryError: As the registry, or the network, has it; see :mod:`skillbelt.errors`.
        """
        return self.fetch(package, reference=reference).answer

    def find(
        self,
        namespace: str,
        name: str,
        version: str = LATEST,
        *,
        type: str = PackageType.SKILL,  # noqa: A002 - as the endpoint calls it
        reference: str | None = None,
    ) -> PackageAnswer:
        """Return a package by its name; the answer says which version an alias led to (S2-25).

        Args:
            namespace: Who publishes it.
            name: The package.
            version: A concrete version, or an alias such as ``"v1.x"``.
            type: Kind of package.
            reference: What led to it, for errors.

        Raises:
            InvalidPackageReferenceError: The parts make no reference.
            PackageNotFoundError: There is no such package.
            VersionNotFoundError: It has no such version.
            IntegrityError: The content is not what the answer says, or the answer not what was asked.
            PackageValidationError: The package has another name (S2-23).
            RegistryError: As the registry, or the network, has it; see :mod:`skillbelt.errors`.
        """
        return self.look_up(namespace, name, version, type=type, reference=reference).answer

    def fetch(self, package: PackageId | str, *, reference: str | None = None) -> VerifiedPackage:
        """Return a package by its id, with the bytes that were hashed.

        Args:
            package: As for :meth:`package`.
            reference: As for :meth:`package`.

        Raises:
            RegistryError: As for :meth:`package`.
        """
        try:
            asked = package if isinstance(package, PackageId) else PackageId.parse(package)
        except InvalidPackageIdError as error:
            raise InvalidPackageIdError(error.message, details=error.details, original_reference=reference) from None
        deadline = self._exchange.deadline()
        question = self._exchange.question(
            shown(str(asked)),
            self._exchange.address(f"packages/{asked}", deadline=deadline, reference=reference),
            unless=InvalidPackageIdError,
            missing=PackageNotFoundError,
            reference=reference,
        )
        answer = self._exchange.get(question, self._read, self._package_bytes, deadline)
        return verified(answer, question, asked=asked)

    def look_up(
        self,
        namespace: str,
        name: str,
        version: str = LATEST,
        *,
        type: str = PackageType.SKILL,  # noqa: A002
        reference: str | None = None,
    ) -> VerifiedPackage:
        """Return a package by its name, with the bytes that were hashed.

        Args:
            namespace: As for :meth:`find`.
            name: As for :meth:`find`.
            version: As for :meth:`find`.
            type: As for :meth:`find`.
            reference: As for :meth:`find`.

        Raises:
            RegistryError: As for :meth:`find`.
        """
        wanted = place(type, namespace, name, version, reference)
        deadline = self._exchange.deadline()
        question = self._exchange.question(
            shown(f"{namespace}/{name}@{wanted}"),
            self._exchange.address(
                place_path(type, namespace, name), {"version": wanted}, deadline=deadline, reference=reference
            ),
            unless=InvalidPackageReferenceError,
            missing=PackageNotFoundError,
            reference=reference,
        )
        answer = self._exchange.get(question, self._read, self._package_bytes, deadline)
        package = verified(answer, question)
        check_place(package, question, kind=str(type), namespace=namespace, wanted=wanted)
        for told in (answer["name"], answer["document"].get("name")):
            check_name(name, told, what=f"The package {question.what}", reference=reference)
        return package

    def versions(
        self,
        namespace: str,
        name: str,
        *,
        type: str = PackageType.SKILL,  # noqa: A002
    ) -> tuple[str, ...]:
        """Return the versions of a package, as the registry sorts them; not every registry offers this.

        Args:
            namespace: Who publishes it.
            name: The package.
            type: Kind of package.

        Raises:
            PackageNotFoundError: There is no such package.
            RegistryNetworkError: The registry does not offer it, or gave no usable answer.
            RegistryError: As the registry, or the network, has it; see :mod:`skillbelt.errors`.
        """
        place(type, namespace, name, LATEST)
        deadline = self._exchange.deadline()
        url = self._exchange.address(f"{place_path(type, namespace, name)}/versions", deadline=deadline)
        question = self._exchange.question(shown(f"{namespace}/{name}"), url, unless=InvalidPackageReferenceError)
        return self._exchange.get(question, read_versions, self._index_bytes, deadline)

    def browse(
        self,
        type: str | None = None,  # noqa: A002
        namespace: str | None = None,
        *,
        max_pages: int = 100,
    ) -> tuple[PackageInfo, ...]:
        """Return what the registry lists, all pages of it, within one deadline (S2-26).

        Args:
            type: Only packages of this kind.
            namespace: Only packages of this publisher.
            max_pages: Pages that are asked for at most.

        Raises:
            RegistryNetworkError: There are more pages, they go in a circle, or one cannot be used.
            RegistryError: As the registry, or the network, has it; see :mod:`skillbelt.errors`.
        """
        filters = {key: str(value) for key, value in (("type", type), ("namespace", namespace)) if value is not None}
        deadline = self._exchange.deadline()
        found: list[PackageInfo] = []
        tokens: list[str] = []
        while True:
            asked = filters | ({"page_token": tokens[-1]} if tokens else {})
            question = self._exchange.question(
                "its packages", self._exchange.address("browse", asked, deadline=deadline)
            )
            page = self._exchange.get(question, read_page, self._index_bytes, deadline)
            found += page.packages
            if not page.next_page_token:
                return tuple(found)
            if page.next_page_token in tokens:
                raise unusable("its pages go in a circle", question)
            tokens.append(page.next_page_token)
            if len(tokens) >= max_pages:
                raise unusable(f"it has more than {max_pages} pages; filter, or raise max_pages", question)

    def well_known(self) -> RegistryInfo:
        """Return what the registry says of itself; its ``api`` is absolute (S2-27).

        Raises:
            RegistryNetworkError: It says nothing, or nothing that can be used.
            RegistryError: As the registry, or the network, has it; see :mod:`skillbelt.errors`.
        """
        return self._exchange.info(self._exchange.deadline())

    # --- publishing ---------------------------------------------------------------------------------------------------

    def publish(self, document: Mapping[str, JsonValue], *, namespace: str, version: str) -> PackageInfo:
        """Publish a document under a concrete version, as :func:`skillbelt.packages.pack` makes it.

        Publishing the same content again is no error. It is sent again only when the registry cannot have received
        it, and never to where a redirect leads.

        Args:
            document: The package; its ``name`` is the name it is published under.
            namespace: Where.
            version: For example ``"v1.2.3"``. It is for ever: other content needs another version.

        Raises:
            InvalidPackageReferenceError: Namespace, name or version cannot be used.
            PackageValidationError: The document has no canonical form, or the registry refuses it.
            AuthenticationRequiredError: The registry wants an API key.
            AccessDeniedError: This one may not publish there.
            PackageConflictError: The version exists with other content.
            IntegrityError: The registry says it keeps other content than was sent.
            RegistryNetworkError: No usable answer; ``details["sent"]`` tells whether it may have been published.
        """
        name = str(document.get("name"))
        wanted = concrete_place(PackageType.SKILL, namespace, name, version)
        mine = package_id(document)
        deadline = self._exchange.deadline()
        url = self._exchange.address(
            place_path(PackageType.SKILL, namespace, name), {"version": wanted}, deadline=deadline
        )
        question = self._exchange.question(shown(f"{namespace}/{name}@{wanted}"), url, unless=PackageValidationError)
        body = json.dumps(dict(document), ensure_ascii=False, separators=(",", ":")).encode()
        info = self._exchange.put(question, body, read_published, deadline)
        if info.id != str(mine):
            raise IntegrityError(
                f"{question.where} says it keeps {question.what} as {shown(info.id)}; what was sent is {mine}.",
                details={"what": "id", "expected": str(mine), "found": info.id[:200]},
            )
        return info
