"""Where skills come from.

Every place becomes a :class:`~skillbelt.sources.tree.Tree` of bytes; :class:`~skillbelt.sources.tree.TreeSource`
serves skills from any of them. Nothing here executes anything or knows a model.
"""

from skillbelt.limits import Limits
from skillbelt.sources.archive import ArchiveLimits, ArchiveSource, ArchiveTree, tar_source, zip_source
from skillbelt.sources.base import ResourceSource, SkillSource
from skillbelt.sources.directory import DirectorySource, validate_skill
from skillbelt.sources.mapping import MappingSource
from skillbelt.sources.package import TraversableTree, package_source, tree_source
from skillbelt.sources.tree import Chunk, Entry, Tree, TreeSource

__all__ = [
    "ArchiveLimits",
    "ArchiveSource",
    "ArchiveTree",
    "Chunk",
    "DirectorySource",
    "Entry",
    "Limits",
    "MappingSource",
    "ResourceSource",
    "SkillSource",
    "TraversableTree",
    "Tree",
    "TreeSource",
    "package_source",
    "tar_source",
    "tree_source",
    "validate_skill",
    "zip_source",
]
