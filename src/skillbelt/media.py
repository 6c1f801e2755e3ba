"""Pictures and documents among a skill's files, for models that take them as results of tools.

Everything else that is not text stays unread; the model is told what it is. Whether a model takes pictures is known to
the host and its framework, never here.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any, NamedTuple

from skillbelt.errors import ResourceTypeError
from skillbelt.router import SkillRouter

__all__ = ["Medium", "media_type", "whole"]

_SUFFIXES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".pdf": "application/pdf",
}
_SIGNATURES = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
    "application/pdf": (b"%PDF-",),
}
"""How files of these kinds begin: a provider refuses a whole request for one that is something else."""


class Medium(NamedTuple):
    """A picture or a document, handed over as it is beside a text.

    Attributes:
        media_type: E.g. ``"image/png"``.
        data: Its bytes.
    """

    media_type: str
    data: bytes

    @property
    def is_image(self) -> bool:
        """Whether it is a picture."""
        return self.media_type.startswith("image/")


def media_type(path: str) -> str | None:
    """Return the kind of a picture or document that models take, by its name; ``None`` for anything else.

    Args:
        path: A path as a model wrote it.

    Example:
        >>> media_type("assets/logo.PNG"), media_type("notes.md")
        ('image/png', None)
    """
    return _SUFFIXES.get(PurePosixPath(path).suffix.lower())


def whole(router: SkillRouter, name: str, path: str, kind: str) -> tuple[str, dict[str, Any], bytes]:
    """Return a picture or a document: the line beside it, facts for the host, and its bytes.

    Args:
        router: The skills.
        name: The skill.
        path: The file.
        kind: What its name says it is.

    Raises:
        ResourceTypeError: It is larger than one read may be, or something else than its name says.
    """
    resource = router.read(name, path)
    shown, size = resource.info.path, resource.total
    if resource.truncated:
        raise ResourceTypeError(f"{shown!r} ({kind}, {size} bytes) is too large to be shown. Go on without it.")
    if not resource.data.startswith(_SIGNATURES[kind]):
        raise ResourceTypeError(f"{shown!r} is named like {kind} and is something else. Go on without it.")
    facts = {"skill": name, "path": shown, "offset": 0, "total": size, "truncated": False, "media_type": kind}
    return router.renderer.medium(name, shown, kind, size), facts, resource.data
