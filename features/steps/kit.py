"""What the steps share: words in step texts, attempts, and a look at what the process really opened and read."""

import builtins
import os
import sys
from contextlib import contextmanager
from pathlib import Path

from behave import register_type
from parse import with_pattern

import skillbelt
from skillbelt import LENIENT, NAMESPACED, STRICT, DirectorySource, Limits, errors

PROFILES = {"STRICT": STRICT, "LENIENT": LENIENT, "NAMESPACED": NAMESPACED}


@with_pattern("STRICT|LENIENT|NAMESPACED")
def _profile(word):
    return PROFILES[word]


@with_pattern('[^"]*')
def _quoted(word):
    return word


@with_pattern(".*")
def _anything(word):
    return word


@with_pattern("langchain|llama-index")
def _framework(word):
    return word


@with_pattern("error|warning|info")
def _severity(word):
    return word


@with_pattern("[A-Z][A-Za-z]+Error")
def _error(word):
    return getattr(skillbelt, word, None) or getattr(errors, word, None) or getattr(builtins, word)


register_type(Profile=_profile, Q=_quoted, Any=_anything, Framework=_framework, Severity=_severity, Error=_error)


def words(text):
    """``"a, b"`` as ``["a", "b"]``."""
    return [word.strip() for word in text.split(",") if word.strip()]


def unescaped(text):
    r"""Bytes written as ``\xef`` and ``\r\n``; everything else is UTF-8."""
    return text.encode("utf-8").decode("unicode_escape").encode("latin-1")


def attempt(context, function, *args, **kwargs):
    """Call something that may fail, and keep what came of it for the steps that follow."""
    context.outcome = context.error = None
    try:
        context.outcome = function(*args, **kwargs)
    except Exception as error:
        context.error = error


def got(context):
    """What the last attempt gave; a failure that no step expects fails the scenario with its own traceback."""
    if context.error is not None:
        raise context.error
    return context.outcome


def source_of(context, folder, profile=LENIENT, **options):
    """A source over a folder of the scenario, with the limits the scenario set."""
    limits = Limits(**getattr(context, "limits", {}))
    return DirectorySource(context.folder / folder, profile=profile, limits=limits, **options)


# --- what really happened ---------------------------------------------------------------------------------------------

_watched = None
_LIBRARIES = (sys.prefix, sys.base_prefix, "/proc", "/dev")


def _hook(event, args):
    if _watched is not None and event in ("open", "os.scandir", "os.listdir"):
        _watched.append((event, args[0]))


sys.addaudithook(_hook)


class Seen:
    """What the process opened, and how many bytes it read, while it was watched."""

    def __init__(self):
        self.events = []
        self.bytes = 0

    def opens(self, name=None):
        """Paths of what was opened, as they were given to the system; Python's own files are left out."""
        paths = [os.fsdecode(what) for event, what in self.events if event == "open" and isinstance(what, (str, bytes))]
        mine = [path for path in paths if not path.startswith(_LIBRARIES)]
        return mine if name is None else [path for path in mine if Path(path).name == name]

    @property
    def nothing(self):
        """Whether neither a file nor a folder was opened or listed."""
        return not self.opens() and not any(event != "open" for event, _ in self.events)


@contextmanager
def watching():
    """Record every open of this process (Python's audit hook) and every byte it reads (as Linux counts them)."""
    global _watched
    seen = Seen()
    before = _bytes_read()
    _watched = seen.events
    try:
        yield seen
    finally:
        _watched = None
        seen.bytes = _bytes_read() - before  # reading the counter itself adds about a hundred


def _bytes_read():
    if os.geteuid() != os.getuid():
        return 0  # the system does not tell a process that poses as somebody else
    return int(Path("/proc/self/io").read_bytes().split()[1])
