"""The lexical gate: which relative paths may be looked up at all.

Judged on the text alone, before any file system is asked (S3-34). A path is never decoded or normalised after it
passed: ``%2e%2e`` and full-width dots are names like any other, and no file has them.
"""

from __future__ import annotations

from collections.abc import Iterable

from skillbelt.errors import ResourcePathError
from skillbelt.models import ResourceKind

__all__ = ["asked", "hidden", "hidden_name", "join", "kind_of", "portable", "private", "shown", "split_path"]

_PATH = 4096
_PARTS = 64
_SHOWN = 120
_IGNORED = frozenset({"node_modules", "__pycache__", "__MACOSX"})
_KINDS: dict[str, ResourceKind] = {"scripts": "script", "references": "reference", "assets": "asset"}


def split_path(path: object) -> tuple[str, ...]:
    r"""Return the parts of a relative path.

    Args:
        path: ``/``-separated, without empty parts, ``.``, ``..``, ``\`` or NUL, not absolute.

    Raises:
        ResourcePathError: It is anything else.

    Example:
        >>> split_path("references/forms.md")
        ('references', 'forms.md')
    """
    if not isinstance(path, str) or not path:
        raise ResourcePathError("A resource path must not be empty; give one such as 'references/guide.md'.")
    if len(path) > _PATH:
        raise ResourcePathError(f"The resource path is {len(path)} characters long; at most {_PATH} are allowed.")
    parts = tuple(path.split("/"))
    plain = len(parts) <= _PARTS and not any(part in ("", ".", "..") for part in parts)
    if not plain or "\\" in path or "\x00" in path or parts[0].endswith(":"):  # file:, http:, C:
        raise ResourcePathError(
            f"{asked(path)} is not a path inside the skill; give one relative to its folder, with '/' and "
            "without '..', such as 'references/guide.md'."
        )
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        raise ResourcePathError(f"{shown(path)} is not text that can name a file.") from None
    return parts


def portable(path: str) -> str:
    r"""Return a path as models write it, ``.\references\a.md``, in the one form sources take."""
    path = path.replace("\\", "/") if isinstance(path, str) else path
    return path[2:] if isinstance(path, str) and path.startswith("./") and path != "./" else path


def hidden(parts: Iterable[str]) -> bool:
    """Whether a path is left out of listings: dot files, version control, dependencies, caches."""
    return any(hidden_name(part) for part in parts)


def hidden_name(name: str) -> bool:
    """Whether one name is left out of listings."""
    return name[:1] == "." or name in _IGNORED


def private(parts: Iterable[str]) -> bool:
    """Whether a path is not served at all, listed or not: ``.env``, ``.git``; ``..data.md`` is only an odd name."""
    return hidden(part for part in parts if not part.startswith(".."))


def kind_of(path: str) -> ResourceKind:
    """Return the kind of a bundled file by its top folder (S1-10 to S1-12)."""
    top, slash, _ = path.partition("/")
    return _KINDS.get(top, "other") if slash else "other"


def join(folder: str, path: str) -> str:
    """Join two relative paths, either of which may be empty."""
    return f"{folder}/{path}" if folder and path else folder or path


def asked(text: str) -> str:
    """Return what a caller sent as an error gives it back: :func:`shown`, and no path of the host, not even a guess."""
    return shown(f"…/{text.rpartition('/')[2]}" if text.startswith("/") or ":/" in text else text)


def shown(text: str) -> str:
    """Return ``text`` quoted, bounded and without characters a terminal or a model would act on."""
    quoted = repr(text[:_SHOWN])  # each character may become ten
    if len(text) <= _SHOWN and len(quoted) <= _SHOWN + 2:
        return quoted
    return f"{quoted[:_SHOWN].rstrip(quoted[-1])}…{quoted[-1]}"
