"""From ``--model provider:name`` to a model of either framework, and from a provider's failure to one sentence.

How a model is made is settled in :mod:`skillbelt.agents.models`. Keys and addresses come from the environment, as each
provider's package reads them; they are never options and never printed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from skillbelt.agents import models
from skillbelt.cli.console import line
from skillbelt.cli.folders import CommandError
from skillbelt.errors import AgentConfigError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from llama_index.core.llms.llm import LLM

__all__ = ["failure", "langchain_model", "llama_index_model", "split_model"]

_LONGEST = 200


def split_model(model: str) -> tuple[str, str]:
    """Return provider and name.

    Raises:
        CommandError: It does not have both.
    """
    with _usage():
        return models.split_model(model)


def langchain_model(model: str) -> BaseChatModel:
    """Return a chat model as ``langchain.chat_models.init_chat_model`` makes it.

    Raises:
        CommandError: The provider is unknown or its package is not installed.
    """
    with _usage():
        return models.langchain_model(*models.split_model(model))


def llama_index_model(model: str) -> LLM:
    """Return an LLM of the package ``llama-index-llms-<provider>``.

    Raises:
        CommandError: The package is not installed, or it is not clear which of its classes is meant.
    """
    with _usage():
        return models.llama_index_model(*models.split_model(model))


@contextmanager
def _usage() -> Iterator[None]:
    """What a file would be blamed for is, on a command line, an option."""
    try:
        yield
    except AgentConfigError as error:
        raise CommandError(str(error)) from error


# --- failures ---------------------------------------------------------------------------------------------------------


def failure(error: Exception, model: str) -> CommandError:
    """Return the sentence for an exception that a model, or the making of one, raised.

    Args:
        error: Whatever came out of the framework; what it wraps is looked at too.
        model: As typed, or what stands for it.
    """
    chain = list(_chain(error))
    status = next((s for e in chain if isinstance(s := getattr(e, "status_code", None), int)), None)
    names = " ".join(type(e).__name__ for e in chain)
    said = _quoted(next((e for e in chain if getattr(e, "status_code", None) is not None), error))
    if status in (401, 403) or "Authentication" in names or re.search("api.?key|credential", said, re.IGNORECASE):
        return CommandError(
            f"{model}: there is no valid key; set the provider's variable, like OPENAI_API_KEY. {said}", 1
        )
    if "Unknown model" in said:
        # LlamaIndex keeps a list of OpenAI's models, though any server may be at the other end.
        return CommandError(
            f"{model}: this class knows the models of its provider only; for another server that speaks its protocol "
            f"use --model openai-like:NAME. {said}",
            1,
        )
    if "Timeout" in names:
        return CommandError(f"{model}: the provider did not answer in time; try again later. {said}", 1)
    if "Connect" in names:
        return CommandError(f"{model}: the provider cannot be reached; check the network and the base URL. {said}", 1)
    return CommandError(f"{model}: the run failed; --debug shows where. {said}", 1)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _quoted(error: BaseException) -> str:
    """Return an exception in parentheses, bounded, without any key of the environment."""
    text = line(str(error)) or "no reason was given"
    for variable, value in os.environ.items():
        if len(value) >= 8 and re.search(r"KEY|TOKEN|SECRET|PASSWORD", variable, re.IGNORECASE):
            text = text.replace(value, f"${variable}")
    return f"({type(error).__name__}: {text if len(text) <= _LONGEST else text[:_LONGEST] + ' …'})"
