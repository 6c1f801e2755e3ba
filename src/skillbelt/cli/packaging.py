"""The commands about packages as typer sees them: ``pack``, ``unpack`` and the group ``registry``.

What they do is in :mod:`skillbelt.cli.packages` and :mod:`skillbelt.cli.registry`, which are imported when one of them
is run: the other commands start no slower.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from skillbelt.cli.console import error as say_error
from skillbelt.cli.console import note
from skillbelt.errors import (
    AccessDeniedError,
    AuthenticationRequiredError,
    InvalidPackageReferenceError,
    PackageValidationError,
    RegistryError,
    RegistryNetworkError,
)

__all__ = ["attach", "explain"]

_HELP: dict[str, Any] = {"context_settings": {"help_option_names": ["-h", "--help"]}}

_Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines, and nothing else on standard output.")]
_Url = Annotated[str, typer.Argument(metavar="URL", help="Address of the registry.")]
_KeyEnv = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Environment variable with the API key. Default: SKILLBELT_REGISTRY_KEY."),
]
_Private = Annotated[
    bool, typer.Option("--allow-private", help="Ask it although its name leads into a private network.")
]
_Http = Annotated[bool, typer.Option("--allow-http", help="Ask it without TLS; keys and skills travel in the clear.")]

_ENVIRONMENT = (
    RegistryNetworkError,
    AuthenticationRequiredError,
    AccessDeniedError,
    InvalidPackageReferenceError,
)
"""Failures that are about the call or its surroundings, and no package: exit code 2."""

registry = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="Run a registry of skill packages, look into one, publish to one.",
    epilog="\b\nExamples:\n  skillbelt registry serve ./skills\n"
    "  skillbelt registry browse http://127.0.0.1:8000\n\n\b\n"
    "API keys come from the environment or a prompt, never from the command line.",
    **_HELP,
)


def attach(app: typer.Typer) -> None:
    """Add the commands.

    Args:
        app: Where to.
    """
    app.command(
        short_help="Pack a skill folder into one document.",
        help="Pack a skill folder into one document, and print its id: every file, byte for byte.",
        epilog="\b\nExamples:\n  skillbelt pack ./skills/pdf\n  skillbelt pack ./skills/pdf -o pdf.json",
    )(pack)
    app.command(
        short_help="Write the skill of a document to disk.",
        help="Write the skill of a document that 'pack' made to DIR, in a folder of its own name.",
        epilog="\b\nExamples:\n  skillbelt unpack pdf.json ./skills\n"
        "  skillbelt registry show URL acme/pdf -o - | skillbelt unpack - ./skills",
    )(unpack)
    app.add_typer(registry, name="registry", short_help="Run a registry of packages, or use one.")


def explain(error: RegistryError) -> int:
    """Print what is wrong with a package or a registry, every broken rule on a line of its own; return the exit code.

    Args:
        error: What was raised.
    """
    violations = error.details.get("violations") if isinstance(error, PackageValidationError) else None
    if isinstance(violations, list) and len(violations) > 1:
        say_error("It cannot be a package; correct this:")
        for each in violations:
            note(f"{each.get('path') or 'the document'}: {each.get('code', '')}: {each.get('message', '')}")
    else:
        say_error(error.message)
    return 2 if isinstance(error, _ENVIRONMENT) else 1


def pack(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A skill folder, or its SKILL.md.")],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the document to this file; '-' prints it."),
    ] = None,
    version: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Version the document states, such as v1.2.3.")
    ] = None,
    as_json: _Json = False,
) -> None:
    """Run ``skillbelt pack``."""
    from skillbelt.cli import packages

    packages.pack_skill(path, output=output, version=version, as_json=as_json)


def unpack(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The document; '-' reads standard input.")],
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder of skills; made when it does not exist.")],
    as_json: _Json = False,
) -> None:
    """Run ``skillbelt unpack``."""
    from skillbelt.cli import packages

    packages.unpack_skill(file, folder, as_json=as_json)


@registry.callback(invoke_without_command=True)
def _registry(context: typer.Context) -> None:
    """Print the help when no command is given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@registry.command(
    short_help="Serve a folder of skills or packages.",
    help="Serve a folder over HTTP: a folder of skills as it is now, read-only, or a folder of published packages. "
    "With --publish-key-env an empty folder, or none, becomes one that is published to.",
    epilog="\b\nExamples:\n  skillbelt registry serve ./skills --namespace acme\n"
    "  PUBLISH_KEY=... skillbelt registry serve ./packages --publish-key-env PUBLISH_KEY --port 8080",
    **_HELP,
)
def serve(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="What to serve.")],
    host: Annotated[str, typer.Option(metavar="HOST", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="0 takes one that is free.")] = 8000,
    namespace: Annotated[
        str, typer.Option(metavar="NAME", help="Where the skills of a folder of skills are published.")
    ] = "skills",
    publish_key_env: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Environment variable with the API keys that may publish."),
    ] = None,
    read_key_env: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Environment variable with the API keys that may read. Default: anybody."),
    ] = None,
    name: Annotated[str, typer.Option(metavar="TEXT", help="What the registry calls itself.")] = "skillbelt registry",
) -> None:
    """Run ``skillbelt registry serve``."""
    from skillbelt.cli import registry as commands

    commands.serve(
        folder,
        host=host,
        port=port,
        namespace=namespace,
        publish_key_env=publish_key_env,
        read_key_env=read_key_env,
        name=name,
    )


@registry.command(
    short_help="List the packages of a registry.",
    help="List the packages of a registry, each with its highest version.",
    epilog="\b\nExample:\n  skillbelt registry browse http://127.0.0.1:8000 --namespace acme",
    **_HELP,
)
def browse(
    url: _Url,
    namespace: Annotated[str | None, typer.Option(metavar="NAME", help="Only packages of this publisher.")] = None,
    key_env: _KeyEnv = None,
    allow_private: _Private = False,
    allow_http: _Http = False,
    as_json: _Json = False,
) -> None:
    """Run ``skillbelt registry browse``."""
    from skillbelt.cli import registry as commands

    place = commands.Place(url, key_env=key_env, allow_private=allow_private, allow_http=allow_http)
    commands.browse(place, namespace=namespace, as_json=as_json)


@registry.command(
    short_help="Show a package of a registry, or save it.",
    help="Show a package of a registry: its fields, its versions, its files. With -o its document is saved as well.",
    epilog="\b\nExamples:\n  skillbelt registry show http://127.0.0.1:8000 acme/pdf@v1.x\n"
    "  skillbelt registry show http://127.0.0.1:8000 acme/pdf -o pdf.json",
    **_HELP,
)
def show(
    url: _Url,
    reference: Annotated[
        str, typer.Argument(metavar="REF", help="NAMESPACE/NAME, with @VERSION or without, or an id pkg_skl_...")
    ],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the document to this file; '-' prints it."),
    ] = None,
    key_env: _KeyEnv = None,
    allow_private: _Private = False,
    allow_http: _Http = False,
    as_json: _Json = False,
) -> None:
    """Run ``skillbelt registry show``."""
    from skillbelt.cli import registry as commands

    place = commands.Place(url, key_env=key_env, allow_private=allow_private, allow_http=allow_http)
    commands.show(place, reference, output=output, as_json=as_json)


@registry.command(
    short_help="Publish a skill to a registry.",
    help="Publish a skill to a registry, under a version that never changes. The API key is taken from the "
    "environment, or asked for.",
    epilog="\b\nExample:\n"
    "  skillbelt registry publish http://127.0.0.1:8000 ./skills/pdf --namespace acme --version v1.0.0",
    **_HELP,
)
def publish(
    url: _Url,
    path: Annotated[str, typer.Argument(metavar="PATH", help="A skill folder, or a document that 'pack' wrote.")],
    namespace: Annotated[str, typer.Option(metavar="NAME", help="Who publishes it.")],
    version: Annotated[str, typer.Option(metavar="VERSION", help="A concrete version, such as v1.2.3.")],
    key_env: _KeyEnv = None,
    allow_private: _Private = False,
    allow_http: _Http = False,
    as_json: _Json = False,
) -> None:
    """Run ``skillbelt registry publish``."""
    from skillbelt.cli import registry as commands

    place = commands.Place(url, key_env=key_env, allow_private=allow_private, allow_http=allow_http)
    commands.publish(place, path, namespace=namespace, version=version, as_json=as_json)
