"""Who may read and who may publish: keys, compared without telling how much of one was right.

A key is a bearer of rights, not a user: whoever sends it has them. Keys are held as digests, each is compared with
what was sent whatever the others gave, and none is written into a message.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping

from skillbelt.errors import AccessDeniedError, AuthenticationRequiredError, LimitError

__all__ = ["Access"]

_LONGEST = 4096


class Access:
    """The keys of a registry.

    Args:
        publish_keys: Keys that may publish; a mapping says into which namespaces each of them may. They may read too.
        read_keys: Keys that may read; ``None`` lets anybody.

    Raises:
        LimitError: A key is empty, or not of visible ASCII characters, so no header could carry it.

    Example:
        >>> access = Access({"team-key": ["acme"]}, None)
        >>> access.may_publish("Bearer team-key", "acme")
    """

    def __init__(
        self,
        publish_keys: Iterable[str] | Mapping[str, Iterable[str]] | None,
        read_keys: Iterable[str] | None,
    ) -> None:
        publishers = publish_keys if isinstance(publish_keys, Mapping) else dict.fromkeys(_each(publish_keys))
        self._publishers = [
            (_digest(_checked(key)), None if spaces is None else frozenset(_each(spaces)))
            for key, spaces in publishers.items()
        ]
        self._readers = None if read_keys is None else [_digest(_checked(key)) for key in _each(read_keys)]

    @property
    def open(self) -> bool:
        """Whether anybody may read."""
        return self._readers is None

    @property
    def publishing(self) -> bool:
        """Whether anybody at all may publish."""
        return bool(self._publishers)

    def may_read(self, header: str | None) -> None:
        """Return if a request may read.

        Args:
            header: Its ``Authorization``, if it has one.

        Raises:
            AuthenticationRequiredError: A key is needed, and this is none that is known.
        """
        if self._readers is not None:
            digest = _sent(header, "This registry is read with an API key")
            known = [hmac.compare_digest(digest, each) for each in self._readers]
            known += [hmac.compare_digest(digest, each) for each, _ in self._publishers]
            if not any(known):
                raise _unknown()

    def may_publish(self, header: str | None, namespace: str) -> None:
        """Return if a request may publish into a namespace.

        Args:
            header: Its ``Authorization``, if it has one.
            namespace: Where to.

        Raises:
            AuthenticationRequiredError: There is no key, or one that is not known.
            AccessDeniedError: The key is known and may not; or nobody may.
        """
        if not self._publishers:
            raise AccessDeniedError("This registry takes no publications; publish to one that was started with a key.")
        digest = _sent(header, "Publishing needs an API key")
        found = [spaces for each, spaces in self._publishers if hmac.compare_digest(digest, each)]
        reads = [hmac.compare_digest(digest, each) for each in self._readers or ()]
        if not found:
            if any(reads):
                raise AccessDeniedError("This API key may read and not publish; use one that may.")
            raise _unknown()
        if not any(spaces is None or namespace in spaces for spaces in found):
            raise AccessDeniedError(
                f"This API key may not publish into the namespace {namespace!r}; use another key, or another namespace."
            )


def _each(values: Iterable[str] | None) -> list[str]:
    """Return the words of a list; one word is a list of one, not of its letters."""
    return [values] if isinstance(values, str) else list(values or ())


def _checked(key: str) -> str:
    if not isinstance(key, str) or not key or not key.isascii() or not key.isprintable() or " " in key:
        raise LimitError("An API key is one word of visible ASCII characters, and not empty; give another.")
    return key


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def _sent(header: str | None, need: str) -> bytes:
    scheme, _, key = (header or "").partition(" ")
    if scheme.lower() != "bearer" or not key.strip() or len(key) > _LONGEST:
        raise AuthenticationRequiredError(f"{need}; send it as 'Authorization: Bearer KEY'.")
    return _digest(key.strip())


def _unknown() -> AuthenticationRequiredError:
    return AuthenticationRequiredError("This registry does not know the API key that was sent; check it.")
