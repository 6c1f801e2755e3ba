"""Skills and documents for the tests of packages."""

import os
from pathlib import Path

TEXT = "---\nname: mail\ndescription: Sorts mail.\n---\nBegin.\n"


def skill_text(name="mail", description="Sorts mail.", more="", body="Begin.\n"):
    """A SKILL.md."""
    return f"---\nname: {name}\ndescription: {description}\n{more}---\n{body}"


def document(**changes):
    """A valid document; a change of ``None`` removes a field, ``files`` are added to SKILL.md."""
    files = {"SKILL.md": {"text": TEXT}} | changes.pop("files", {})
    whole = {
        "format": "skillbelt.package/1",
        "type": "skill",
        "name": "mail",
        "description": "Sorts mail.",
        "instructions": "Begin.\n",
        "files": {key: entry for key, entry in files.items() if entry is not None},
    }
    whole |= {field.replace("_", "-") if field == "allowed_tools" else field: v for field, v in changes.items()}
    return {field: value for field, value in whole.items() if value is not None}


def write(folder, files):
    """Files on disk: path (text or bytes) to content (text or bytes)."""
    for path, content in files.items():
        whole = Path(folder) / os.fsdecode(path)
        whole.parent.mkdir(parents=True, exist_ok=True)
        whole.write_bytes(content.encode() if isinstance(content, str) else content)


def on_disk(folder):
    """Every file below a folder, by the bytes of its path: content, and whether it is executable."""
    files = [path for path in Path(folder).rglob("*") if path.is_file()]
    return {
        os.fsencode(path.relative_to(folder)): (path.read_bytes(), bool(path.stat().st_mode & 0o111)) for path in files
    }


def of_package(package):
    """The same of a package."""
    return {os.fsencode(path): (content.data, content.executable) for path, content in package.contents().items()}


def codes(error):
    """The violations of an error as pairs of path and code."""
    return [(violation["path"], violation["code"]) for violation in error.details["violations"]]
