"""What is told of skills while an agent runs: stream events, callbacks, and spans when OpenTelemetry is there.

Every fact is told once, as a plain dict, to three listeners: ``stream_mode="custom"`` (and ``astream_events`` as custom
events), a callback of the host, and the current span. Texts of skills are never in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, Protocol

from langchain_core.callbacks.manager import adispatch_custom_event, dispatch_custom_event
from langchain_core.runnables.config import var_child_runnable_config

__all__ = ["Fact", "Kind", "Teller", "span"]

Kind = Literal[
    "listed", "activated", "repeated", "read", "searched", "ran", "refused", "restored", "unloaded", "unbound", "failed"
]
Fact = dict[str, Any]


class _Runtime(Protocol):
    @property
    def stream_writer(self) -> Callable[[Any], None]: ...


class Teller:
    """Tells the listeners of one middleware.

    Args:
        on_event: The host's callback, called with each fact.
    """

    def __init__(self, on_event: Callable[[Fact], None] | None = None) -> None:
        self._on_event = on_event

    def tell(self, runtime: _Runtime, facts: list[Fact]) -> None:
        """Tell some facts, from a sync hook.

        Args:
            runtime: Of the hook.
            facts: In order.
        """
        self._say(runtime, facts)
        if facts and _heard():
            for fact in facts:
                dispatch_custom_event(f"skill_{fact['event']}", fact)

    async def atell(self, runtime: _Runtime, facts: list[Fact]) -> None:
        """Tell some facts, from an async hook.

        Args:
            runtime: Of the hook.
            facts: In order.
        """
        self._say(runtime, facts)
        if facts and _heard():
            for fact in facts:
                await adispatch_custom_event(f"skill_{fact['event']}", fact)

    def _say(self, runtime: _Runtime, facts: list[Fact]) -> None:
        for fact in facts:
            runtime.stream_writer(fact)
            if self._on_event is not None:
                self._on_event(fact)


def fact(event: Kind, **facts: Any) -> Fact:
    """Return a fact; what is ``None`` is left out.

    Args:
        event: What happened.
        **facts: Names, sizes and reasons.
    """
    return {"type": "skill", "event": event, **{key: value for key, value in facts.items() if value is not None}}


def _heard() -> bool:
    """Whether anybody listens to callbacks here; without a listener a custom event is only work."""
    config = var_child_runnable_config.get()
    callbacks = config.get("callbacks") if config else None
    return bool(callbacks if isinstance(callbacks, list) else getattr(callbacks, "handlers", None))


# --- spans ------------------------------------------------------------------------------------------------------------

_NAMES = {
    "load_skill": "skill.load",
    "read_skill_resource": "skill.read",
    "search_skills": "skill.search",
    "list_skills": "skill.list",
    "unload_skill": "skill.unload",
    "run_skill_script": "skill.run",
}

_ATTRIBUTES = {
    "skill": "skillbelt.skill.name",
    "digest": "skillbelt.skill.digest",
    "tokens": "skillbelt.skill.tokens",
    "path": "skillbelt.resource.path",
    "size": "skillbelt.resource.size",
    "reason": "skillbelt.refusal.reason",
    "exit_code": "skillbelt.script.exit_code",
}


class Noted(Protocol):
    """A span, as far as it is needed here."""

    def note(self, facts: list[Fact]) -> None:
        """Put facts on the span."""
        ...


class _Span:
    def __init__(self, span: Any) -> None:
        self._span = span

    def note(self, facts: list[Fact]) -> None:
        for told in facts:
            if told["event"] != "unbound":  # a remark on the skill, not how the call ended
                self._span.set_attribute("skillbelt.outcome", told["event"])
            for key, name in _ATTRIBUTES.items():
                if key in told:
                    self._span.set_attribute(name, told[key])


class _Nothing:
    def note(self, facts: list[Fact]) -> None:
        """Nobody records."""


@contextmanager
def span(call: Mapping[str, Any]) -> Iterator[Noted]:
    """Open a span around a call of a skill tool; without opentelemetry-api, or for other tools, do nothing.

    Args:
        call: The tool call.
    """
    tracer = _tracer() if call["name"] in _NAMES else None
    if tracer is None:
        yield _Nothing()
        return
    with tracer.start_as_current_span(_NAMES[call["name"]]) as opened:
        if opened.is_recording():
            opened.set_attribute("gen_ai.tool.name", call["name"])
            opened.set_attribute("gen_ai.tool.call.id", call["id"] or "")
            yield _Span(opened)
        else:
            yield _Nothing()


def note_restored(facts: list[Fact]) -> None:
    """Record what was put back as events of the current span, which is the host's.

    Args:
        facts: The restored skills.
    """
    trace = _trace()
    if trace is not None:
        current = trace.get_current_span()
        if current.is_recording():
            for told in facts:
                marked = {name: told[key] for key, name in _ATTRIBUTES.items() if key in told}
                current.add_event(f"skill.{told['event']}", attributes=marked)


def _trace() -> Any:
    try:
        from opentelemetry import trace  # optional
    except ImportError:
        return None
    return trace


def _tracer() -> Any:
    trace = _trace()
    return trace.get_tracer("skillbelt") if trace is not None else None
