"""Everything CI runs, one session a concern. `nox` runs all of it in the environment nox is installed in."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nox

nox.options.default_venv_backend = "none"
nox.options.error_on_external_run = False
nox.options.stop_on_first_error = False
nox.options.sessions = [
    "lint",
    "types",
    "layers",
    "tests",
    "features",
    "acceptance",
    "notebooks",
    "docs",
    "benchmarks",
    "lowest",
    "contract312",
]

HERE = Path(__file__).parent
PYTHON = sys.executable
SCRIPTS = Path(PYTHON).parent
# The lowest versions pyproject.toml claims, in steps: llama-index brings a newer pydantic, langchain a newer core.
LOWEST = {
    "core": ["pydantic==2.8.*", "pyyaml==6.0.1", "typer==0.27.0", "rich==14.3.0"],
    "adapters": ["langchain-core==1.0.0", "llama-index-core==0.13.0"],
    "middleware": ["langchain==1.3.0", "llama-index-core==0.14.0"],
}
CORE_TESTS = [f"tests/test_{name}.py" for name in ("spec_cases", "parsing", "router", "tools", "cli")]
ADAPTER_TESTS = ["tests/test_langchain_tools.py", "tests/test_llama_index.py"]


def python(session: nox.Session, *args: str, **kwargs: object) -> None:
    session.run(PYTHON, "-m", *args, external=True, **kwargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Style: ruff's rules and its formatting."""
    python(session, "ruff", "check", ".")
    python(session, "ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Types: mypy --strict over the package."""
    python(session, "mypy")


@nox.session
def layers(session: nox.Session) -> None:
    """Layers: the import contract of the architecture."""
    session.run(str(SCRIPTS / "lint-imports"), external=True)


@nox.session
def tests(session: nox.Session) -> None:
    """Unit tests, laws, real skills, docstring and documentation examples, with coverage."""
    python(session, "pytest", "-n", "2", "--cov", "--cov-report=term", *session.posargs)


@nox.session
def features(session: nox.Session) -> None:
    """The rows of the requirements as scenarios."""
    python(session, "behave", "-f", "progress", "--no-capture", *session.posargs)


@nox.session
def acceptance(session: nox.Session) -> None:
    """The command line and whole agents, from outside."""
    environment = {"PATH": os.pathsep.join([str(SCRIPTS), os.environ.get("PATH", "")])}
    python(session, "robot", "--outputdir", "robot/out", *session.posargs, "robot", env=environment)


@nox.session
def notebooks(session: nox.Session) -> None:
    """Every notebook, executed by a real kernel."""
    python(session, "ipykernel", "install", "--sys-prefix", "--name", "python3")
    python(session, "pytest", "--nbmake", "-p", "no:cacheprovider", "notebooks", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """The documentation, with warnings as errors."""
    python(session, "mkdocs", "build", "--strict", "--quiet", env={"NO_MKDOCS_2_WARNING": "1"})


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Every benchmark once: that they run, not how fast; `asv run` measures."""
    python(session, "asv", "machine", "--yes", "--config", "benchmarks/asv.conf.json")
    python(
        session, "asv", "run", "--config", "benchmarks/asv.conf.json", "--quick", "--show-stderr", "--python=same"
    )  # fmt: skip


@nox.session(venv_backend="virtualenv")
def lowest(session: nox.Session) -> None:
    """The core and the adapters against the lowest versions the package claims."""
    session.install("-e", ".", *LOWEST["core"], "pytest>=8.3", "pytest-asyncio>=1.0", silent=True)
    session.run("python", "-m", "pytest", "-q", *CORE_TESTS)
    session.install(*LOWEST["adapters"], silent=True)
    session.run("python", "-m", "pytest", "-q", *ADAPTER_TESTS)
    session.install(*LOWEST["middleware"], silent=True)
    session.run("python", "-m", "pytest", "-q", "tests/test_langchain.py", *ADAPTER_TESTS, "tests/test_parity.py")


def python312() -> str | None:
    """Find a python3.12 on PATH, or one beside the running interpreter's, that really runs."""
    folders = [*os.get_exec_path(), *map(str, Path(sys.base_prefix).parent.glob("3.12.*/bin"))]
    for folder in folders:
        found = shutil.which("python3.12", path=folder)
        if found and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0:
            return found
    return None


@nox.session
def contract312(session: nox.Session) -> None:
    """The checks of agentskills-testing, which needs Python 3.12, on our sources."""
    interpreter = python312()
    if interpreter is None:
        session.skip("NOT CHECKED: there is no python3.12, which agentskills-testing needs")
    folder = Path(session.create_tmp()) / "venv"
    session.run(interpreter, "-m", "venv", "--clear", str(folder), external=True)
    run = str(folder / "bin" / "python")
    session.run(
        run, "-m", "pip", "install", "-q", "-e", ".", "agentskills-testing==0.7.*", "pytest>=8.3",
        "pytest-asyncio>=1.0", external=True,
    )  # fmt: skip
    session.run(run, "-m", "pytest", "-q", "tests/external/agentskills_contract.py", *session.posargs, external=True)


@nox.session(venv_backend="virtualenv", default=False)
def newest(session: nox.Session) -> None:
    """The whole suite against the newest versions the index has."""
    session.install("--upgrade", "-e", ".[dev]", silent=True)
    session.run("python", "-m", "pytest", "-n", "2")


@nox.session(default=False)
def clean(session: nox.Session) -> None:
    """Remove what the other sessions leave."""
    for folder in ("robot/out", "site", ".asv", "htmlcov"):
        shutil.rmtree(HERE / folder, ignore_errors=True)
