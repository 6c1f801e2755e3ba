"""Packages that a Python script names in its inline metadata (PEP 723), made ready before the script starts.

With ``uv`` and the host's leave they are fetched, as wheels only and outside of any sandbox, and the script runs in
that environment; ``uv`` is asked for what it has kept already before the network is. Without, a script runs when the
host's interpreter has all of them, and otherwise the answer says which are missing.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from shutil import which

from skillbelt.errors import ScriptError
from skillbelt.scripts.inline_metadata import InlineMetadata
from skillbelt.scripts.interpreters import Interpreters, Program, roots_of
from skillbelt.sources.paths import shown

__all__ = ["missing_packages", "prepared"]

_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_PATIENCE = 300.0


def prepared(program: Program, path: str, data: bytes, interpreters: Interpreters, root: Path) -> Program:
    """Return a program that has the packages its script names.

    Args:
        program: As the script's language has it.
        path: The script, for messages.
        data: Its bytes.
        interpreters: Whether packages may be fetched, and where ``uv`` is.
        root: A private folder for the file that ``uv`` reads.

    Raises:
        ScriptError: They are not there and may not, or cannot, be fetched.
    """
    found = program.metadata
    if found is None or (not found.dependencies and not found.requires_python and not found.error):
        return program
    if found.error:
        raise ScriptError(f"{shown(path)} cannot be run: {found.error}.")
    missing = missing_packages(found) if program.argv[0] == sys.executable else found.dependencies
    fits = _python_fits(found.requires_python) if program.argv[0] == sys.executable else True
    if not missing and fits:
        return program
    needs = ", ".join(shown(one) for one in missing) or f"Python {shown(found.requires_python or '')}"
    uv = which("uv", path=interpreters.search_path())
    if uv is None:
        how = (
            "uv, which could fetch them, is not installed here" if interpreters.install else "installs are not allowed"
        )
        raise ScriptError(f"{shown(path)} needs {needs}, which this host's Python does not have, and {how}.")
    python = _synced(uv, path, data, root, offline=True)
    if python is None and interpreters.install:
        python = _synced(uv, path, data, root, offline=False)
    if python is None:
        how = "they could not be fetched" if interpreters.install else "installs are not allowed on this host"
        raise ScriptError(f"{shown(path)} needs {needs}, which is not there, and {how}.")
    return Program(program.language, (python,), (*roots_of(python), *program.roots), found)


def missing_packages(found: InlineMetadata) -> tuple[str, ...]:
    """Return the requirements that the host's interpreter does not meet.

    Args:
        found: What the script says.
    """
    return tuple(need for need in found.dependencies if not _met(need))


def _met(need: str) -> bool:
    """Whether the host's interpreter meets a requirement; versions are compared where ``packaging`` is installed."""
    try:
        from packaging.requirements import InvalidRequirement, Requirement
    except ImportError:
        name = _NAME.match(need)
        return name is not None and _version(name[1]) is not None
    try:
        wanted = Requirement(need)
    except InvalidRequirement:
        return False
    if wanted.marker is not None and not wanted.marker.evaluate({"extra": ""}):
        return True
    version = _version(wanted.name)
    return version is not None and wanted.specifier.contains(version, prereleases=True) and not wanted.url


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _python_fits(wanted: str | None) -> bool:
    if not wanted:
        return True
    try:
        from packaging.specifiers import InvalidSpecifier, SpecifierSet
    except ImportError:
        return True
    try:
        return SpecifierSet(wanted).contains(".".join(map(str, sys.version_info[:3])), prereleases=True)
    except InvalidSpecifier:
        return False


def _synced(uv: str, path: str, data: bytes, root: Path, *, offline: bool) -> str | None:
    """Let ``uv`` make the script's environment and return its interpreter, ``None`` when it cannot."""
    # Nothing of the script is run: no source is built, no configuration is read, and its name alone comes from it.
    flags = ["--no-config", "--no-build", "--no-progress", "--quiet", *(["--offline"] if offline else [])]
    with tempfile.TemporaryDirectory(dir=root, prefix="uv-") as folder:
        script = Path(folder, f"{re.sub(r'[^A-Za-z0-9_-]', '_', Path(path).stem)[:60] or 'script'}.py")
        script.write_bytes(data)
        for words in (["sync", "--script"], ["python", "find", "--script"]):
            own = flags if words[0] == "sync" else [f for f in flags if f != "--no-build"]
            try:
                done = subprocess.run(  # noqa: S603 - the host's own uv
                    [uv, *words, str(script), *own],
                    capture_output=True,
                    text=True,
                    timeout=_PATIENCE,
                    check=False,
                    cwd=folder,
                    env=_environment(),
                    stdin=subprocess.DEVNULL,
                )
            except (OSError, subprocess.TimeoutExpired):
                return None
            if done.returncode != 0:
                return None
    python = done.stdout.strip()
    return python if os.path.isfile(python) else None  # noqa: PTH113


def _environment() -> dict[str, str]:
    """Return what ``uv`` needs of the host: where it keeps things and how it reaches its index."""
    kept = ("HOME", "PATH", "LANG", "TMPDIR", "XDG_CACHE_HOME", "XDG_DATA_HOME", "SSL_CERT_FILE")
    return {name: value for name, value in os.environ.items() if name in kept or name.startswith(("UV_", "PIP_"))}
