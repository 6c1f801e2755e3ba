#!/usr/bin/env python3
"""Check that a service is ready to be released: git state, version, tag and changelog.

Only reads: no file, no git reference and no remote is changed, and the network is not used. Needs git and
Python 3.11.

Exit codes: 0 every check passed (warnings allowed), 1 a check failed, 2 the checks could not be run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path

CHECKS = ("clean-tree", "unfinished", "branch", "upstream", "version", "tag", "changelog")
MANIFESTS = ("pyproject.toml", "package.json", "Cargo.toml", "VERSION", "VERSION.txt", "version.txt")
CHANGELOGS = tuple(
    stem + suffix
    for stem in ("CHANGELOG", "CHANGES", "HISTORY", "RELEASES", "NEWS", "changelog", "Changelog")
    for suffix in (".md", ".rst", ".txt", "")
)
UNFINISHED = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "BISECT_LOG": "bisect",
}
VERSION = re.compile(r"\d+\.\d+(\.\d+){0,2}([-+.]?[0-9A-Za-z][0-9A-Za-z.+-]*)?")
DEVELOPMENT = re.compile(r"(\.dev\d*|-?snapshot|-dev)", re.IGNORECASE)
ASSIGNED = re.compile(r"""^\s*["']?_*version_*["']?\s*[:=]\s*["']?v?(\d[\w.+-]*)""", re.I | re.M)
UNDERLINE = re.compile(r"([=\-~^\"'*+#])\1{2,}\s*")
GIT_TIMEOUT = 60.0


class CannotCheckError(Exception):
    """The checks cannot be run at all; the message says what to do."""


@dataclass(frozen=True)
class Check:
    """The result of one check."""

    check: str
    status: str
    detail: str


@dataclass(frozen=True)
class Heading:
    """One heading of a changelog."""

    line: int
    level: int
    title: str
    body: int


class Git:
    """Runs git commands in one folder."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("git")
        if program is None:
            raise CannotCheckError("git was not found on PATH. Run this where git is available.")
        self._command = [program, "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", str(folder)]
        # Inside a git hook these point at another repository and would win over -C.
        dropped = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")
        self._environment = {key: value for key, value in os.environ.items() if key not in dropped}
        self._environment |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat"}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one git command and return what it gave, whatever its exit code."""
        try:
            return subprocess.run(  # noqa: S603 - a list without a shell; the program comes from PATH
                [*self._command, *arguments],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=GIT_TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise CannotCheckError(f"git {arguments[0]} took longer than {GIT_TIMEOUT:.0f} s.") from None

    def text(self, *arguments: str) -> str | None:
        """Return the stripped output of one git command, or None if it failed."""
        done = self.run(*arguments)
        return done.stdout.strip() if done.returncode == 0 else None


def check_clean_tree(git: Git, *, allow_untracked: bool) -> Check:
    """Look for changes that are not committed."""
    done = git.run("status", "--porcelain=v1", "-z", "--untracked-files=normal")
    if done.returncode != 0:
        raise CannotCheckError(f"git status failed: {done.stderr.strip()}")
    changed: list[str] = []
    untracked: list[str] = []
    parts = iter(done.stdout.split("\0"))
    for part in parts:
        if not part:
            continue
        state, name = part[:2], part[3:]
        if "R" in state or "C" in state:
            next(parts, None)  # the name before the rename
        (untracked if state == "??" else changed).append(name)
    blocking = changed if allow_untracked else changed + untracked
    if not blocking:
        ignored = f" ({len(untracked)} untracked allowed)" if untracked else ""
        return Check("clean-tree", "ok", f"no uncommitted changes{ignored}")
    shown = ", ".join(blocking[:5]) + (f" and {len(blocking) - 5} more" if len(blocking) > 5 else "")
    return Check("clean-tree", "fail", f"{len(blocking)} uncommitted: {shown}. Commit, stash or ignore them.")


def check_unfinished(git: Git, folder: Path) -> Check:
    """Look for a merge, rebase or the like that was started and not finished."""
    for name, operation in UNFINISHED.items():
        place = git.text("rev-parse", "--git-path", name)
        if place and (folder / place).exists():
            return Check("unfinished", "fail", f"a {operation} is in progress. Finish or abort it.")
    return Check("unfinished", "ok", "no merge, rebase or bisect in progress")


def check_branch(branch: str | None, wanted: str | None) -> Check:
    """Compare the current branch with the wanted one."""
    if branch is None:
        if wanted:
            return Check("branch", "fail", f"HEAD is detached, expected {wanted}. Run: git switch {wanted}")
        return Check("branch", "warn", "HEAD is detached (normal in CI; otherwise switch to a branch)")
    if wanted and branch != wanted:
        return Check("branch", "fail", f"on branch {branch}, expected {wanted}. Run: git switch {wanted}")
    return Check("branch", "ok", f"on branch {branch}")


def check_upstream(git: Git, branch: str | None) -> Check:
    """Compare HEAD with the remote-tracking branch, as of the last fetch."""
    if branch is None:
        return Check("upstream", "skip", "no branch, so nothing to compare with")
    upstream = git.text("rev-parse", "--abbrev-ref", "--symbolic-full-name", "@{upstream}")
    if upstream is None:
        return Check("upstream", "warn", f"branch {branch} has no upstream: nobody else may have this commit")
    counts = git.text("rev-list", "--left-right", "--count", "@{upstream}...HEAD")
    if counts is None:
        return Check("upstream", "warn", f"cannot compare with {upstream}. Run: git fetch")
    behind, ahead = (int(part) for part in counts.split())
    if ahead and behind:
        apart = f"{ahead} ahead of and {behind} behind {upstream}"
        return Check("upstream", "fail", f"{apart}. Rebase or merge, then push.")
    if ahead:
        return Check("upstream", "fail", f"{ahead} commit(s) not pushed to {upstream}. Run: git push")
    if behind:
        return Check("upstream", "warn", f"{behind} commit(s) behind {upstream}: the newest work is left out")
    return Check("upstream", "ok", f"same as {upstream} (as of the last fetch)")


def read_version(path: Path) -> str | None:
    """Return the version that a file states, or None if it states none.

    Args:
        path: A manifest with a known name, or any text file with a line such as ``version = "1.4.0"``.

    Returns:
        The version as written, without a leading v.

    Raises:
        CannotCheckError: The file cannot be read or parsed.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix == ".toml":
            data = tomllib.loads(text)
            found = data.get("project", {}).get("version") or data.get("package", {}).get("version")
            found = found or data.get("tool", {}).get("poetry", {}).get("version")
            found = found or data.get("workspace", {}).get("package", {}).get("version")
        elif path.suffix == ".json":
            data = json.loads(text)
            found = data.get("version") if isinstance(data, dict) else None
        elif path.name.lower() in {"version", "version.txt"}:
            found = next((line.strip() for line in text.splitlines() if line.strip()), None)
        else:
            match = ASSIGNED.search(text)
            found = match[1] if match else None
    except (OSError, ValueError, AttributeError) as error:
        raise CannotCheckError(f"cannot read a version from {path}: {error}") from error
    return found.removeprefix("v") if isinstance(found, str) and found else None


def check_version(folder: Path, files: list[str], wanted: str | None) -> tuple[Check, str | None]:
    """Find the version in the version files and compare it with the wanted one."""
    found: dict[str, str] = {}
    for name in files or MANIFESTS:
        path = folder / name
        if not path.is_file():
            if files:
                raise CannotCheckError(f"--version-file {name}: there is no such file in {folder}.")
            continue
        version = read_version(path)
        if version is not None:
            found.setdefault(name, version)
        elif files:
            return Check("version", "fail", f"{name} states no version."), wanted
    stated = ", ".join(f"{name} says {version}" for name, version in found.items())
    if not found:
        if wanted:
            return Check("version", "warn", f"no version file found; taking {wanted} from --version"), wanted
        hint = "Give --version-file FILE, or --version X.Y.Z if the version comes from git tags."
        return Check("version", "fail", f"no version found in {', '.join(MANIFESTS)}. {hint}"), None
    if len(set(found.values())) > 1:
        hint = "Make them agree, or choose one with --version-file."
        return Check("version", "fail", f"{stated}. {hint}"), wanted
    version = next(iter(found.values()))
    if wanted and version != wanted:
        return Check("version", "fail", f"{stated}, expected {wanted}."), wanted
    if not VERSION.fullmatch(version):
        return Check("version", "fail", f"{stated}: that is not a version such as 1.4.0."), None
    if DEVELOPMENT.search(version) or version == "0.0.0":
        return Check("version", "warn", f"{stated}: that looks like a development version"), version
    return Check("version", "ok", stated), version


def check_tag(git: Git, version: str, prefix: str, commit: str) -> Check:
    """Check that the version was not released from another commit."""
    tag = f"{prefix}{version}"
    tagged = git.text("rev-parse", "--verify", "--quiet", f"refs/tags/{tag}^{{commit}}")
    if tagged is None:
        return Check("tag", "ok", f"tag {tag} does not exist yet (as of the last fetch)")
    if tagged == commit:
        return Check("tag", "ok", f"tag {tag} is on this commit")
    hint = "Raise the version; do not move the tag."
    return Check("tag", "fail", f"tag {tag} is already on commit {tagged[:12]}. {hint}")


def headings(lines: list[str]) -> list[Heading]:
    """Find the headings of a Markdown or reStructuredText file, outside fenced code."""
    found: list[Heading] = []
    underlines: list[str] = []
    fenced = False
    for number, line in enumerate(lines):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
            continue
        if fenced or not line.strip():
            continue
        marks = re.match(r"(#{1,6})\s+(.+)", line)
        if marks:
            found.append(Heading(number, len(marks[1]), marks[2].strip(), number + 1))
            continue
        below = lines[number + 1] if number + 1 < len(lines) else ""
        title = not line.startswith((" ", "\t", "- ", "* ")) and not UNDERLINE.fullmatch(line)
        if title and UNDERLINE.fullmatch(below):
            if below[0] not in underlines:
                underlines.append(below[0])
            found.append(Heading(number, underlines.index(below[0]) + 1, line.strip(), number + 2))
    return found


def check_changelog(folders: list[Path], name: str | None, version: str) -> tuple[Check, str]:
    """Look for a section about the version, and return its text too."""
    names = [name] if name else CHANGELOGS
    path = next((folder / item for folder in folders for item in names if (folder / item).is_file()), None)
    if path is None:
        if name:
            raise CannotCheckError(f"--changelog {name}: there is no such file in {folders[0]}.")
        return Check("changelog", "fail", "no changelog. Add CHANGELOG.md, or name yours with --changelog."), ""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        raise CannotCheckError(f"cannot read {path}: {error}") from error
    found = headings(lines)
    exactly = re.compile(rf"(?<![\w.])v?{re.escape(version)}(?![\w+]|[.-]\w)")
    for index, heading in enumerate(found):
        if not exactly.search(heading.title):
            continue
        end = next((later.line for later in found[index + 1 :] if later.level <= heading.level), len(lines))
        section = "\n".join(lines[heading.body : end]).strip()
        inner = {later.line for later in found if heading.body <= later.line < end}
        body = (lines[number] for number in range(heading.body, end) if number not in inner)
        if not any(line.strip() and not UNDERLINE.fullmatch(line) for line in body):
            return Check("changelog", "fail", f"{path.name} has an empty section for {version}."), ""
        if "unreleased" in heading.title.lower():
            return Check("changelog", "warn", f"{path.name} still calls {version} unreleased"), section
        return Check("changelog", "ok", f"{path.name}, line {heading.line + 1}: {heading.title}"), section
    hint = f'Add a heading such as "## {version} - 2025-01-31" with the changes below it.'
    return Check("changelog", "fail", f"{path.name} has no section for {version}. {hint}"), ""


def run(arguments: argparse.Namespace) -> dict[str, object]:
    """Run all checks that are not skipped and return the report."""
    folder = arguments.repo.resolve()
    if not folder.is_dir():
        raise CannotCheckError(f"--repo {arguments.repo}: there is no such folder.")
    git = Git(folder)
    top = git.run("rev-parse", "--show-toplevel")
    if top.returncode != 0 or not top.stdout.strip():
        raise CannotCheckError(f"{folder} is not in a git work tree: {top.stderr.strip()}")
    commit = git.text("rev-parse", "--verify", "--quiet", "HEAD")
    if not commit:
        raise CannotCheckError(f"the repository of {folder} has no commit yet.")
    branch = git.text("symbolic-ref", "--quiet", "--short", "HEAD")
    skipped = set(arguments.skip)
    wanted = arguments.version.removeprefix("v") if arguments.version else None
    version, notes = wanted, ""

    results: list[Check] = []
    for name in CHECKS:
        if name in skipped:
            results.append(Check(name, "skip", "left out with --skip"))
        elif name == "clean-tree":
            results.append(check_clean_tree(git, allow_untracked=arguments.allow_untracked))
        elif name == "unfinished":
            results.append(check_unfinished(git, folder))
        elif name == "branch":
            results.append(check_branch(branch, arguments.branch))
        elif name == "upstream":
            results.append(check_upstream(git, branch))
        elif name == "version":
            check, version = check_version(folder, arguments.version_file, wanted)
            results.append(check)
        elif version is None:
            results.append(Check(name, "skip", "the version is not known"))
        elif name == "tag":
            results.append(check_tag(git, version, arguments.tag_prefix, commit))
        else:
            places = [folder, Path(top.stdout.strip())]
            check, notes = check_changelog(places, arguments.changelog, version)
            results.append(check)
    bad = {"fail", "warn"} if arguments.strict else {"fail"}
    return {
        "ok": not any(check.status in bad for check in results),
        "repository": str(folder),
        "branch": branch,
        "commit": commit,
        "version": version,
        "checks": [asdict(check) for check in results],
        "notes": notes,
    }


def version_argument(value: str) -> str:
    """Accept a version number for argparse."""
    if not VERSION.fullmatch(value.removeprefix("v")):
        raise argparse.ArgumentTypeError(f"{value!r} is not a version such as 1.4.0")
    return value


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    result = argparse.ArgumentParser(
        prog="preflight.py",
        description="Check that a service is ready to be released. Only reads; does not use the network.",
        epilog="exit codes: 0 ready (warnings allowed), 1 a check failed, 2 the checks could not be run",
    )
    result.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="folder of the service (default: .)")
    result.add_argument("--version", type=version_argument, metavar="X.Y.Z", help="the version to be released")
    result.add_argument(
        "--version-file",
        action="append",
        default=[],
        metavar="FILE",
        help="file that states the version, relative to --repo; repeatable (default: the usual manifests)",
    )
    result.add_argument("--changelog", metavar="FILE", help="changelog, relative to --repo (default: usual names)")
    result.add_argument("--branch", metavar="NAME", help="fail unless this branch is checked out")
    result.add_argument("--tag-prefix", default="v", metavar="TEXT", help="start of tag names (default: v)")
    result.add_argument("--allow-untracked", action="store_true", help="accept untracked files")
    result.add_argument("--skip", action="append", default=[], choices=CHECKS, help="repeatable")
    result.add_argument("--strict", action="store_true", help="warnings count as failures")
    result.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    return result


def main(argv: list[str] | None = None) -> int:
    """Run the checks and return the exit code."""
    arguments = parser().parse_args(argv)
    sys.stdout.reconfigure(errors="backslashreplace")
    try:
        report = run(arguments)
    except CannotCheckError as error:
        print(f"preflight: {error}", file=sys.stderr)
        return 2
    if arguments.json:
        print(json.dumps(report, indent=2))
    else:
        for check in report["checks"]:
            print(f"{check['status'].upper():<5} {check['check']:<11} {check['detail']}")
        verdict = "READY" if report["ok"] else "NOT READY"
        print(f"{verdict}: version {report['version']}, commit {report['commit'][:12]}")
    return 0 if report["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
