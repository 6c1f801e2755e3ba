"""Questions to one registry and what becomes of them: an answer that could be read, or one typed error.

What the questions are is the business of :mod:`skillbelt.packages.client`. Here are the address, the API key, which is
kept out of everything that is shown, and the way from a failure to its error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlencode

from skillbelt.errors import LimitError, MissingExtraError, RegistryError, RegistryNetworkError, SourceError
from skillbelt.packages.answers import RegistryInfo, Said, read_info, read_said
from skillbelt.packages.refusals import Question, refusal, unanswered, unusable
from skillbelt.sources.fetch import Deadline, Fetched, Fetcher, HttpLimits, join_url
from skillbelt.sources.paths import shown
from skillbelt.sources.urls import Veiled, public_url

if TYPE_CHECKING:
    import ssl

    import httpx

__all__ = ["Exchange"]

_WELL_KNOWN = ".well-known/cleverthis-packages"
_JSON = "application/json"

_T = TypeVar("_T")


class Exchange:
    """Asks one registry; the parameters are those of :class:`~skillbelt.packages.client.RegistryClient`.

    Raises:
        RegistryNetworkError: The URL may not be asked.
        LimitError: The API key cannot be sent in a header.
        MissingExtraError: httpx is not installed.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None,
        limits: HttpLimits | None,
        allow_private: bool,
        allow_http: bool,
        discover: bool,
        ssl_context: ssl.SSLContext | None,
        transport: httpx.BaseTransport | None,
    ) -> None:
        self.url = str(url).rstrip("/")
        self.label = public_url(self.url)
        self._key = api_key
        self._api: str | None = None if discover else f"{self.url}/"
        question = self.question("anything", self.url)
        if "?" in self.url or "#" in self.url:
            raise unanswered(SourceError("Its address has a query or a fragment; give it without."), question)
        try:
            self._fetcher = Fetcher(
                limits=limits,
                allow_private=allow_private,
                allow_http=allow_http,
                headers={} if api_key is None else {"Authorization": Veiled(f"Bearer {_checked(api_key)}")},
                origin=self.url,
                ssl_context=ssl_context,
                transport=transport,
            )
            self._fetcher.check(self.url)
        except SourceError as error:
            raise unanswered(error, question) from None
        except MissingExtraError:
            raise MissingExtraError("Talking to a registry of packages", extra="registry") from None
        self.limits = self._fetcher.limits

    def deadline(self) -> Deadline:
        """Return a deadline for several questions of one call."""
        return self._fetcher.deadline()

    def question(
        self,
        what: str,
        url: str,
        *,
        unless: type[RegistryError] = RegistryError,
        missing: type[RegistryError] | None = None,
        reference: str | None = None,
    ) -> Question:
        """Return a question, for its errors; see :class:`~skillbelt.packages.refusals.Question`."""
        where = f"The registry {shown(self.label)}"
        return Question(what=what, where=where, url=url, unless=unless, missing=missing, reference=reference)

    def address(
        self, path: str, query: Mapping[str, str] | None = None, *, deadline: Deadline, reference: str | None = None
    ) -> str:
        """Return the URL of an endpoint; the first time, where endpoints are may have to be asked."""
        if self._api is None:
            try:
                self._api = self._discovered(deadline)
            except RegistryError as error:
                error.original_reference = reference
                raise
        return f"{self._api}{path}" + (f"?{urlencode(query)}" if query else "")

    def _discovered(self, deadline: Deadline) -> str:
        try:
            api = self.info(deadline).api
        except RegistryNetworkError as error:
            if error.status_code not in (404, 410):
                raise
            return f"{self.url}/"
        return f"{api.rstrip('/')}/"

    def info(self, deadline: Deadline) -> RegistryInfo:
        """Return what the registry says of itself, with an absolute ``api``."""
        question = self.question("what it is", f"{self.url}/{_WELL_KNOWN}")
        info = self.get(question, read_info, self.limits.index_bytes, deadline)
        try:
            api = join_url(question.url, info.api) if info.api else self.url
            self._fetcher.check(api)
        except SourceError as error:
            raise unanswered(error, question) from None
        return info.model_copy(update={"api": api})

    def get(self, question: Question, read: Callable[[bytes], _T], max_bytes: int, deadline: Deadline) -> _T:
        """Return what ``read`` makes of the answer to a question."""
        try:
            fetched = self._fetcher.get(question.url, max_bytes=max_bytes, headers={"Accept": _JSON}, deadline=deadline)
        except SourceError as error:
            raise unanswered(error, question) from None
        return self._understood(fetched, question, read)

    def put(self, question: Question, body: bytes, read: Callable[[bytes], _T], deadline: Deadline) -> _T:
        """Return what ``read`` makes of the answer to something that is sent."""
        headers = {"Content-Type": _JSON, "Accept": _JSON}
        try:
            fetched = self._fetcher.put(
                question.url, body, max_bytes=self.limits.index_bytes, headers=headers, deadline=deadline
            )
        except SourceError as error:
            raise unanswered(error, question, sending=True) from None
        return self._understood(fetched, question, read)

    def _understood(self, fetched: Fetched, question: Question, read: Callable[[bytes], _T]) -> _T:
        if fetched.status not in (200, 201):
            said = read_said(fetched.body)
            said = Said(said.code, self._hidden(said.message), {k: self._hidden(v) for k, v in said.details.items()})
            raise refusal(fetched.status, said, question)
        try:
            return read(fetched.body)
        except ValueError as error:
            why = self._hidden(str(error))
        raise unusable(why, question)  # here, where what was read is in no exception on its way

    def _hidden(self, value: _T) -> _T:
        """Return what a registry said without the API key, should it have repeated that."""
        if self._key is None:
            return value
        if isinstance(value, str):
            return value.replace(str(self._key), "…")  # type: ignore[return-value]
        if isinstance(value, dict):
            return {key: self._hidden(below) for key, below in value.items()}  # type: ignore[return-value]
        if isinstance(value, list):
            return [self._hidden(below) for below in value]  # type: ignore[return-value]
        return value


def _checked(key: str) -> str:
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise LimitError("An API key is one word of visible ASCII characters, and not empty; give another.")
    return key
