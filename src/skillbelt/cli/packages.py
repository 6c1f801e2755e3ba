"""``skillbelt pack`` and ``skillbelt unpack``: a skill folder as one document, and back.

Registries are the business of :mod:`skillbelt.cli.registry`.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

from skillbelt.cli.console import line, note, print_diagnostics, print_json, write
from skillbelt.cli.folders import CommandError, is_file, is_skill_file
from skillbelt.errors import SkillFileNotFoundError
from skillbelt.models import JsonValue
from skillbelt.packages import PackageLimits, PackedSkill, SkillPackage, pack, read_package, unpack_to
from skillbelt.packages.canonical import canonicalize, id_of, integrity
from skillbelt.parsing import LENIENT

__all__ = ["document_text", "open_package", "pack_skill", "package_facts", "print_facts", "save", "unpack_skill"]

_LIMITS = PackageLimits()


def pack_skill(path: str, *, output: str | None, version: str | None, as_json: bool) -> None:
    """Pack a skill folder, print what it became, and write the document where it was asked for.

    Args:
        path: A skill folder or its SKILL.md, as typed.
        output: File for the document, ``-`` for standard output, ``None`` for nowhere.
        version: What the document says of itself, if anything.
        as_json: Print for machines.

    Raises:
        CommandError: There is no skill.
        PackageValidationError: It cannot be a package.
    """
    if output == "-" and as_json:
        raise CommandError("'--output -' prints the document, '--json' the facts; give one of them.")
    packed = _packed(path, version)
    text = document_text(packed.document)
    print_diagnostics(packed.diagnostics, stderr=True)
    if packed.left_out:
        note(f"Left out: {', '.join(packed.left_out)}")
    if packed.links:
        note(f"Links packed as what they lead to: {', '.join(packed.links)}")
    if output == "-":
        typer.echo(text.encode(), nl=False)  # UTF-8, whatever the locale says
        return
    if output is not None:
        save(output, text)
    facts = _facts(packed.document, str(packed.id), packed.integrity) | ({"written": output} if output else {})
    if as_json:
        shown = facts if output else facts | {"document": packed.document}
        print_json(shown)
        return
    print_facts(facts)


def unpack_skill(file: str, folder: str, *, as_json: bool) -> None:
    """Write the skill of a document below a folder, under its own name.

    Args:
        file: The document, ``-`` for standard input.
        folder: Where skills are; made when it does not exist.
        as_json: Print for machines.

    Raises:
        CommandError: The file or the folder cannot be used.
        PackageValidationError: The document is no package.
        SourceError: The skill is there already, or cannot be written.
    """
    package = read_package(_read(file), limits=_LIMITS, profile=LENIENT)
    if Path(package.name).name != package.name or package.name in (".", ".."):
        raise CommandError(f"The skill is called {package.name!r}, and no folder can be.", 1)
    if not folder.strip():
        raise CommandError("The name of a folder is empty; give the folder that holds your skills.")
    Path(folder).expanduser().mkdir(parents=True, exist_ok=True)
    target = unpack_to(package, Path(folder) / package.name, profile=LENIENT)
    canonical = canonicalize(package.to_document())
    facts = _facts(package.to_document(), str(id_of(canonical)), integrity(canonical)) | {"written": str(target)}
    if as_json:
        print_json(facts)
    else:
        print_facts(facts)


def open_package(path: str) -> Mapping[str, JsonValue]:
    """Return the document of what was typed: a skill folder, a SKILL.md, or a file that ``skillbelt pack`` wrote.

    Args:
        path: As typed; ``-`` for a document on standard input.

    Raises:
        CommandError: There is nothing of the kind.
        PackageValidationError: It cannot be a package.
    """
    if path == "-" or (is_file(path) and not is_skill_file(path)):
        return read_package(_read(path), limits=_LIMITS, profile=LENIENT).to_document()
    return _packed(path, None).document


def document_text(document: Mapping[str, JsonValue]) -> str:
    """Return a document as the text of a file: the same for the same document, and fit for version control.

    Args:
        document: A package.
    """
    import json

    return json.dumps(document, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def save(path: str, text: str) -> None:
    """Write a file, which is there in full or as it was before.

    Args:
        path: As typed; a file that exists is replaced.
        text: Its content.

    Raises:
        CommandError: It cannot be written.
    """
    target = Path(path).expanduser()
    staged = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.partial")
    try:
        try:
            staged.write_text(text, encoding="utf-8", newline="")
            staged.replace(target)
        finally:
            with suppress(OSError):
                staged.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CommandError(f"{path!r} cannot be written: {reason}; give another file.") from None


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print what is known of a package: its name, its description, a line for each other fact, its files.

    Args:
        facts: ``name`` and ``description``, and anything else.
    """
    rest = dict(facts)
    write(line(rest.pop("name")), "bold")
    write(line(rest.pop("description")))
    write()
    files: Sequence[Mapping[str, Any]] = rest.pop("files", ())
    for label, value in rest.items():
        if value:
            write(f"{label + ':':<15}{line(', '.join(value) if isinstance(value, list) else str(value))}")
    if files:
        write(f"files ({len(files)}):")
        width = max(len(str(file["size"])) for file in files)
        for file in files:
            write(f"  {file['size']:>{width}}  {line(file['path'])}{'  (executable)' if file['executable'] else ''}")


def package_facts(package: SkillPackage) -> dict[str, Any]:
    """Return what a package says of itself, for people and for machines.

    Args:
        package: A valid one.
    """
    files = [
        {"path": path, "size": len(content.data), "executable": content.executable}
        for path, content in sorted(package.contents().items())
    ]
    return {"name": package.name, "description": package.description, "license": package.license, "files": files}


def _facts(document: Mapping[str, JsonValue], identity: str, proof: str) -> dict[str, Any]:
    facts = package_facts(read_package(document, limits=_LIMITS, profile=LENIENT))
    files = facts.pop("files")
    return {**facts, "id": identity, "integrity": proof, "version": document.get("version"), "files": files}


def _packed(path: str, version: str | None) -> PackedSkill:
    if not path.strip():
        raise CommandError("The name of a folder is empty; give a skill folder.")
    try:
        return pack(path, version=version, limits=_LIMITS)
    except SkillFileNotFoundError as error:
        raise CommandError(str(error)) from None


def _read(file: str) -> bytes:
    """Return the bytes of a document, not more than one may have and one that says so."""
    bound = _LIMITS.document_bytes + 1
    try:
        if file == "-":
            return sys.stdin.buffer.read(bound)
        with open(os.path.expanduser(file), "rb") as opened:  # noqa: PTH123 - as the other commands say it
            return opened.read(bound)
    except FileNotFoundError:
        raise CommandError(f"The file {file!r} was not found; give one that 'skillbelt pack -o' wrote.") from None
    except IsADirectoryError:
        raise CommandError(f"{file!r} is a folder; give a file that 'skillbelt pack -o' wrote.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CommandError(f"The file {file!r} cannot be read: {reason}; give another.") from None
