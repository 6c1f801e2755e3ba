"""Which program runs a script: judged by its first line and its suffix, chosen by the host.

No executable bit is needed and no first line is obeyed: ``#!/usr/bin/env node`` only says that it is JavaScript. The
program is the host's choice for that language, Python the interpreter that runs the host itself.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from skillbelt.errors import ScriptError
from skillbelt.scripts.inline_metadata import InlineMetadata, inline_metadata
from skillbelt.sources.paths import shown

__all__ = ["Interpreters", "Program", "language_of", "shebang"]

_SUFFIXES = {
    ".py": "python",
    ".sh": "sh",
    ".bash": "bash",
    ".zsh": "zsh",
    ".js": "node",
    ".mjs": "node",
    ".cjs": "node",
    ".rb": "ruby",
    ".pl": "perl",
    ".php": "php",
    ".r": "r",
    ".lua": "lua",
    ".awk": "awk",
    ".tcl": "tcl",
}
_PROGRAMS: dict[str, tuple[tuple[str, ...], ...]] = {
    # Scripts called .sh are mostly written for bash, whatever they are called.
    "sh": (("bash",), ("sh",)),
    "bash": (("bash",),),
    "zsh": (("zsh",),),
    "node": (("node",), ("nodejs",)),
    "ruby": (("ruby",),),
    "perl": (("perl",),),
    "php": (("php",),),
    "r": (("Rscript",),),
    "lua": (("lua",), ("lua5.4",)),
    "awk": (("awk", "-f"),),
    "tcl": (("tclsh",),),
}
_ALIASES = {
    "pypy": "python",
    "nodejs": "node",
    "rscript": "r",
    "tclsh": "tcl",
    "dash": "sh",
    "ash": "sh",
    "gawk": "awk",
}
_VERSION = re.compile(r"[0-9.]+$")
_SHEBANG = re.compile(rb"\A(?:\xef\xbb\xbf)?#!([^\r\n]{1,500})")
_STANDARD = ("/usr/local/bin", "/usr/bin", "/bin")


@dataclass(frozen=True, slots=True)
class Program:
    """How a script is to be run.

    Attributes:
        language: Such as ``"python"``.
        argv: The interpreter; the script's path and its arguments follow.
        roots: Folders that hold the interpreter, for a sandbox to let through.
        metadata: What a Python script says of its packages.
    """

    language: str
    argv: tuple[str, ...]
    roots: tuple[str, ...] = ()
    metadata: InlineMetadata | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreters:
    """The host's choice of a program for each language.

    Attributes:
        commands: For a language, the interpreter as a list of words; ``None`` forbids the language. What is not named
            is looked for on the path: sh, bash, node, ruby, perl and others.
        install: Whether ``uv``, when it is there, may fetch the packages that a Python script names in its inline
            metadata (PEP 723). They are fetched before the script starts and outside of its sandbox, as wheels only.
        path: Where to look, as ``PATH`` is written; by default that of the host and the system's usual folders.

    Example:
        >>> Interpreters(commands={"node": None}).find("scripts/a.js", b"")
        Traceback (most recent call last):
            ...
        skillbelt.errors.ScriptError: 'scripts/a.js' needs node, which this host does not allow.
    """

    commands: Mapping[str, Sequence[str] | None] = field(default_factory=lambda: MappingProxyType({}))
    install: bool = False
    path: str | None = None

    def find(self, path: str, data: bytes) -> Program:
        """Return the program for a script.

        Args:
            path: Its path in the skill.
            data: Its bytes.

        Raises:
            ScriptError: Its language is not known, not allowed, or has no interpreter here.
        """
        language = language_of(path, data)
        if language is None:
            raise ScriptError(
                f"{shown(path)} does not say what runs it: it has no known suffix ({', '.join(_SUFFIXES)}) and no "
                "first line such as '#!/usr/bin/env python3'."
            )
        if language in self.commands:
            given = self.commands[language]
            if given is None:
                raise ScriptError(f"{shown(path)} needs {language}, which this host does not allow.")
            argv = self._resolved(tuple([given] if isinstance(given, str) else given))
        elif language == "python":
            argv = (sys.executable,) if sys.executable else None
        else:
            tried = (self._resolved(words) for words in _PROGRAMS.get(language, ((language,),)))
            argv = next(filter(None, tried), None)
        if argv is None:
            raise ScriptError(
                f"{shown(path)} needs {language}, which is not installed here. Read the script and do its work "
                "another way, or have it installed."
            )
        metadata = inline_metadata(data) if language == "python" else None
        return Program(language, argv, roots_of(argv[0]), metadata)

    def search_path(self) -> str:
        """Return where programs are looked for."""
        if self.path is not None:
            return self.path
        own = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(folder)]  # noqa: PTH117
        return os.pathsep.join(dict.fromkeys([*own, *_STANDARD]))

    def _resolved(self, argv: tuple[str, ...]) -> tuple[str, ...] | None:
        found = shutil.which(argv[0], path=self.search_path()) if argv else None
        return (os.path.abspath(found), *argv[1:]) if found else None


def language_of(path: str, data: bytes) -> str | None:
    r"""Return the language of a script by its first line, else by its suffix.

    Args:
        path: Its path.
        data: Its bytes, or the beginning of them.

    Example:
        >>> language_of("run", b"#!/usr/bin/env -S python3.12 -u\r\nprint()")
        'python'
    """
    program = shebang(data)
    if program is None:
        return _SUFFIXES.get(PurePosixPath(path).suffix.lower())
    name = _VERSION.sub("", program.lower())
    return _ALIASES.get(name, name)


def shebang(data: bytes) -> str | None:
    """Return the program that a first line names, without its folder; ``None`` when there is no such line.

    Args:
        data: Bytes of a script; a byte order mark and Windows line ends are understood.
    """
    match = _SHEBANG.match(data[:600])
    if match is None:
        return None
    words = match[1].decode("utf-8", "replace").split()
    names = [PurePosixPath(word).name for word in words]
    if names[:1] == ["env"]:
        # env's own options, and variables it sets, come before the program.
        names = [name for word, name in zip(words[1:], names[1:], strict=True) if word[:1] != "-" and "=" not in word]
    if names[:2] in (["uv", "run"], ["uv"]):
        return "python"
    return names[0] if names and names[0] else None


def roots_of(program: str) -> tuple[str, ...]:
    """Return the folders that hold a program and what belongs to it, for a sandbox to let through.

    Of ``/opt/node/bin/node`` that is ``/opt/node``; of one in the system's folders, or of one in a person's own
    ``bin``, it is nothing but the program. Links on the way to it are followed, each with its own folder.

    Args:
        program: An absolute path.
    """
    found: dict[str, None] = {}
    path = Path(program)
    for _ in range(40):
        found.update(dict.fromkeys(_prefix(path)))
        if not path.is_symlink():
            break
        path = Path(os.path.normpath(path.parent / path.readlink()))
    found.update(dict.fromkeys(_prefix(Path(os.path.realpath(program)))))
    return tuple(found)


def _prefix(path: Path) -> list[str]:
    home = os.path.expanduser("~")
    folder = path.parent
    prefix = folder.parent if folder.name in ("bin", "sbin", "Scripts") else None
    if str(path).startswith(("/usr/", "/bin/", "/sbin/")):
        return []
    if prefix is None or str(prefix) in ("/", home, os.path.join(home, ".local")):  # noqa: PTH118
        return [str(path)]
    return [str(prefix)]
