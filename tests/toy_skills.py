"""A tiny hand-made skill set with the texts of skillbelt's tools, for tests of the offline models only.

Remade by hand, so that a change of the real texts shows up as a difference and not as the same mistake twice.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape

PDF = """# PDF forms

Works on one file at a time.

## Fill a form

1. Run `scripts/fields.py` to list the fields.
2. Map each value to a field.
3. Save under a new name.

For checkboxes and radio buttons see [the details](references/checkboxes.md).
Where the format comes from: references/history.md. The logo is assets/logo.png.

## Merge files

1. Sort the files.
2. Join them.
"""

BODIES = {
    "pdf-forms": ("Fills PDF forms & lists their fields. Use when a form must be completed.", PDF),
    "mail": ("Answers e-mails in the house tone.", "# Mail\n\nGreet by name.\nBe brief.\n"),
    "deploy-to-staging": ("Deploys a service to staging.", "# Deploy\n\n1. Build.\n2. Ship.\n"),
}

FILES = {
    "pdf-forms": {
        "references/checkboxes.md": (
            "# Checkboxes\n\n| value | meaning |\n|---|---|\n| /Yes | a ticked checkbox |\n| /Off | an empty one |\n\n"
            "## Radio buttons\n\nRadio buttons of one group share one name.\n"
        ),
        "references/history.md": "The format is from 1993.\n",
        "references/unmentioned.md": "Checkbox checkbox checkbox.\n",
        "scripts/fields.py": "print('fields')\n",
        "assets/logo.png": "",
    },
    "mail": {},
    "deploy-to-staging": {},
}


def as_files() -> dict[str, str]:
    """The same skills as files, for a real source."""
    files = {f"{n}/SKILL.md": f"---\nname: {n}\ndescription: {d}\n---\n{body}" for n, (d, body) in BODIES.items()}
    return files | {f"{n}/{path}": text for n, own in FILES.items() for path, text in own.items()}


def catalog(*names: str, truncated: bool = False) -> str:
    lines = [f'<skill name="{escape(n)}">{escape(BODIES[n][0])}</skill>' for n in names or BODIES]
    cut = ["<truncated>There are more skills; use search_skills.</truncated>"] if truncated else []
    return "\n".join(["<available_skills>", *lines, *cut, "</available_skills>"])


SYSTEM = "You help.\n\n" + catalog()


def load_skill(name: str) -> str:
    """Load a skill's instructions."""
    if name not in BODIES:
        return f"There is no skill {name!r}. Did you mean 'pdf-forms'?"
    listing = "\n".join(f"<file>{escape(path)}</file>" for path in FILES[name])
    return (
        f'<skill_content name="{name}">\n{BODIES[name][1]}\nSkill directory: /skills/{name}\n'
        f"<skill_resources>\n{listing}\n</skill_resources>\n</skill_content>"
    )


def read_skill_resource(name: str, path: str) -> str:
    """Read a file of a skill."""
    text = FILES.get(name, {}).get(path)
    if text is None:
        return f"The skill {name!r} has no file {path!r}. Did you mean 'references/checkboxes.md'?"
    return f'<skill_resource name="{name}" path="{path}">\n{text}\n</skill_resource>'


def search_skills(query: str) -> str:
    """Find skills."""
    return catalog("pdf-forms")


TOOLS: dict[str, Callable[..., str]] = {"load_skill": load_skill, "read_skill_resource": read_skill_resource}
