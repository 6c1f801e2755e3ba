"""The contract of a source as checks that anyone can run on theirs.

A source of your own is right when it does what :class:`~skillbelt.sources.base.ResourceSource` promises in prose:
whole files, no way into another skill, nothing lost in silence, nothing stale. Subclass :class:`SourceContract`, say
how to make a source that holds given files, and let pytest or unittest collect it. This is no test of skills: for
those there is :func:`skillbelt.validate_skill`.
"""

from skillbelt.testing.contract.base import Hooks
from skillbelt.testing.contract.bounds import BoundChecks
from skillbelt.testing.contract.changes import ChangeChecks
from skillbelt.testing.contract.files import FileChecks
from skillbelt.testing.contract.skills import SkillChecks

__all__ = ["SourceContract"]


class SourceContract(SkillChecks, FileChecks, BoundChecks, ChangeChecks, Hooks):
    """Checks of a :class:`~skillbelt.sources.base.ResourceSource`; each method is one promise.

    Subclass it in a test module and override :meth:`make`, and :meth:`make_linked` and :meth:`change` unless the
    class says that the source has no use for them. With unittest, inherit from ``unittest.TestCase`` as well. Each of
    the attributes is ``True``; a subclass that sets one to ``False`` has the checks it concerns reported as skipped.

    Attributes:
        takes_profile: ``make`` takes ``profile=``.
        takes_limits: ``make`` takes ``limits=``.
        holds_links: The place can hold symbolic links, which :meth:`make_linked` writes.
        writable: What the place holds can change, which :meth:`change` does.
        may_be_empty: A place without any skill is empty and not an error.

    Example:
        >>> import unittest
        >>> from skillbelt import MappingSource
        >>> class TestMappings(SourceContract, unittest.TestCase):
        ...     holds_links = writable = False
        ...     def make(self, files, **options):
        ...         return MappingSource(files, **options)
        >>> tests = unittest.defaultTestLoader.loadTestsFromTestCase(TestMappings)
        >>> result = tests.run(unittest.TestResult())
        >>> for reason in sorted({reason for _, reason in result.skipped}):
        ...     print(reason)
        NOT CHECKED for TestMappings: the place holds no symbolic links.
        NOT CHECKED for TestMappings: what the source holds does not change.
        >>> result.failures, result.errors
        ([], [])
    """
