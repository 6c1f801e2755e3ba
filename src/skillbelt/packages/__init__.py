"""Skills as packages: one document per skill, an id over its content, references to it.

::

    from skillbelt.packages import pack, unpack

    packed = pack("skills/pdf")
    packed.id, packed.integrity
    source = unpack(packed.document)

Everything is imported when it is first asked for: a program that only reads references loads no HTTP client.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillbelt.packages.answers import PackageAnswer, PackageInfo, RegistryInfo, VerifiedPackage
    from skillbelt.packages.cache import CacheStatistics, RegistryCache, default_cache_folder
    from skillbelt.packages.canonical import canonicalize, id_of, integrity, package_id
    from skillbelt.packages.client import RegistryClient
    from skillbelt.packages.collecting import LEFT_OUT
    from skillbelt.packages.content import FileContent
    from skillbelt.packages.ids import PackageId, PackageType
    from skillbelt.packages.keys import key_of, path_of
    from skillbelt.packages.limits import PackageLimits
    from skillbelt.packages.packing import PackedSkill, pack, pack_skill
    from skillbelt.packages.reading import read_package
    from skillbelt.packages.references import PackageReference
    from skillbelt.packages.registries import Registries
    from skillbelt.packages.registry_source import RegistrySource
    from skillbelt.packages.resolving import LoadedPackage, PackageContentResolver, ReferenceResolver, ResolvedReference
    from skillbelt.packages.schema import FORMAT, BinaryFile, SkillPackage, TextFile, json_schema
    from skillbelt.packages.server import registry_app
    from skillbelt.packages.unpacking import unpack, unpack_to
    from skillbelt.packages.versions import LATEST, is_alias, is_concrete, normalize_version, select, sort_versions
    from skillbelt.packages.violations import Violation

__all__ = [
    "FORMAT",
    "LATEST",
    "LEFT_OUT",
    "BinaryFile",
    "CacheStatistics",
    "FileContent",
    "LoadedPackage",
    "PackageAnswer",
    "PackageContentResolver",
    "PackageId",
    "PackageInfo",
    "PackageLimits",
    "PackageReference",
    "PackageType",
    "PackedSkill",
    "ReferenceResolver",
    "Registries",
    "RegistryCache",
    "RegistryClient",
    "RegistryInfo",
    "RegistrySource",
    "ResolvedReference",
    "SkillPackage",
    "TextFile",
    "VerifiedPackage",
    "Violation",
    "canonicalize",
    "default_cache_folder",
    "id_of",
    "integrity",
    "is_alias",
    "is_concrete",
    "json_schema",
    "key_of",
    "normalize_version",
    "pack",
    "pack_skill",
    "package_id",
    "path_of",
    "read_package",
    "registry_app",
    "select",
    "sort_versions",
    "unpack",
    "unpack_to",
]

_MODULES = {
    "BinaryFile": "schema",
    "CacheStatistics": "cache",
    "FORMAT": "schema",
    "FileContent": "content",
    "LATEST": "versions",
    "LEFT_OUT": "collecting",
    "LoadedPackage": "resolving",
    "PackageAnswer": "answers",
    "PackageContentResolver": "resolving",
    "PackageId": "ids",
    "PackageInfo": "answers",
    "PackageLimits": "limits",
    "PackageReference": "references",
    "PackageType": "ids",
    "PackedSkill": "packing",
    "ReferenceResolver": "resolving",
    "Registries": "registries",
    "RegistryCache": "cache",
    "RegistryClient": "client",
    "RegistryInfo": "answers",
    "RegistrySource": "registry_source",
    "ResolvedReference": "resolving",
    "SkillPackage": "schema",
    "TextFile": "schema",
    "VerifiedPackage": "answers",
    "Violation": "violations",
    "canonicalize": "canonical",
    "default_cache_folder": "cache",
    "id_of": "canonical",
    "integrity": "canonical",
    "is_alias": "versions",
    "is_concrete": "versions",
    "json_schema": "schema",
    "key_of": "keys",
    "normalize_version": "versions",
    "pack": "packing",
    "pack_skill": "packing",
    "package_id": "canonical",
    "path_of": "keys",
    "read_package": "reading",
    "registry_app": "server",
    "select": "versions",
    "sort_versions": "versions",
    "unpack": "unpacking",
    "unpack_to": "unpacking",
}
"""The module of this package that defines each public name."""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
