"""A tool free of any framework: its arguments, its one call, and who is told of a failure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from skillbelt.errors import (
    InvalidSkillError,
    LimitError,
    ResourceError,
    ScriptError,
    SkillNotFoundError,
    ToolArgumentError,
)
from skillbelt.media import Medium

__all__ = ["TOLD", "Arguments", "ToolResult", "ToolSpec", "failure_text"]

_FAILURE = 1000

TOLD: tuple[type[Exception], ...] = (
    SkillNotFoundError,
    InvalidSkillError,
    ResourceError,
    LimitError,
    ScriptError,
    ToolArgumentError,
)
"""Failures that a model can cause or mend: they are told to it; nothing else is."""


class ToolResult(NamedTuple):
    """What a call gives: text for the model, JSON-able facts for the host, and sometimes more than text.

    Attributes:
        text: For the model.
        artifact: For the host.
        media: For models that take pictures and documents, when the host said that its model does.
    """

    text: str
    artifact: dict[str, Any]
    media: tuple[Medium, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool, free of any framework.

    Attributes:
        name: Matches ``^[a-zA-Z0-9_-]{1,64}$``.
        description: At most 1024 characters, which every framework takes.
        args: Model of the arguments; its JSON Schema is what a model is sent.
        run: The work, called with validated arguments.
        read_only: Whether it changes nothing.
        metadata: Facts for the host, e.g. ``{"skill": "mail"}``.
    """

    name: str
    description: str
    args: type[BaseModel]
    run: Callable[..., ToolResult]
    read_only: bool = True
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def call(self, /, **arguments: Any) -> ToolResult:
        """Validate the arguments and run.

        Args:
            **arguments: As the schema has them.

        Raises:
            ToolArgumentError: An argument is unknown, missing or of the wrong type (S3-61).
        """
        try:
            given = self.args.model_validate(arguments)
        except ValidationError as error:
            raise self.argument_error(error) from error
        return self.run(**{name: getattr(given, name) for name in type(given).model_fields})

    async def acall(self, /, **arguments: Any) -> ToolResult:
        """Call in a thread; a task that is cancelled ends the script it started before it lets go.

        Args:
            **arguments: As the schema has them.
        """
        from skillbelt.running import in_thread

        return await in_thread(self.call, **arguments)

    def argument_error(self, error: ValidationError) -> ToolArgumentError:
        """Return what a model is told when its arguments do not fit the schema.

        Args:
            error: What pydantic found.
        """
        problems = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in error.errors())
        return ToolArgumentError(
            f"{self.name} was called with arguments it does not take: {problems}. It takes: {self._signature()}."
        )

    def _signature(self) -> str:
        fields = self.args.model_fields.items()
        return ", ".join(f"{name}{'' if f.is_required() else ' (optional)'}" for name, f in fields) or "none"


def failure_text(error: Exception) -> str:
    """Return a failure as a model is told it: bounded, on its own lines, no traceback.

    Args:
        error: One of :data:`TOLD`.
    """
    text = str(error).strip() or type(error).__name__
    return text if len(text) <= _FAILURE else text[: _FAILURE - 1] + "…"


class Arguments(BaseModel):
    """Base of the arguments of every tool: nothing unknown is taken (S3-61)."""

    model_config = ConfigDict(extra="forbid", frozen=True)
