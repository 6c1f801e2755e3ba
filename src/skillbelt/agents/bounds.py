"""The limits of a run as exceptions, the same for both frameworks."""

from __future__ import annotations

from skillbelt.errors import AgentLimitError

__all__ = ["too_late", "too_many"]


def too_many(allowed: int) -> AgentLimitError:
    """Return the exception for one call of the model too many."""
    return AgentLimitError(
        f"The run was ended after {allowed} call{'' if allowed == 1 else 's'} of the model; "
        "limits.model_calls allows no more.",
        limit="model_calls",
        allowed=allowed,
    )


def too_late(seconds: float) -> AgentLimitError:
    """Return the exception for a run that takes longer than it may."""
    return AgentLimitError(
        f"The run was ended after {seconds:g} seconds; limits.deadline allows no more.",
        limit="deadline",
        allowed=seconds,
    )
