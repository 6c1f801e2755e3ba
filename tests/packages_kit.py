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
    folder = os.fsencode(folder)
    for path, content in files.items():
        whole = os.path.join(folder, os.fsencode(path))
        Path(os.fsdecode(os.path.dirname(whole))).mkdir(parents=True, exist_ok=True)
        with open(whole, "wb") as out:
            out.write(content.encode() if isinstance(content, str) else content)


def on_disk(folder):
    """Every file below a folder, by the bytes of its path: content, and whether it is executable."""
    found = {}
    root = os.fsencode(folder)
    for place, _, names in os.walk(root):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, root)] = (file.read(), bool(os.stat(path).st_mode & 0o111))
    return found


def of_package(package):
    """The same of a package."""
    return {os.fsencode(path): (content.data, content.executable) for path, content in package.contents().items()}


def codes(error):
    """The violations of an error as pairs of path and code."""
    return [(violation["path"], violation["code"]) for violation in error.details["violations"]]
