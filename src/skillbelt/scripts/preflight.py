"""What a skill's scripts need and this machine lacks, read from them without running anything.

A need is required when the script must die without it: no interpreter, a module imported at the top, a variable read
with ``os.environ["X"]``. What a script may do without is reported as well, and keeps nothing from running.
"""

from __future__ import annotations

import ast
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import PurePosixPath
from shutil import which
from typing import Literal

from skillbelt.errors import ScriptError
from skillbelt.models import Skill
from skillbelt.scripts.content import SKILL_FILE, SkillFiles
from skillbelt.scripts.environment import Secrets
from skillbelt.scripts.interpreters import Interpreters, Program, language_of
from skillbelt.scripts.packages import missing_packages

__all__ = ["Need", "Preflight", "preflight"]

NeedKind = Literal["interpreter", "module", "package", "binary", "variable", "syntax", "line-ends", "compatibility"]

_SHELLS = frozenset({"sh", "bash", "zsh"})
_KNOWN_PROGRAMS = frozenset(
    (
        "git docker node npm npx yarn pnpm bun deno jq curl wget ffmpeg pandoc uv gh kubectl helm terraform aws gcloud "
        "az java go cargo rustc ruby perl php make cmake gcc psql mysql sqlite3 redis-cli tesseract convert magick "
        "libreoffice soffice pdftotext pdftoppm qpdf rg fd bash ssh rsync poetry ruff"
    ).split()
)
_RUNNERS = frozenset({"run", "call", "check_call", "check_output", "Popen"})
_PYTHON = re.compile(r"\bpython\s*(?:>=?\s*)?(3\.\d+)\s*(?:\+|or (?:newer|later|higher|above))?", re.IGNORECASE)
_FUNCTION = re.compile(r"^\s*(?:function\s+)?([A-Za-z_][\w-]*)\s*\(\s*\)", re.MULTILINE)
_MUST_BE_SET = re.compile(r"\$\{([A-Za-z_]\w*):?\?")
_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that is not there.

    Attributes:
        script: Which script needs it; ``SKILL.md`` for what the front matter says.
        kind: What sort of thing.
        what: It, in words that end a sentence about the script.
        required: Whether the script must die without it.
        line: Where the script says so.
    """

    script: str
    kind: NeedKind
    what: str
    required: bool = True
    line: int | None = None

    def __str__(self) -> str:
        where = f"{self.script}:{self.line}" if self.line else self.script
        return f"{where}: {'needs' if self.required else 'may need'} {self.what}"


@dataclass(frozen=True, slots=True)
class Preflight:
    """What was found out about the scripts of a skill.

    Attributes:
        skill: Its name.
        scripts: Its scripts, sorted by path.
        needs: What they lack here.
    """

    skill: str
    scripts: tuple[str, ...] = ()
    needs: tuple[Need, ...] = field(default=())

    @property
    def dead(self) -> Mapping[str, tuple[Need, ...]]:
        """The scripts that must die here, each with why."""
        wanted = [need for need in self.needs if need.required]
        return {one: found for one in self.scripts if (found := tuple(need for need in wanted if need.script == one))}

    @property
    def ok(self) -> bool:
        """Whether no script must die for what is missing."""
        return not self.dead


def preflight(
    skill: Skill,
    skill_files: SkillFiles,
    *,
    interpreters: Interpreters | None = None,
    granted: Secrets | None = None,
    passed: Iterable[str] = (),
) -> Preflight:
    """Read the scripts of a skill and return what they need and this machine lacks.

    Args:
        skill: The skill, for its ``compatibility``.
        skill_files: Its files.
        interpreters: The host's choice of programs.
        granted: Variables the host grants to skills.
        passed: Names of variables that every script sees.
    """
    programs = interpreters or Interpreters()
    variables = {*passed, *(granted or Secrets()).of(skill.name, skill_files.digest)}
    scripts = [path for path in skill_files.files if path != SKILL_FILE and language_of(path, skill_files.files[path])]
    needs = [need for path in scripts for need in _script(path, skill_files, programs, variables)]
    needs += _compatibility(skill.frontmatter.compatibility or "", programs)
    return Preflight(skill.name, tuple(scripts), tuple(needs))


def _script(path: str, skill_files: SkillFiles, interpreters: Interpreters, variables: set[str]) -> Iterator[Need]:
    data = skill_files.files[path]
    language = language_of(path, data)
    try:
        program = interpreters.find(path, data)
    except ScriptError:
        yield Need(path, "interpreter", f"{language}, which is not installed or not allowed here")
        return
    if language == "python":
        yield from _python(path, data, skill_files, program, interpreters, variables)
    elif language in _SHELLS:
        yield from _shell(path, data, interpreters, variables)


# --- Python -----------------------------------------------------------------------------------------------------------


def _python(
    path: str, data: bytes, skill_files: SkillFiles, program: Program, interpreters: Interpreters, variables: set[str]
) -> Iterator[Need]:
    own = program.argv == (sys.executable,)
    metadata = program.metadata
    if metadata is not None and metadata.error:
        yield Need(path, "package", f"inline metadata that can be read: {metadata.error}")
        return
    fetched = interpreters.install and which("uv", path=interpreters.search_path()) is not None
    if metadata is not None and own and not fetched:
        for package in missing_packages(metadata):
            yield Need(path, "package", f"the package {package!r}, which is not installed here")
    if not own:
        return  # another interpreter has its own modules and its own grammar
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data[:_LARGEST])
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        yield Need(
            path, "syntax", f"another Python: {getattr(error, 'msg', error)}", line=getattr(error, "lineno", None)
        )
        return
    reader = _Reader()
    reader.visit_block(tree.body, sure=True)
    covered = metadata is not None and bool(metadata.dependencies)
    there = _module_finder(path, skill_files)
    for name, (line, sure) in reader.modules.items():
        if not there(name) and not covered:
            yield Need(path, "module", f"the module {name!r}, which is not installed here", sure, line)
    for name, (line, sure) in reader.variables.items():
        if name not in variables:
            yield Need(path, "variable", f"the variable {name}, which the host has not granted it", sure, line)
    for name, line in reader.programs.items():
        if which(name, path=interpreters.search_path()) is None:
            yield Need(path, "binary", f"the program {name!r}, which is not installed here", required=False, line=line)


def _module_finder(path: str, skill_files: SkillFiles) -> Callable[[str], bool]:
    folder = PurePosixPath(path).parent
    beside = {
        PurePosixPath(one).relative_to(folder).parts[0]
        for one in skill_files.files
        if folder in PurePosixPath(one).parents
    }

    def there(name: str) -> bool:
        if name in sys.stdlib_module_names or name in beside or f"{name}.py" in beside:
            return True
        try:
            return find_spec(name) is not None
        except (ImportError, ValueError, AttributeError):
            return False

    return there


_MAY_NOT_HAPPEN = (
    *(ast.Try, ast.TryStar, ast.If, ast.IfExp, ast.BoolOp, ast.Match, ast.For, ast.While, ast.With),
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda),
)


class _Reader:
    """Reads statements; what stands under a condition, in a ``try`` or in a function may never happen."""

    def __init__(self) -> None:
        self.modules: dict[str, tuple[int, bool]] = {}
        self.variables: dict[str, tuple[int, bool]] = {}
        self.programs: dict[str, int] = {}

    def visit_block(self, body: Iterable[ast.AST], *, sure: bool) -> None:
        for node in body:
            self._visit(node, sure=sure)

    def _visit(self, node: ast.AST, *, sure: bool) -> None:
        todo = [(node, sure)]
        while todo:
            node, sure = todo.pop()
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self._note(self.modules, alias.name.partition(".")[0], node.lineno, sure)
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                self._note(self.modules, node.module.partition(".")[0], node.lineno, sure)
            elif isinstance(node, ast.Subscript):
                self._subscript(node, sure)
            elif isinstance(node, ast.Call):
                self._call(node)
            below = sure and not isinstance(
                node,
                _MAY_NOT_HAPPEN,
            )
            todo += [(child, below) for child in reversed(list(ast.iter_child_nodes(node)))]

    def _note(self, found: dict[str, tuple[int, bool]], name: str, line: int, sure: bool) -> None:
        known = found.get(name)
        if known is None or (sure and not known[1]):
            found[name] = (line, sure)

    def _subscript(self, node: ast.Subscript, sure: bool) -> None:
        if (
            isinstance(node.ctx, ast.Load)
            and ast.unparse(node.value) in ("os.environ", "environ")
            and isinstance(node.slice, ast.Constant)
            and isinstance(node.slice.value, str)
        ):
            self._note(self.variables, node.slice.value, node.lineno, sure)

    def _call(self, node: ast.Call) -> None:
        name = ast.unparse(node.func)
        first = node.args[0] if node.args else None
        if name in ("os.getenv", "os.environ.get", "environ.get", "getenv"):
            # With a value to fall back on nothing is needed.
            if isinstance(first, ast.Constant) and isinstance(first.value, str) and len(node.args) == 1:
                self._note(self.variables, first.value, node.lineno, False)
            return
        if name.rpartition(".")[2] not in _RUNNERS or not name.startswith("subprocess"):
            return
        if isinstance(first, ast.List | ast.Tuple) and first.elts:
            first = first.elts[0]
        elif isinstance(first, ast.Constant) and isinstance(first.value, str):
            words = _words(first.value)
            first = ast.Constant(words[0]) if words else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str) and re.fullmatch(r"[\w.+-]+", first.value):
            self.programs.setdefault(first.value, node.lineno)


# --- shells -----------------------------------------------------------------------------------------------------------


def _shell(path: str, data: bytes, interpreters: Interpreters, variables: set[str]) -> Iterator[Need]:
    text = data[:_LARGEST].decode("utf-8", "replace")
    if "\r\n" in text:
        yield Need(path, "line-ends", "line ends of Unix: a shell takes those of Windows for part of the commands")
        text = text.replace("\r\n", "\n")
    for number, line in enumerate(text.split("\n"), 1):
        for name in _MUST_BE_SET.findall(line):
            if name not in variables and not re.search(rf"^\s*(?:export\s+)?{name}=", text, re.MULTILINE):
                what = f"the variable {name}, which the host has not granted it"
                yield Need(path, "variable", what, required=False, line=number)
    functions = {*_FUNCTION.findall(text), *re.findall(r"^\s*function\s+([\w-]+)", text, re.MULTILINE)}
    for name, number in _commands(text).items():
        if name not in functions and which(name, path=interpreters.search_path()) is None:
            yield Need(
                path, "binary", f"the program {name!r}, which is not installed here", required=False, line=number
            )


def _commands(text: str) -> dict[str, int]:
    """Return programs that a script of a shell starts or looks for: well-known ones where a command stands.

    What stands there may as well be a function, or a line of a text in it, so nothing unknown is taken for a program.
    """
    found: dict[str, int] = {}
    until = None
    for number, line in enumerate(text.split("\n"), 1):
        if until is not None:
            until = None if line.strip() == until else until
            continue
        here = re.search(r"<<-?\s*['\"]?(\w+)['\"]?", line)
        until = here[1] if here else None
        code = "" if line.lstrip().startswith("#") else line.partition(" #")[0]
        for part in re.split(r"\|\|?|&&|;|\$\(|`|\bthen\b|\bdo\b|\belse\b", code):
            words = [word for word in _words(part) if not re.match(r"\w+\+?=", word)]
            while words and words[0] in ("if", "elif", "while", "until", "!", "time", "exec"):
                del words[0]
            looked_for = words[:2] == ["command", "-v"] or words[:1] == ["which"]
            name = words[-1] if looked_for and words else words[0] if words else ""
            if name in _KNOWN_PROGRAMS or (looked_for and re.fullmatch(r"[A-Za-z][\w.+-]*", name)):
                found.setdefault(name, number)
    return found


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:  # a quote that goes on in the next line
        return []


# --- what the front matter says ---------------------------------------------------------------------------------------


def _compatibility(text: str, interpreters: Interpreters) -> Iterator[Need]:
    for wanted in _PYTHON.findall(text):
        if sys.version_info[:2] < tuple(map(int, wanted.split("."))):
            yield Need(
                SKILL_FILE, "compatibility", f"Python {wanted}; this is {sys.version.split()[0]}", required=False
            )
    for name in dict.fromkeys(re.findall(r"[a-z][a-z0-9-]*", text.lower())):
        if name in _KNOWN_PROGRAMS and which(name, path=interpreters.search_path()) is None:
            yield Need(SKILL_FILE, "compatibility", f"{name!r}, which is not installed here", required=False)
