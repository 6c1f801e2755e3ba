"""How many tokens a catalog may take, and how they are counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from skillbelt.limits import check_bytes
from skillbelt.text import estimate_tokens

__all__ = ["TokenBudget"]


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """How many tokens the catalog may take.

    Attributes:
        tokens: Upper bound for the catalog's text.
        count: Counts the tokens of a text.

    Raises:
        LimitError: ``tokens`` is not a positive whole number.
    """

    tokens: int
    count: Callable[[str], int] = estimate_tokens

    def __post_init__(self) -> None:
        check_bytes("tokens", self.tokens)
