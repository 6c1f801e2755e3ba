"""Where skills come from.

Every place becomes a :class:`~skillbelt.sources.tree.Tree` of bytes; :class:`~skillbelt.sources.tree_source.TreeSource`
serves skills from any of them. Nothing here executes anything or knows a model. httpx and fsspec are imported only
when such a source is made.
"""

from skillbelt.limits import Limits
from skillbelt.sources.archive import ArchiveLimits, ArchiveSource, ArchiveTree, tar_source, zip_source
from skillbelt.sources.base import ResourceSource, SkillSource
from skillbelt.sources.directory import DirectorySource
from skillbelt.sources.fetch import HttpLimits
from skillbelt.sources.http import HttpSource, http_source
from skillbelt.sources.mapping import MappingSource
from skillbelt.sources.package import TraversableTree, package_source, tree_source
from skillbelt.sources.remote import FsspecSource, FsspecTree, fsspec_source
from skillbelt.sources.tree import Chunk, Entry, Tree
from skillbelt.sources.tree_source import TreeSource
from skillbelt.sources.validate import validate_skill

__all__ = [
    "ArchiveLimits",
    "ArchiveSource",
    "ArchiveTree",
    "Chunk",
    "DirectorySource",
    "Entry",
    "FsspecSource",
    "FsspecTree",
    "HttpLimits",
    "HttpSource",
    "Limits",
    "MappingSource",
    "ResourceSource",
    "SkillSource",
    "TraversableTree",
    "Tree",
    "TreeSource",
    "fsspec_source",
    "http_source",
    "package_source",
    "tar_source",
    "tree_source",
    "validate_skill",
    "zip_source",
]
