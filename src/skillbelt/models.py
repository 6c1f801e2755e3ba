"""The values skillbelt passes around: frozen, comparable, free of behaviour and of frameworks.

A value never reads a file. Where skills live is :mod:`skillbelt.sources`, how text for a model is made is
:mod:`skillbelt.render`.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from skillbelt.errors import ResourceTypeError
from skillbelt.switches import invocable

__all__ = [
    "Activation",
    "Catalog",
    "Diagnostic",
    "Frontmatter",
    "JsonValue",
    "Match",
    "ReloadDiff",
    "Resource",
    "ResourceInfo",
    "ResourceKind",
    "ScriptEnd",
    "ScriptResult",
    "Severity",
    "Skill",
    "SkillSummary",
]

Severity = Literal["error", "warning", "info"]
ResourceKind = Literal["script", "reference", "asset", "other"]
ScriptEnd = Literal["exit", "timeout", "cancelled", "output", "disk", "memory", "processes"]


class _Value(BaseModel):
    """A frozen value; unknown fields are a programming error."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class Diagnostic(_Value):
    """One thing worth saying about a skill; errors keep it from loading, the rest does not.

    Attributes:
        code: Stable code of ``skill-format.md``, e.g. ``"name-dir-mismatch"``.
        severity: ``"error"`` (not loadable under the profile used), ``"warning"`` or ``"info"``.
        message: What was found and what was expected, in one sentence.
        path: The file or folder it speaks of; absolute when it is on disk.
        line: 1-based line in that file, where there is one.
        field: Frontmatter field, where there is one.
        hint: What to change.
    """

    code: str
    severity: Severity
    message: str
    path: str | None = None
    line: int | None = None
    field: str | None = None
    hint: str | None = None

    def __str__(self) -> str:
        where = f"{self.path or 'SKILL.md'}{f':{self.line}' if self.line else ''}"
        hint = f" {self.hint}" if self.hint else ""
        return f"{where}: {self.severity}[{self.code}] {self.message}{hint}"


class Frontmatter(_Value):
    """The YAML block of a SKILL.md; every scalar is its source text (``1.10`` stays ``"1.10"``).

    Attributes:
        name: The skill's name, NFKC, as the profile wants it (SPEC-006 to SPEC-010).
        description: What it does and when to use it (SPEC-011); stripped, inner newlines kept.
        license: Name of the licence, or of a bundled licence file (SPEC-014).
        compatibility: Environment requirements in prose (SPEC-015).
        metadata: String to string (SPEC-018); nested values are compact JSON text.
        allowed_tools: Patterns such as ``"Bash(git:*)"`` in file order; a hint, never a permission (SPEC-021).
        extra: Every field the specification does not know, kept; nested values keep their structure.
    """

    name: str
    description: str
    license: str | None = None
    compatibility: str | None = None
    metadata: Mapping[str, str] = Field(default_factory=dict)
    allowed_tools: tuple[str, ...] = ()
    extra: Mapping[str, JsonValue] = Field(default_factory=dict)


class SkillSummary(_Value):
    """Level 1 of a skill: what the catalog needs and where it came from, without its body.

    Attributes:
        name: Name to ask for it by; with a namespace it is ``namespace/short-name``.
        description: As in the frontmatter.
        namespace: ``None`` for skills of the open format (conflict C1).
        source: Label of the source that holds it, e.g. the root folder.
        location: Absolute path of the SKILL.md when it is on disk.
        model_invocable: ``False`` when the author set ``disable-model-invocation``: kept out of the catalog.
        user_invocable: ``False`` when the author set ``user-invocable: false``.
    """

    name: str
    description: str
    namespace: str | None = None
    source: str | None = None
    location: str | None = None
    model_invocable: bool = True
    user_invocable: bool = True


class Skill(_Value):
    """Level 2 of a skill: its frontmatter and its instructions.

    Attributes:
        frontmatter: The parsed YAML block.
        instructions: The body, exactly as it stands after the closing fence (S1-03, S3-15).
        namespace: See :class:`SkillSummary`.
        location: Absolute path of the SKILL.md when it is on disk.
        digest: sha256 (hex) of the bytes of SKILL.md.
        source: Label of the source that holds it.
        body_offset: Byte of SKILL.md at which the instructions start; ``None`` when it is not UTF-8.
    """

    frontmatter: Frontmatter
    instructions: str
    namespace: str | None = None
    location: str | None = None
    digest: str = ""
    source: str | None = None
    body_offset: int | None = 0

    @property
    def name(self) -> str:
        """The qualified name, e.g. ``"acme/pdf"``, or the plain one when there is no namespace."""
        return f"{self.namespace}/{self.short_name}" if self.namespace else self.short_name

    @property
    def short_name(self) -> str:
        """The name without its namespace."""
        return self.frontmatter.name

    @property
    def description(self) -> str:
        """What the skill does and when to use it."""
        return self.frontmatter.description

    def summary(self) -> SkillSummary:
        """Return level 1 of this skill."""
        by_model, by_user = invocable(self.frontmatter.extra)
        return SkillSummary(
            name=self.name,
            description=self.description,
            namespace=self.namespace,
            source=self.source,
            location=self.location,
            model_invocable=by_model,
            user_invocable=by_user,
        )


class ResourceInfo(_Value):
    """A bundled file as a listing shows it.

    Attributes:
        path: Relative to the skill folder, with ``/`` (S1-29).
        kind: By its top folder: ``scripts/``, ``references/``, ``assets/``, anything else is ``"other"``.
        size: Bytes.
        executable: Whether a mode bit says so; nothing in skillbelt relies on it.
    """

    path: str
    kind: ResourceKind
    size: int
    executable: bool = False


class Resource(_Value):
    """Bytes of a bundled file, bounded.

    Attributes:
        info: The file.
        data: The bytes read.
        offset: Where in the file they start (bytes).
        total: Size of the whole file (bytes).
        truncated: Whether more bytes follow after these.
    """

    info: ResourceInfo
    data: bytes
    offset: int = 0
    total: int = 0
    truncated: bool = False

    @property
    def media_type(self) -> str:
        """The media type by the file's name, ``application/octet-stream`` when it is unknown."""
        return mimetypes.guess_type(self.info.path)[0] or "application/octet-stream"

    def text(self) -> str:
        """Return the bytes as text; a character cut by the bound is left to the next page.

        Raises:
            ResourceTypeError: The bytes are not UTF-8 text.
        """
        data = self.data
        if self.offset == 0:
            data = data.removeprefix(b"\xef\xbb\xbf")
        else:
            # A page that starts inside a character leaves that one to the page before.
            data = data[:3].lstrip(bytes(range(0x80, 0xC0))) + data[3:]
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            if not (self.truncated and error.reason == "unexpected end of data"):
                raise ResourceTypeError(
                    f"{self.info.path!r} is binary ({self.media_type}, {self.total} bytes), not text."
                ) from None
            text = data[: error.start].decode("utf-8")
        if "\x00" in text:
            raise ResourceTypeError(f"{self.info.path!r} is binary ({self.media_type}, {self.total} bytes), not text.")
        return text


class Activation(_Value):
    """A skill that was selected: its text for the model and what comes with it.

    Attributes:
        skill: The skill, freshly read.
        text: What the model is given: the body in its wrapper, the folder, the files.
        resources: The bundled files.
        truncated: Whether the text was cut; then it says so and how to read on.
        generation: What the skill's folder was then: give it to ``router.read`` to read files of the same moment.
    """

    skill: Skill
    text: str
    resources: tuple[ResourceInfo, ...] = ()
    truncated: bool = False
    generation: str = ""


class Catalog(_Value):
    """Level 1 as the model sees it.

    Attributes:
        text: The catalog block, ``""`` when there are no skills.
        shown: Names that are in it, in order.
        omitted: Names that did not fit.
        shortened: Names whose description was cut to fit, longest cut first.
        tokens: Size of ``text`` by the budget's counter.
        truncated: Whether anything was cut or omitted; the text then says so.
    """

    text: str
    shown: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()
    shortened: tuple[str, ...] = ()
    tokens: int = 0
    truncated: bool = False


class Match(_Value):
    """One answer of a search.

    Attributes:
        summary: The skill.
        score: Higher is better; comparable within one query only.
        why: The query's words that were found.
    """

    summary: SkillSummary
    score: float
    why: tuple[str, ...] = ()


class ReloadDiff(_Value):
    """What a reload changed, as sorted names.

    Attributes:
        added: Names that are new.
        removed: Names that are gone.
        changed: Names whose SKILL.md is another one now.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


class ScriptResult(_Value):
    """What a run of a script came to.

    Attributes:
        exit_code: As :mod:`subprocess` has it: negative is the signal that ended it.
        stdout: What it printed, both ends kept when it was too long, secrets left out.
        stderr: The same of its second stream.
        timed_out: Whether it was ended for taking too long.
        truncated: Whether output is missing; the text then says how much.
        duration: Seconds from the request to the answer.
        files: The files it left in its working folder.
        reason: Why it ended: ``"exit"`` by itself, else which limit it passed, or ``"cancelled"``.
        contents: Bytes of those files, by path, as far as the runner's bound goes.
    """

    exit_code: int
    stdout: str = ""
    stderr: str = ""
    timed_out: bool = False
    truncated: bool = False
    duration: float = 0.0
    files: tuple[ResourceInfo, ...] = ()
    reason: ScriptEnd = "exit"
    contents: Mapping[str, bytes] = Field(default_factory=dict, repr=False)

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with exit code 0."""
        return self.reason == "exit" and self.exit_code == 0
