"""What an agent's state holds of skills: plain JSON, joined by reducers, for parallel calls and any checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentState
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from skillbelt.active import HeldSkill, Reading, Sight, merge_active, merge_held

__all__ = ["ACTIVE", "HELD", "MARK", "SkillState", "held_skills", "read_message", "sight", "text_of"]

ACTIVE = "active_skills"
HELD = "skills_held"
MARK = "skillbelt"
"""Key of what this package notes on messages for itself; never sent to a provider and never trusted as a text."""


class SkillState(AgentState[Any]):
    """State of an agent with skills.

    Attributes:
        active_skills: The skills in use: name, digest, when. A caller may name skills to be in use from the start;
            ``None`` asks for the skills to be read again.
        skills_held: What the middleware needs to keep them in use. Neither input nor output of an agent.
    """

    active_skills: NotRequired[Annotated[list[dict[str, Any]], merge_active]]
    # The reducer comes last: LangGraph takes the last of the annotations for it.
    skills_held: NotRequired[Annotated[dict[str, HeldSkill], PrivateStateAttr, merge_held]]


def held_skills(state: Any) -> Mapping[str, HeldSkill]:
    """Return the held records of a state; none when it is no state of an agent with skills.

    Args:
        state: As hooks and tools are given it.
    """
    held: Mapping[str, HeldSkill] | None = state.get(HELD) if isinstance(state, Mapping) else None
    return held or {}


def read_message(message: BaseMessage) -> Reading | None:
    """Return the key and text of a message that can hold a skill: a tool's result, or one of our own.

    Args:
        message: Any message.
    """
    if isinstance(message, ToolMessage):
        return Reading(message.tool_call_id, text_of(message))
    if isinstance(message, HumanMessage) and message.id and MARK in message.additional_kwargs:
        return Reading(message.id, text_of(message).partition("\n")[2])  # after the line that says who chose it
    return None


def text_of(message: BaseMessage) -> str:
    """Return the text of a message, blocks joined.

    Args:
        message: Any message.
    """
    content = message.content
    if isinstance(content, str):
        return content
    parts = (part if isinstance(part, str) else part.get("text", "") for part in content)
    return "".join(part for part in parts if isinstance(part, str))


def sight() -> Sight[BaseMessage]:
    """Return a finder for LangChain's messages."""
    return Sight(read_message)
