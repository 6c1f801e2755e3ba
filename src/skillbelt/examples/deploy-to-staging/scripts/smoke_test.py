#!/usr/bin/env python3
"""Check that the URLs of a running service answer as they should.

Sends GET requests only. Retries while a service is still starting, and always ends: every request has a
timeout and the whole run has a deadline. Needs Python 3.11 and nothing else.

Exit codes: 0 every check passed, 1 a check failed, 2 bad arguments or an unreadable list of checks.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import ssl
import string
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import OpenerDirector

MAX_BODY = 1024 * 1024
MAX_DELAY = 10.0
KEYS = {"name", "url", "path", "status", "contains", "json", "max_seconds"}


class UsageError(Exception):
    """The arguments make no sense; the message says what to change."""


@dataclass(frozen=True)
class Check:
    """One URL and what its answer has to look like."""

    url: str
    name: str = ""
    status: frozenset[int] = frozenset(range(200, 300))
    contains: str | None = None
    json: dict[str, Any] = field(default_factory=dict)
    max_seconds: float | None = None


@dataclass(frozen=True)
class Answer:
    """What one request gave: a status and a body, or an error."""

    status: int | None = None
    body: bytes = b""
    charset: str = "utf-8"
    location: str = ""
    error: str = ""
    final: bool = False


class Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect only if told to, and only to the same host, so that no header leaks."""

    def __init__(self, *, follow: bool) -> None:
        self._follow = follow

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """Return the next request, or None to take the redirect itself as the answer."""
        before, after = urllib.parse.urlsplit(req.full_url), urllib.parse.urlsplit(newurl)
        downgraded = before.scheme == "https" and after.scheme != "https"
        if not self._follow or downgraded or before.hostname != after.hostname:
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def checked_url(url: str) -> str:
    """Return a URL that can be requested, with other than ASCII characters quoted.

    Raises:
        UsageError: It is not an http or https URL, or it contains a password.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{url!r} is not a URL: {error}") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise UsageError(f"{url!r} is not an http or https URL, such as https://staging.example.com/healthz")
    if parts.username is not None:
        raise UsageError(f"the URL of {host} contains a user name or password. Use --header-env instead.")
    return urllib.parse.quote(url, safe=string.punctuation)


def joined(base: str | None, path: str) -> str:
    """Put a path behind the base URL, whatever their slashes."""
    if base is None:
        raise UsageError(f"the path {path!r} needs --base-url")
    return f"{base.rstrip('/')}/{path.lstrip('/')}"


def parse_check(item: object, base: str | None, position: int) -> Check:
    """Turn one entry of the list of checks into a check.

    Raises:
        UsageError: The entry has an unknown key or a value of the wrong type.
    """
    where = f"check {position}"
    if not isinstance(item, dict):
        raise UsageError(f"{where}: expected an object, got {json.dumps(item)}")
    unknown = sorted(item.keys() - KEYS)
    if unknown:
        raise UsageError(f"{where}: unknown key {unknown[0]!r}; known are {', '.join(sorted(KEYS))}")
    if ("url" in item) == ("path" in item):
        raise UsageError(f"{where}: needs either 'url' or 'path'")
    for key in ("name", "url", "path", "contains"):
        if key in item and not isinstance(item[key], str):
            raise UsageError(f"{where}: {key!r} must be text")
    status = item.get("status", list(Check.status))
    codes = status if isinstance(status, list) else [status]
    if not codes or not all(type(code) is int and 100 <= code <= 599 for code in codes):
        raise UsageError(f"{where}: 'status' must be a code such as 200, or a list of codes")
    fields = item.get("json", {})
    if not isinstance(fields, dict):
        raise UsageError(f"{where}: 'json' must be an object of expected fields")
    slowest = item.get("max_seconds")
    if slowest is not None and (type(slowest) not in {int, float} or slowest <= 0):
        raise UsageError(f"{where}: 'max_seconds' must be a number above 0")
    url = checked_url(item["url"] if "url" in item else joined(base, item["path"]))
    return Check(url, item.get("name", ""), frozenset(codes), item.get("contains"), fields, slowest)


def load_checks(source: str, base: str | None) -> list[Check]:
    """Read the list of checks from a JSON file, or from standard input for "-"."""
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8-sig")
        data = json.loads(text)
    except (OSError, ValueError) as error:
        raise UsageError(f"--checks {source}: {error}") from None
    items = data.get("checks") if isinstance(data, dict) else data
    if not isinstance(items, list) or not items:
        raise UsageError(f'--checks {source}: expected {{"checks": [...]}} with at least one check')
    return [parse_check(item, base, position) for position, item in enumerate(items, start=1)]


def all_checks(arguments: argparse.Namespace) -> list[Check]:
    """Collect the checks from all of the arguments."""
    base = checked_url(arguments.base_url) if arguments.base_url else None
    urls = [checked_url(url) for url in arguments.urls]
    urls += [checked_url(joined(base, path)) for path in arguments.path]
    if base and not urls and not arguments.checks:
        urls = [base]
    status = frozenset(arguments.status) if arguments.status else Check.status
    checks = [Check(url, status=status, contains=arguments.contains) for url in urls]
    if arguments.checks:
        checks += load_checks(arguments.checks, base)
    if not checks:
        raise UsageError("nothing to check: give a URL, --base-url or --checks FILE")
    return checks


def all_headers(arguments: argparse.Namespace) -> dict[str, str]:
    """Collect the request headers; secrets come from the environment."""
    headers = {"User-Agent": "smoke-test/1.0", "Accept": "*/*", "Cache-Control": "no-cache"}
    for header in arguments.header:
        name, colon, value = header.partition(":")
        if not colon or not name.strip():
            raise UsageError(f"--header {header!r}: expected 'Name: value'")
        headers[name.strip()] = value.strip()
    for pair in arguments.header_env:
        name, equals, variable = pair.partition("=")
        if not equals or not name or not variable:
            raise UsageError(f"--header-env {pair!r}: expected NAME=VARIABLE")
        if not os.environ.get(variable):
            raise UsageError(f"--header-env {pair}: the environment variable {variable} is not set")
        headers[name] = os.environ[variable].strip()
    for name, value in headers.items():
        if not (name + value).isprintable() or not (name + value).isascii():
            raise UsageError(f"the value for the header {name!r} has characters that are not allowed in a header")
    return headers


def make_opener(arguments: argparse.Namespace) -> OpenerDirector:
    """Build what opens the URLs."""
    try:
        context = ssl.create_default_context(cafile=arguments.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"--ca-file {arguments.ca_file}: {error}") from None
    handlers = [Redirects(follow=arguments.follow_redirects), urllib.request.HTTPSHandler(context=context)]
    if arguments.no_proxy:
        handlers.append(urllib.request.ProxyHandler({}))
    return urllib.request.build_opener(*handlers)


def fetch(opener: OpenerDirector, url: str, headers: dict[str, str], timeout: float) -> Answer:
    """Send one request."""
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - checked_url lets http and https pass only
    try:
        try:
            response = opener.open(request, timeout=timeout)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            location = (response.headers.get("Location") or "").partition("?")[0]
            charset = response.headers.get_content_charset() or "utf-8"
            return Answer(response.status, response.read(MAX_BODY), charset, location)
    except TimeoutError:
        return Answer(error=f"no answer within {timeout:.3g} s")
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            return Answer(error=f"no answer within {timeout:.3g} s")
        final = isinstance(error.reason, ssl.SSLCertVerificationError)
        return Answer(error=f"cannot connect: {error.reason}", final=final)
    except (OSError, http.client.HTTPException) as error:
        return Answer(error=f"connection broke: {type(error).__name__}: {error}")
    except ValueError as error:
        return Answer(error=f"cannot send the request: {error}", final=True)


def bounded_fetch(opener: OpenerDirector, url: str, headers: dict[str, str], timeout: float) -> Answer:
    """Send one request that ends in time even if name look-up hangs or the server sends byte by byte."""
    box: list[Answer] = []
    thread = threading.Thread(target=lambda: box.append(fetch(opener, url, headers, timeout)), daemon=True)
    thread.start()
    thread.join(timeout + 0.25)
    return box[0] if box else Answer(error=f"no complete answer within {timeout:.3g} s")


def problem(check: Check, answer: Answer, seconds: float) -> str:
    """Say what is wrong with an answer; empty if nothing is."""
    if answer.error:
        return answer.error
    if answer.status not in check.status:
        wanted = "2xx" if check.status == Check.status else " or ".join(map(str, sorted(check.status)))
        target = f", redirects to {answer.location}" if answer.location else ""
        return f"status {answer.status}, expected {wanted}{target}"
    if check.max_seconds is not None and seconds > check.max_seconds:
        return f"took {seconds:.2f} s, allowed are {check.max_seconds:g} s"
    try:
        text = answer.body.decode(answer.charset, errors="replace")
    except LookupError:
        text = answer.body.decode("utf-8", errors="replace")
    if check.contains is not None and check.contains not in text:
        return f"the body does not contain {check.contains!r}"
    if check.json:
        try:
            data = json.loads(text)
        except ValueError:
            return "the body is not JSON"
        if not isinstance(data, dict):
            return "the body is not a JSON object"
        for key, value in check.json.items():
            if key not in data:
                return f"the JSON has no field {key!r}"
            if data[key] != value:
                return f"the JSON field {key!r} is {json.dumps(data[key])[:80]}, expected {json.dumps(value)}"
    return ""


def run(checks: list[Check], arguments: argparse.Namespace, headers: dict[str, str]) -> list[dict[str, Any]]:
    """Run the checks one after the other, with retries, until the deadline."""
    opener = make_opener(arguments)
    end = time.monotonic() + arguments.deadline
    results: list[dict[str, Any]] = []
    for check in checks:
        answer, seconds, attempts = Answer(), 0.0, 0
        detail = f"not tried: the deadline of {arguments.deadline:g} s was reached"
        while attempts <= arguments.retries:
            left = end - time.monotonic()
            if left <= 0:
                break
            started = time.monotonic()
            answer = bounded_fetch(opener, check.url, headers, min(arguments.timeout, left))
            seconds = time.monotonic() - started
            attempts += 1
            detail = problem(check, answer, seconds)
            if not detail or answer.final or attempts > arguments.retries:
                break
            pause = min(arguments.delay * 2 ** (attempts - 1), MAX_DELAY)
            if time.monotonic() + pause >= end:
                detail += f" (gave up: the deadline of {arguments.deadline:g} s is near)"
                break
            time.sleep(pause)
        results.append(
            {
                "name": check.name,
                "url": check.url,
                "ok": not detail,
                "status": answer.status,
                "seconds": round(seconds, 3),
                "attempts": attempts,
                "detail": detail,
            }
        )
    return results


def positive(value: str) -> float:
    """Accept a finite number above 0 for argparse."""
    number = float(value)
    if not 0 < number < 86400:
        raise argparse.ArgumentTypeError(f"{value} is not between 0 and 86400")
    return number


def count(value: str) -> int:
    """Accept a whole number from 0 to 100 for argparse."""
    number = int(value)
    if not 0 <= number <= 100:
        raise argparse.ArgumentTypeError(f"{value} is not between 0 and 100")
    return number


def status_code(value: str) -> int:
    """Accept an HTTP status for argparse."""
    number = int(value)
    if not 100 <= number <= 599:
        raise argparse.ArgumentTypeError(f"{value} is not an HTTP status")
    return number


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    result = argparse.ArgumentParser(
        prog="smoke_test.py",
        description="Check that the URLs of a running service answer as they should. Sends only GET.",
        epilog="exit codes: 0 all passed, 1 a check failed, 2 bad arguments. Redirects count as an answer.",
    )
    result.add_argument("urls", nargs="*", metavar="URL", help="URL to check; a status of 200 to 299 passes")
    result.add_argument("--base-url", metavar="URL", help="start of --path and of paths in --checks")
    result.add_argument("--path", action="append", default=[], help="path behind --base-url; repeatable")
    result.add_argument("--checks", metavar="FILE", help="JSON, see assets/smoke-checks.json; - for stdin")
    result.add_argument(
        "--status",
        action="append",
        type=status_code,
        default=[],
        metavar="CODE",
        help="accepted status; repeatable (default: 200 to 299)",
    )
    result.add_argument("--contains", metavar="TEXT", help="text that each body must contain")
    seconds = {"type": positive, "metavar": "S"}
    result.add_argument("--timeout", default=10.0, **seconds, help="seconds per request (default: 10)")
    result.add_argument("--retries", type=count, default=3, metavar="N", help="more attempts (default: 3)")
    result.add_argument("--delay", default=1.0, **seconds, help="first pause, doubled each time (default: 1)")
    result.add_argument("--deadline", default=120.0, **seconds, help="seconds for everything (default: 120)")
    result.add_argument("--header", action="append", default=[], metavar="TEXT", help="'Name: value'; repeatable")
    result.add_argument(
        "--header-env",
        action="append",
        default=[],
        metavar="NAME=VARIABLE",
        help="header whose value is in an environment variable, for secrets; repeatable",
    )
    result.add_argument("--ca-file", metavar="FILE", help="certificates of a private CA, in PEM format")
    result.add_argument("--follow-redirects", action="store_true", help="follow redirects to the same host")
    result.add_argument("--no-proxy", action="store_true", help="ignore proxy settings of the environment")
    result.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    return result


def main(argv: list[str] | None = None) -> int:
    """Run the checks and return the exit code."""
    arguments = parser().parse_args(argv)
    sys.stdout.reconfigure(errors="backslashreplace")
    try:
        checks = all_checks(arguments)
        results = run(checks, arguments, all_headers(arguments))
    except UsageError as error:
        print(f"smoke_test: {error}", file=sys.stderr)
        return 2
    passed = sum(result["ok"] for result in results)
    if arguments.json:
        report = {"ok": passed == len(results), "passed": passed, "total": len(results), "checks": results}
        print(json.dumps(report, indent=2))
    else:
        for result in results:
            label = f"{result['name']}: " if result["name"] else ""
            status, verdict = result["status"] or "-", "OK" if result["ok"] else "FAIL"
            facts = f"status {status}, {result['seconds']:.2f} s, attempt {result['attempts']}"
            print(f"{verdict:<5} {label}{result['url']} ({facts}) {result['detail']}".rstrip())
        print(f"{passed} of {len(results)} passed")
    return 0 if passed == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
