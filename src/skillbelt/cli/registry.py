"""``skillbelt registry``: run one, look into one, publish to one.

API keys come from the environment, or from a prompt that shows nothing, and never from the command line, where every
user of the machine could read them.
"""

from __future__ import annotations

import os
import socket
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import typer

from skillbelt.cli.console import note, print_diagnostics, print_json, table, write
from skillbelt.cli.folders import CommandError, left_out
from skillbelt.cli.packages import document_text, open_package, package_facts, print_facts, save
from skillbelt.errors import AuthenticationRequiredError, MissingExtraError, RegistryError, RegistryNetworkError
from skillbelt.packages import PackageLimits, PackageReference, read_package
from skillbelt.parsing import LENIENT
from skillbelt.sources.addresses import is_loopback

if TYPE_CHECKING:
    from skillbelt.packages import RegistryClient

__all__ = ["KEY", "Place", "browse", "publish", "serve", "show"]

KEY = "SKILLBELT_REGISTRY_KEY"
"""The variable whose value is the API key, unless another one is named."""


# --- running one ------------------------------------------------------------------------------------------------------


def serve(
    folder: str,
    *,
    host: str,
    port: int,
    namespace: str,
    publish_key_env: str | None,
    read_key_env: str | None,
    name: str,
) -> None:
    """Serve a folder until a key interrupts.

    Args:
        folder: A registry's folder, or a folder of skills.
        host: Address to listen at.
        port: Port to listen at; 0 takes one that is free.
        namespace: Where the skills of a folder of skills are published.
        publish_key_env: Variable with the keys that may publish.
        read_key_env: Variable with the keys that may read.
        name: What the registry calls itself.

    Raises:
        CommandError: A variable is not set, or nothing can be listened at.
        SourceError: The folder cannot be served.
        MissingExtraError: The packages of the extra are not installed.
    """
    from skillbelt.packages.server import open_store, registry_app

    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtraError("The registry server", extra="serve") from error
    if not folder.strip():
        raise CommandError("The name of a folder is empty; give the folder to serve.")
    publish_keys = None if publish_key_env is None else _keys(publish_key_env)
    read_keys = None if read_key_env is None else _keys(read_key_env)
    store = open_store(folder, writable=publish_keys is not None, namespace=namespace)
    app = registry_app(store, publish_keys=publish_keys, read_keys=read_keys, name=name)
    print_diagnostics(left_out(getattr(store, "diagnostics", ())), stderr=True)
    with _listener(host, port) as listener:
        count = len(store.packages())
        note(f"{count} package{'' if count == 1 else 's'}; {_terms(publish_keys, read_keys)} End it with Ctrl-C.")
        if not is_loopback(host):
            note("Others can reach it, and without TLS; put a server that has TLS in front of it.")
        config = uvicorn.Config(
            app,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=5,
        )
        try:
            # The port is open before this is printed: whoever reads it can connect.
            write(f"Serving {folder!r} at {_url(listener)}", "bold")
            sys.stdout.flush()
            uvicorn.Server(config).run(sockets=[listener])
        except KeyboardInterrupt:  # uvicorn's way of saying that it was told to end, and has
            note("Stopped.")


def _keys(variable: str) -> list[str]:
    keys = os.environ.get(variable, "").split()
    if not keys:
        raise CommandError(
            f"The environment variable {variable!r} is not set; set it to the API key, or to several, with blanks."
        )
    return keys


def _listener(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=128)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CommandError(
            f"Nothing can be served at {host} port {port}: {reason}; choose another --port (0 takes any), or --host."
        ) from None


def _url(listener: socket.socket) -> str:
    address, port = listener.getsockname()[:2]
    return f"http://{f'[{address}]' if ':' in address else address}:{port}"


def _terms(publish_keys: list[str] | None, read_keys: list[str] | None) -> str:
    read = "anybody may read" if read_keys is None else "reading needs a key"
    return f"{read}, {'nobody may publish.' if publish_keys is None else 'publishing needs a key.'}"


# --- asking one -------------------------------------------------------------------------------------------------------


class Place:
    """A registry as it was typed.

    Args:
        url: Its address; without a scheme ``https``, and ``http`` on this machine.
        key_env: Variable with the API key; by default :data:`KEY`, if that is set.
        allow_private: Ask it although its name leads to an address that is not public.
        allow_http: Ask it without TLS.
    """

    def __init__(self, url: str, *, key_env: str | None, allow_private: bool, allow_http: bool) -> None:
        if not url.strip():
            raise CommandError("The URL of the registry is empty; give one such as https://registry.example.com")
        if "://" not in url:
            url = f"{'http' if is_loopback(_host(f'//{url}')) else 'https'}://{url}"
        self.url = url
        self.variable = key_env or KEY
        self._key = os.environ.get(self.variable, "").strip() or None
        if key_env is not None and self._key is None:
            raise CommandError(f"The environment variable {key_env!r} is not set; set it to the API key.")
        # Whoever types an address of this machine means it; a name may lead anywhere.
        self._private = allow_private or is_loopback(_host(url))
        self._http = allow_http

    def client(self, *, ask: bool = False) -> RegistryClient:
        """Return a client.

        Args:
            ask: Prompt for an API key when there is none and somebody is there to type it.

        Raises:
            CommandError: There is no key, and one is needed.
        """
        from skillbelt.packages import RegistryClient

        if ask and self._key is None:
            if not sys.stdin.isatty():
                raise CommandError(f"Publishing needs an API key; set the environment variable {self.variable}.")
            self._key = typer.prompt("API key", hide_input=True, err=True).strip()
        return RegistryClient(
            self.url, api_key=self._key, allow_private=self._private, allow_http=self._http, discover=True
        )

    def hint(self, error: RegistryError) -> RegistryError:
        """Return an error with what to do about it on a command line.

        Args:
            error: What the client raised.
        """
        if isinstance(error, RegistryNetworkError) and error.details.get("reason") == "refused":
            said = error.message
            for argument, option in (("allow_private=True", "--allow-private"), ("allow_http=True", "--allow-http")):
                said = said.replace(argument, option)
            return RegistryNetworkError(said, url=error.url, details=error.details)
        if isinstance(error, AuthenticationRequiredError):
            done = "is not one it knows" if self._key else "is not set"
            return AuthenticationRequiredError(
                f"The registry {self.url} wants an API key, and {self.variable} {done}; set it to one that it knows.",
                details=error.details,
            )
        return error


def browse(place: Place, *, namespace: str | None, as_json: bool) -> None:
    """List what a registry has.

    Args:
        place: Which.
        namespace: Only of this publisher.
        as_json: Print for machines.

    Raises:
        RegistryError: As the registry, or the network, has it.
    """
    try:
        found = place.client().browse(namespace=namespace)
    except RegistryError as error:
        raise place.hint(error) from None
    if as_json:
        print_json({"registry": place.url, "packages": [info.model_dump(mode="json") for info in found]})
        return
    rows = [[f"{info.namespace}/{info.name}", info.version, info.description or ""] for info in found]
    if rows:
        table(["Package", "Version", "Description"], rows)
    note(f"{len(rows)} package{'' if len(rows) == 1 else 's'}.")


def show(place: Place, wanted: str, *, output: str | None, as_json: bool) -> None:
    """Show one package of a registry, and write its document where it was asked for.

    Args:
        place: Which registry.
        wanted: ``namespace/name``, with ``@version`` or without, or an id.
        output: File for the document, ``-`` for standard output, ``None`` for nowhere.
        as_json: Print for machines.

    Raises:
        RegistryError: As the registry, or the network, has it.
    """
    if output == "-" and as_json:
        raise CommandError("'--output -' prints the document, '--json' the facts; give one of them.")
    reference = _reference(wanted)
    versions: tuple[str, ...] = ()
    try:
        client = place.client()
        if reference.id is not None:
            found = client.fetch(reference.id, reference=wanted)
        else:
            namespace, name = str(reference.namespace), str(reference.name)
            found = client.look_up(namespace, name, str(reference.version), reference=wanted)
            versions = client.versions(namespace, name)
    except RegistryError as error:
        raise place.hint(error) from None
    package = read_package(found.answer["document"], reference=wanted, limits=PackageLimits(), profile=LENIENT)
    if output == "-":
        typer.echo(document_text(package.to_document()).encode(), nl=False)  # UTF-8, whatever the locale says
        return
    if output is not None:
        save(output, document_text(package.to_document()))
    facts = package_facts(package)
    files = facts.pop("files")
    facts |= {"id": str(found.id), "integrity": found.integrity, "namespace": found.answer["namespace"]}
    facts |= {"version": found.answer["version"], "versions": list(versions)}
    facts |= ({"written": output} if output else {}) | {"files": files}
    if as_json:
        print_json(facts)
    else:
        print_facts(facts)


def publish(place: Place, path: str, *, namespace: str, version: str, as_json: bool) -> None:
    """Pack a skill, unless it is packed, and publish it.

    Args:
        place: Where.
        path: A skill folder, or a document.
        namespace: Of the publisher.
        version: A concrete version.
        as_json: Print for machines.

    Raises:
        RegistryError: As the registry, or the network, has it.
    """
    document = open_package(path)
    try:
        info = place.client(ask=True).publish(document, namespace=namespace, version=version)
    except RegistryError as error:
        raise place.hint(error) from None
    if as_json:
        print_json({"registry": place.url, **info.model_dump(mode="json", exclude_none=True)})
        return
    write(f"Published {info.namespace}/{info.name}@{info.version}")
    write(f"{'id:':<15}{info.id}")
    write(f"{'integrity:':<15}{info.integrity}")


def _reference(wanted: str) -> PackageReference:
    """Return what was typed as a reference; the registry is known, so it need not be in it."""
    if wanted.startswith("pkg_"):
        return PackageReference.parse(f"ID:{wanted}")
    if ":" in wanted:
        reference = PackageReference.parse(wanted)
        if reference.scheme in ("local", "host"):
            raise CommandError(f"{wanted!r} is not in this registry; give namespace/name@version, or an id.")
        return reference
    return PackageReference.parse(f"registry:{wanted}")


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
