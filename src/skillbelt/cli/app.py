"""The commands as typer sees them, and the one place where a failure becomes a sentence and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from skillbelt import __version__
from skillbelt.cli import asking, checking, listing, packaging
from skillbelt.cli.console import error as say_error
from skillbelt.cli.console import print_diagnostics
from skillbelt.cli.folders import CommandError
from skillbelt.errors import (
    AgentConfigError,
    InvalidSkillError,
    LimitError,
    MissingExtraError,
    RegistryError,
    SkillError,
    SourceError,
)

__all__ = ["app"]

_USAGE = typer.BadParameter.__mro__[1]
"""What typer raises for every wrong call; it has no public name in typer, whose copy of click is its own."""


class _Group(TyperGroup):
    """Says every failure in one sentence on standard error, without a traceback unless one was asked for."""

    debug = False

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command; standalone, exit with its code."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, ValueError):  # a stream that somebody put there
                stream.reconfigure(errors="replace")  # type: ignore[union-attr]
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
            sys.stdout.flush()
        except Exception as error:
            code = self._explain(error)
        sys.exit(code if isinstance(code, int) else 0)

    def _explain(self, error: Exception) -> int:
        """Print what went wrong and return the exit code."""
        if self.debug:
            traceback.print_exception(error)
        if isinstance(error, typer.Abort):  # typer's word for a key that interrupts
            return 130
        if isinstance(error, OSError) and not isinstance(error, SkillError):
            # Whatever waits in the buffer cannot be written either; the interpreter's last flush must not try again.
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if isinstance(error, BrokenPipeError):  # the reader had enough and wants to hear nothing more
                return 1
            say_error(f"The system refused to read or write: {error.strerror or error}; make room or choose another.")
            return 2
        if isinstance(error, _USAGE):
            context = getattr(error, "ctx", None)
            path = context.command_path if context is not None else "skillbelt"
            say_error(f"{error.format_message().rstrip('.')}. See: {path} --help")  # type: ignore[attr-defined]
            return 2
        if not isinstance(error, SkillError):
            hint = "" if self.debug else " Run it with --debug for details, and please report it."
            say_error(f"An error that skillbelt did not expect: {type(error).__name__}: {error}.{hint}")
            return 1
        if isinstance(error, InvalidSkillError) and error.diagnostics:
            say_error("The skill cannot be loaded; correct this:")
            print_diagnostics(error.diagnostics, stderr=True)
            return 1
        if isinstance(error, RegistryError):
            return packaging.explain(error)
        for problem in str(error).splitlines() if isinstance(error, AgentConfigError) else [str(error)]:
            say_error(problem)
        if isinstance(error, CommandError):
            return error.code
        return 2 if isinstance(error, SourceError | LimitError | MissingExtraError | AgentConfigError) else 1


app = typer.Typer(
    cls=_Group,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Agent Skills for LangChain and LlamaIndex.",
    epilog='\b\nExample:\n  skillbelt ask "How do I roll back a bad staging deployment?"\n\n\b\nExit codes:\n'
    "  0 fine, 1 something is wrong with a skill or a model, 2 wrong usage or environment",
)

_Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines, and nothing else on standard output.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"skillbelt {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def skillbelt(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", envvar="SKILLBELT_DEBUG", help="Print tracebacks of failures as well.")
    ] = False,
) -> None:
    """Take the options of all commands; without a command, print the help."""
    if isinstance(context.command, _Group):
        context.command.debug = debug
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(
    short_help="Ask an agent that has skills.",
    help="Ask an agent that has skills, and see what it does: the catalog, each tool call, each file read, the answer.",
    epilog='\b\nExamples:\n  skillbelt ask "How do I roll back a bad staging deployment?"\n'
    '  skillbelt ask "Fill in this form" --skills ./skills --framework llama-index --model openai:gpt-4o-mini',
)
def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What you want to know or have done.")],
    skills: Annotated[
        list[str] | None,
        typer.Option(metavar="DIR", help="Folder of skills, repeatable; the first wins. Default: the shipped ones."),
    ] = None,
    framework: Annotated[
        str, typer.Option(metavar="NAME", help="Whose agent: langchain or llama-index.")
    ] = "langchain",
    model: Annotated[
        str | None,
        typer.Option(metavar="PROVIDER:NAME", help="A real model. Default: built-in offline rules, which are no LLM."),
    ] = None,
    as_json: _Json = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print the system prompt that was sent.")] = False,
) -> None:
    """Run ``skillbelt ask``."""
    asking.ask(question, skills or [], framework=framework, model=model, as_json=as_json, verbose=verbose)


@app.command(
    short_help="Run an agent of an agents.yaml.",
    help="Run an agent of an agents.yaml, and see what it does; or list its agents, or check all that they name.",
    epilog='\b\nExamples:\n  skillbelt run agents.yaml clerk "Which rows of this CSV are broken?"\n'
    "  skillbelt run agents.yaml --check",
)
def run(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file of agents.")],
    agent: Annotated[str | None, typer.Argument(metavar="[AGENT]", help="Which of its agents.")] = None,
    question: Annotated[
        str | None, typer.Argument(metavar="[QUESTION]", help="What you want to know or have done.")
    ] = None,
    framework: Annotated[
        str, typer.Option(metavar="NAME", help="Whose agent: langchain or llama-index.")
    ] = "langchain",
    model: Annotated[
        str | None,
        typer.Option(metavar="PROVIDER:NAME", help="Another model than the file's; 'offline' for built-in rules."),
    ] = None,
    allow_imports: Annotated[
        bool, typer.Option("--allow-imports", help="Import the tools the file names as module:attribute; runs code.")
    ] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the agents of the file and stop.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Check the file, resolve every reference, and stop; no model is asked.")
    ] = False,
    as_json: _Json = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print the system prompt that was sent.")] = False,
) -> None:
    """Run ``skillbelt run``."""
    from skillbelt.cli import running  # and with it packages and their registries

    if list_:
        running.list_agents(file, as_json=as_json)
    elif check:
        if not running.check(file, agent, allow_imports=allow_imports, as_json=as_json):
            raise typer.Exit(1)
    else:
        running.run(
            file,
            agent,
            question,
            framework=framework,
            model=model,
            allow_imports=allow_imports,
            as_json=as_json,
            verbose=verbose,
        )


@app.command(
    "list",
    short_help="List the skills in some folders.",
    help="List the skills in some folders; what could not be loaded is said on standard error.",
    epilog="\b\nExamples:\n  skillbelt list ./skills ~/.agents/skills\n  skillbelt list ./skills --json",
)
def list_(
    folders: Annotated[list[str], typer.Argument(metavar="DIR...", help="Folders of skills; the first wins.")],
    as_json: _Json = False,
) -> None:
    """Run ``skillbelt list``."""
    listing.list_skills(folders, as_json=as_json)


@app.command(
    short_help="Show one skill, or one of its files.",
    help="Show one skill: its fields, its files and its instructions; or one of its files.",
    epilog="\b\nExamples:\n  skillbelt show ./skills/pdf\n  skillbelt show ./skills pdf --file references/forms.md",
)
def show(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A skill folder, or a folder of skills.")],
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Which skill, when there are several.")] = None,
    file: Annotated[
        str | None, typer.Option("--file", metavar="PATH", help="Print this file of the skill instead.")
    ] = None,
    as_json: _Json = False,
) -> None:
    """Run ``skillbelt show``."""
    if file is None:
        listing.show_skill(folder, name, as_json=as_json)
    else:
        listing.show_file(folder, name, file, as_json=as_json)


@app.command(
    short_help="Check skills against the specification.",
    help="Check skills against the specification and print all that is wrong, with file and line.",
    epilog="\b\nExamples:\n  skillbelt validate ./skills\n  skillbelt validate ./skills/pdf/SKILL.md --lenient",
)
def validate(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Skill folders, SKILL.md files or folders of skills.")
    ],
    lenient: Annotated[bool, typer.Option("--lenient", help="Judge as loading does, not by the letter.")] = False,
    as_json: _Json = False,
) -> None:
    """Run ``skillbelt validate``."""
    if not checking.validate(paths, lenient=lenient, as_json=as_json):
        raise typer.Exit(1)


packaging.attach(app)


@app.command(
    short_help="Say what the scripts of skills lack here.",
    help="Read the scripts of skills, run none, and say what they need that this machine lacks: interpreters, modules, "
    "programs, variables. Says as well which sandbox there is.",
    epilog="\b\nExamples:\n  skillbelt doctor ./skills\n  skillbelt doctor ./skills --json",
)
def doctor(
    folders: Annotated[list[str], typer.Argument(metavar="DIR...", help="Folders of skills; the first wins.")],
    as_json: _Json = False,
) -> None:
    """Run ``skillbelt doctor``."""
    from skillbelt.cli.doctor import doctor as look  # what runs scripts is loaded for this command only

    if not look(folders, as_json=as_json):
        raise typer.Exit(1)
