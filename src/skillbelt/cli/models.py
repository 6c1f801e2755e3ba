"""From ``--model provider:name`` to a model of either framework, and from a provider's failure to one sentence.

Nothing here knows a provider: LangChain has a registry of its own, LlamaIndex has a package per provider. Keys and
addresses come from the environment, as each provider's package reads them; they are never options and never printed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from skillbelt.cli.console import line
from skillbelt.cli.folders import CommandError

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
    provider, _, name = (part.strip() for part in model.partition(":"))
    if not name or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", provider):
        raise CommandError(f"{model!r} is not a model; give provider:name, such as openai:gpt-4o-mini.")
    return provider.lower(), name


def langchain_model(model: str) -> BaseChatModel:
    """Return a chat model as ``langchain.chat_models.init_chat_model`` makes it.

    Raises:
        CommandError: The provider is unknown or its package is not installed.
    """
    from langchain.chat_models import init_chat_model

    provider, name = split_model(model)
    try:
        chat: BaseChatModel = init_chat_model(name, model_provider=provider)
    except ImportError as error:
        # LangChain names the package itself, which is not always langchain-<provider>: bedrock is langchain-aws.
        found = re.search(r"pip install [\w\[\]-]+", str(error))
        command = found[0] if found else f"pip install langchain-{provider.replace('_', '-')}"
        raise CommandError(f"LangChain needs a package for {provider!r} models; install it with: {command}") from error
    except ValueError as error:
        if "provider" not in str(error):
            raise
        raise CommandError(f"LangChain does not know this provider. {str(error).rstrip('.')}.") from error
    return chat


def llama_index_model(model: str) -> LLM:
    """Return an LLM of the package ``llama-index-llms-<provider>``.

    Raises:
        CommandError: The package is not installed, or it is not clear which of its classes is meant.
    """
    provider, name = split_model(model)
    module_name = f"llama_index.llms.{provider.replace('-', '_')}"
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name not in ("llama_index.llms", module_name):
            raise
        package = f"llama-index-llms-{provider.replace('_', '-')}"
        raise CommandError(
            f"LlamaIndex needs a package for {provider!r} models; install it with: pip install {package}"
        ) from error
    kind = _llm_class(module, provider)
    llm: LLM = kind(model=name, **_options(kind))
    return llm


def _llm_class(module: ModuleType, provider: str) -> type[LLM]:
    """Return the class of a provider's package that is called like the provider, else its only one."""
    from llama_index.core.llms.llm import LLM

    kinds = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, LLM) and value.__module__.startswith(module.__name__)
    }
    wanted = re.sub(r"[-_]", "", provider)
    fitting = [kind for name, kind in kinds.items() if name.casefold() == wanted] or list(kinds.values())
    if len(fitting) != 1:
        found = ", ".join(sorted(kinds)) or "none"
        raise CommandError(f"{module.__name__} has no LLM class called like {provider!r} (it has: {found}).")
    return fitting[0]


def _options(kind: type[LLM]) -> dict[str, Any]:
    """Return what an LLM class must be told beyond the model's name."""
    options: dict[str, Any] = {}
    # LangChain and the openai package read OPENAI_BASE_URL; LlamaIndex reads OPENAI_API_BASE only.
    base = os.environ.get("OPENAI_BASE_URL")
    if base and kind.__name__.startswith("OpenAI") and not os.environ.get("OPENAI_API_BASE"):
        options["api_base"] = base
    # Classes for servers of any make assume the least; without tool calls there is nothing to show here.
    for flag in ("is_chat_model", "is_function_calling_model"):
        if flag in kind.model_fields:
            options[flag] = True
    return options


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
