"""The public surface: its names, its signatures, its docstrings, and what importing it does not import."""

import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import skillbelt
from skillbelt import Limits, errors

MODULES = [
    "skillbelt",
    "skillbelt.langchain",
    "skillbelt.llama_index",
    "skillbelt.parsing",
    "skillbelt.sources",
    "skillbelt.events",
    "skillbelt.testing",
]

# --- names ------------------------------------------------------------------------------------------------------------

NAMES = """
    STRICT LENIENT NAMESPACED Profile parse_skill validate_skill
    SkillSource ResourceSource Limits DirectorySource MappingSource merge namespaced filtered
    SkillRouter TokenBudget Searcher Catalog Match ReloadDiff
    ToolSpec skill_tools tool_per_skill
    Frontmatter SkillSummary Skill ResourceInfo Resource Diagnostic Activation
    SkillError SkillNotFoundError SkillFileNotFoundError InvalidSkillError ContentTooLargeError ResourceError
    ResourceNotFoundError ResourcePathError ResourceTypeError LimitError SourceError CollisionError MissingExtraError
""".split()
"""What the architecture promises of this part of the package."""

SIGNATURES = {
    "parse_skill": "data * profile directory filename limits",
    "validate_skill": "path * profile",
    "DirectorySource": "root * profile limits trusted symlinks",
    "MappingSource": "files * profile limits",
    "merge": "*sources * on_collision broken",
    "namespaced": "namespace source",
    "filtered": "source keep",
    "SkillRouter": "source * budget searcher pinned renderer on_event",
    "SkillRouter.from_directory": "*roots * profile limits **options",
    "SkillRouter.skills": "",
    "SkillRouter.catalog": "query",
    "SkillRouter.prompt": "base * query",
    "SkillRouter.search": "query * k",
    "SkillRouter.activate": "name * arguments",
    "SkillRouter.resources": "name",
    "SkillRouter.read": "name path * offset max_bytes",
    "SkillRouter.diagnostics": "",
    "SkillRouter.reload": "",
    "SkillRouter.view": "* include exclude where",
    "ResourceSource.list": "",
    "ResourceSource.load": "name",
    "ResourceSource.lookup": "name",
    "ResourceSource.resources": "name",
    "ResourceSource.read": "name path * offset max_bytes",
    "ResourceSource.diagnostics": "",
    "skill_tools": "router * listing",
    "tool_per_skill": "router",
    "langchain.skill_tools": "router",
    "langchain.SkillToolkit": "router",
    "llama_index.skill_tools": "router",
    "llama_index.SkillToolSpec": "router",
}
"""Parameters the architecture names, in order; those after ``*`` may only be given by name. There may be more."""

FIELDS = {
    "Frontmatter": "name description license compatibility metadata allowed_tools extra",
    "SkillSummary": "name description namespace source location model_invocable user_invocable",
    "Skill": "frontmatter instructions namespace location digest name short_name description summary",
    "ResourceInfo": "path kind size executable",
    "Resource": "info data offset total truncated text media_type",
    "Diagnostic": "code severity message path line field hint",
    "Activation": "skill text resources truncated",
    "Catalog": "text shown omitted tokens truncated",
    "Match": "summary score why",
    "ReloadDiff": "added removed changed",
    "ToolSpec": "name description args call read_only metadata",
    "SkillRouter": "__len__ __iter__ __contains__ _repr_html_",
}

ERRORS = {
    "SkillNotFoundError": "SkillError FileNotFoundError",
    "SkillFileNotFoundError": "SkillNotFoundError",
    "InvalidSkillError": "SkillError ValueError",
    "ContentTooLargeError": "InvalidSkillError",
    "ResourceError": "SkillError",
    "ResourceNotFoundError": "ResourceError FileNotFoundError",
    "ResourcePathError": "ResourceError ValueError",
    "ResourceTypeError": "ResourceError",
    "LimitError": "SkillError ValueError",
    "SourceError": "SkillError OSError",
    "CollisionError": "SkillError",
    "MissingExtraError": "SkillError ImportError",
}


def find(path: str) -> Any:
    """The object behind ``Class.method`` or ``module.function`` of skillbelt."""
    found: Any = skillbelt
    for part in path.split("."):
        found = getattr(found, part) if hasattr(found, part) else importlib.import_module(f"skillbelt.{part}")
    return found


def test_every_name_of_the_architecture_can_be_imported_from_skillbelt():
    assert [name for name in NAMES if not hasattr(skillbelt, name)] == []
    assert [name for name in NAMES if name not in skillbelt.__all__] == []


def test_the_list_of_public_names_is_complete():
    mine = {
        name
        for name, value in vars(skillbelt).items()
        if not name.startswith("_") and not inspect.ismodule(value) and name != "annotations"
    }
    assert mine == set(skillbelt.__all__)


@pytest.mark.parametrize("module", MODULES)
def test_the_list_of_public_names_is_sorted_without_doubles_and_true(module):
    loaded = importlib.import_module(module)
    names = loaded.__all__
    assert names == sorted(set(names), key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert [name for name in names if not hasattr(loaded, name)] == []


@pytest.mark.parametrize(("path", "promised"), SIGNATURES.items())
def test_a_signature_takes_what_the_architecture_promises(path, promised):
    positional, _, by_name = promised.partition("*" if promised.startswith("* ") else " * ")
    known = inspect.signature(find(path)).parameters
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    shown = [stars.get(p.kind, "") + name for name, p in known.items() if name != "self"]
    wanted = [*positional.split(), *by_name.split()]
    assert [name for name in shown if name in wanted] == wanted
    named = [known[name] for name in by_name.split() if not name.startswith("*")]
    assert [parameter for parameter in named if parameter.kind != inspect.Parameter.KEYWORD_ONLY] == []


@pytest.mark.parametrize(("name", "promised"), FIELDS.items())
def test_a_value_has_what_the_architecture_promises(name, promised):
    kind = find(name)
    known = {*dir(kind), *getattr(kind, "model_fields", ()), *getattr(kind, "__dataclass_fields__", ())}
    assert [part for part in promised.split() if part not in known] == []


@pytest.mark.parametrize(("name", "bases"), ERRORS.items())
def test_an_error_is_what_the_architecture_promises(name, bases):
    error = getattr(skillbelt, name)
    for base in bases.split():
        assert issubclass(error, getattr(errors, base, None) or getattr(__import__("builtins"), base))
    assert name in (errors.__doc__ or "")


def test_the_tree_of_errors_is_the_whole_tree():
    every = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert every == set(errors.__all__)
    assert every <= set(skillbelt.__all__)
    assert all(issubclass(getattr(errors, name), skillbelt.SkillError) for name in every)


@pytest.mark.row("S3-03")
def test_the_default_limits_are_those_of_the_architecture():
    assert Limits() == Limits(
        entries=2000,
        frontmatter_bytes=64 * 1024,
        skill_bytes=1024 * 1024,
        resource_bytes=1024 * 1024,
        resources=512,
        depth=6,
        directories=2000,
    )
    assert Limits.minimal() == Limits(entries=512)
    assert inspect.signature(skillbelt.ResourceSource.read).parameters["max_bytes"].default == 1024 * 1024


# --- docstrings -------------------------------------------------------------------------------------------------------

DOCUMENTED = ["skillbelt", "skillbelt.langchain", "skillbelt.llama_index", "skillbelt.testing"]

UNDOCUMENTED: frozenset[str] = frozenset()
"""Public functions whose parameters are not all described yet; this list only shrinks."""


def public_functions() -> Iterator[tuple[str, Any, list[str]]]:
    """Every public class, function and method of ours: its path, itself, its parameters.

    A method that a host framework declares is described there.
    """
    seen: set[int] = set()
    for module in DOCUMENTED:
        for name in importlib.import_module(module).__all__:
            found = getattr(importlib.import_module(module), name)
            if id(found) in seen or not str(getattr(found, "__module__", "")).startswith("skillbelt"):
                continue
            seen.add(id(found))
            path = f"{module}.{name}"
            if inspect.isfunction(found):
                yield path, found, parameters(found)
            elif inspect.isclass(found):
                own = vars(found).get("__init__")
                ours = own is not None and own.__module__.startswith("skillbelt")
                yield path, found, parameters(own) if ours else []
                hosts = [base for base in found.__mro__ if not base.__module__.startswith("skillbelt")]
                for member, value in vars(found).items():
                    if any(member in vars(host) for host in hosts):
                        continue
                    function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
                    if not member.startswith("_") and inspect.isfunction(function):
                        yield f"{path}.{member}", function, parameters(function)
                    elif not member.startswith("_") and isinstance(value, property):
                        yield f"{path}.{member}", value.fget, []


def parameters(function: Any) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def test_everything_public_has_a_docstring_that_begins_with_a_sentence():
    silent = [path for path, found, _ in public_functions() if not (found.__doc__ or "").strip()]
    assert silent == []
    odd = [
        path
        for path, found, _ in public_functions()
        if not re.match(r"[A-Z`].*[.:?]$", found.__doc__.strip().split("\n\n")[0].replace("\n", " ").rstrip())
    ]
    assert odd == []


def test_every_parameter_is_described_where_a_reader_looks_for_it():
    bare = {path for path, found, names in public_functions() if not described(found.__doc__ or "", names)}
    new, done = sorted(bare - UNDOCUMENTED), sorted(UNDOCUMENTED - bare)
    assert not new, "describe the parameters under Args:\n" + "\n".join(new)
    assert not done, "take these out of UNDOCUMENTED, they are described:\n" + "\n".join(done)


def described(doc: str, names: list[str]) -> bool:
    """Whether each parameter has its line under ``Args:``, or under ``Attributes:`` of a value."""
    section = re.search(r"^ *(?:Args|Attributes):\n((?: +.*\n|\n)*)", doc, re.MULTILINE)
    lines = section[1] if section else ""
    return all(re.search(rf"^ +\*{{0,2}}{name}\b[^:\n]*:", lines, re.MULTILINE) for name in names)


def test_what_a_function_raises_itself_is_named_in_its_docstring():
    silent = []
    for path, found, _ in public_functions():
        if inspect.isfunction(found):
            raised = set(re.findall(r"^ +raise ([A-Z]\w+Error)\(", inspect.getsource(found), re.MULTILINE))
            silent += [f"{path}: {error}" for error in sorted(raised) if error not in (found.__doc__ or "")]
    assert silent == []


# --- imports ----------------------------------------------------------------------------------------------------------

BLOCK = """
import sys
from importlib.abc import MetaPathFinder

class Blocked(MetaPathFinder):
    names = {names!r}
    tried = []
    def find_spec(self, name, path=None, target=None):
        if name in self.names or name.startswith(tuple(n + "." for n in self.names)):
            self.tried.append(name)
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
"""

FOREIGN = [
    "langchain",
    "langchain_core",
    "langchain_classic",
    "langchain_community",
    "langgraph",
    "langsmith",
    "llama_index",
    "llama_index_instrumentation",
    "workflows",
    "openai",
    "httpx",
    "requests",
    "fsspec",
    "rich",
    "typer",
    "click",
    "numpy",
    "IPython",
]


def run(code: str, *, without: list[str]) -> str:
    """Run code in a Python of its own in which some packages are not installed, and return what it prints."""
    code = BLOCK.format(names=without) + code
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


LOADED = """
foreign = {foreign!r}
print(sorted(m for m in sys.modules if m in foreign or m.startswith(tuple(n + "." for n in foreign))))
"""


@pytest.mark.row("S3-02")
def test_importing_skillbelt_imports_no_framework_even_when_one_is_installed():
    assert run("import skillbelt\n" + LOADED.format(foreign=FOREIGN), without=[]) == "[]"


def test_importing_and_using_skillbelt_asks_for_no_framework():
    code = """
from skillbelt import *
from skillbelt import testing, events, display
source = MappingSource({"mail/SKILL.md": "---\\nname: mail\\ndescription: Sorts mail.\\n---\\nBegin.\\n"})
router = SkillRouter(merge(source, namespaced("acme", source)), budget=TokenBudget(1000))
assert "mail" in router.prompt("You are a clerk.")
assert router.search("sort mail") and router.activate("mail").text and router.reload() is not None
assert [spec.call(name="mail").text for spec in skill_tools(router) if spec.name == "load_skill"]
assert tool_per_skill(router) and router._repr_html_() and router.diagnostics() is not None
print(Blocked.tried)
"""
    assert run(code, without=FOREIGN) == "[]"


@pytest.mark.parametrize(
    ("modules", "never"),
    [
        ("skillbelt.testing", FOREIGN),
        ("skillbelt.langchain, skillbelt.testing.langchain", ["llama_index", "langchain", "langgraph"]),
        ("skillbelt.langchain.middleware", ["llama_index"]),
        ("skillbelt.llama_index, skillbelt.testing.llama_index", ["langchain", "langchain_core", "langgraph"]),
    ],
)
def test_an_adapter_works_without_any_framework_but_its_own_and_does_not_even_look_for_it(modules, never):
    assert run(f"import {modules}\nprint(Blocked.tried)", without=never) == "[]"


@pytest.mark.parametrize(
    ("code", "without", "install"),
    [
        ("import skillbelt.langchain", ["langchain_core"], 'pip install "skillbelt[langchain]"'),
        ("from skillbelt.langchain import SkillsMiddleware", ["langchain"], 'pip install "skillbelt[langchain]"'),
        ("import skillbelt.llama_index", ["llama_index"], 'pip install "skillbelt[llama-index]"'),
        ("from skillbelt.testing import ScriptedChatModel", ["langchain_core"], 'pip install "skillbelt[langchain]"'),
        ("from skillbelt.testing import OfflineLLM", ["llama_index"], 'pip install "skillbelt[llama-index]"'),
    ],
)
def test_a_missing_framework_is_one_sentence_with_the_line_that_installs_it(code, without, install):
    said = run(
        f"""
try:
    {code}
except ImportError as error:
    print(type(error).__name__, "|", error)
""",
        without=without,
    )
    kind, _, message = said.partition(" | ")
    assert kind == "MissingExtraError"
    assert message.endswith(install)
    assert "\n" not in message
