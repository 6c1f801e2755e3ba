"""From a provider and a name to a model of either framework.

Nothing here knows a provider: LangChain has a registry of its own, LlamaIndex has a package per provider. Keys and
addresses come from the environment, as each provider's package reads them; they are never options. The offline model
is the one of :mod:`skillbelt.testing`, which is no LLM.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from skillbelt.agents.problems import refusal
from skillbelt.agents.schema import OFFLINE, ModelOptions
from skillbelt.errors import AgentConfigError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from llama_index.core.llms.llm import LLM

    from skillbelt.agents.config import AgentConfig

__all__ = ["chosen", "langchain_model", "llama_index_model", "split_model"]

_Model = TypeVar("_Model")
_PLAIN = ModelOptions()


def split_model(model: str) -> tuple[str, str]:
    """Return provider and name of ``provider:name``.

    Raises:
        AgentConfigError: It does not have both.

    Example:
        >>> split_model("openai:gpt-4o-mini")
        ('openai', 'gpt-4o-mini')
    """
    provider, _, name = (part.strip() for part in model.partition(":"))
    if not name or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", provider):
        raise AgentConfigError(f"{model!r} is not a model; give provider:name, such as openai:gpt-4o-mini.")
    return provider.lower(), name


def langchain_model(provider: str, name: str | None = None, options: ModelOptions = _PLAIN) -> BaseChatModel:
    """Return a chat model as ``langchain.chat_models.init_chat_model`` makes it.

    Args:
        provider: ``"offline"``, or one that LangChain knows.
        name: The model's name.
        options: What it is made with.

    Raises:
        AgentConfigError: The provider is unknown or its package is not installed.
        MissingExtraError: LangChain is not installed.
    """
    if provider == OFFLINE:
        from skillbelt.testing import OfflineChatModel

        return OfflineChatModel()
    from langchain.chat_models import init_chat_model

    try:
        chat: Any = init_chat_model(name, model_provider=provider, **options.model_dump(exclude_none=True))
    except ImportError as error:
        # LangChain names the package itself, which is not always langchain-<provider>: bedrock is langchain-aws.
        found = re.search(r"pip install [\w\[\]-]+", str(error))
        command = found[0] if found else f"pip install langchain-{provider.replace('_', '-')}"
        raise AgentConfigError(
            f"LangChain needs a package for {provider!r} models; install it with: {command}"
        ) from error
    except ValueError as error:
        if "provider" not in str(error):
            raise
        raise AgentConfigError(f"LangChain does not know this provider. {str(error).rstrip('.')}.") from error
    return cast("BaseChatModel", chat)


def llama_index_model(provider: str, name: str | None = None, options: ModelOptions = _PLAIN) -> LLM:
    """Return an LLM of the package ``llama-index-llms-<provider>``.

    Args:
        provider: ``"offline"``, or one there is such a package of.
        name: The model's name.
        options: What it is made with.

    Raises:
        AgentConfigError: The package is not installed, it is not clear which of its classes is meant, or that class
            does not take an option.
        MissingExtraError: LlamaIndex is not installed.
    """
    if provider == OFFLINE:
        from skillbelt.testing import OfflineLLM

        return OfflineLLM()
    module_name = f"llama_index.llms.{provider.replace('-', '_')}"
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name not in ("llama_index.llms", module_name):
            raise
        package = f"llama-index-llms-{provider.replace('_', '-')}"
        raise AgentConfigError(
            f"LlamaIndex needs a package for {provider!r} models; install it with: pip install {package}"
        ) from error
    kind = _llm_class(module, provider)
    llm: LLM = kind(model=name, **_environment(kind), **_taken(kind, options))
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
        raise AgentConfigError(f"{module.__name__} has no LLM class called like {provider!r} (it has: {found}).")
    return fitting[0]


def _environment(kind: type[LLM]) -> dict[str, Any]:
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


def _taken(kind: type[LLM], options: ModelOptions) -> dict[str, Any]:
    """Return options as a class takes them; what it has no field for goes to the request as it is."""
    taken: dict[str, Any] = {}
    for key, value in options.model_dump(exclude_none=True).items():
        if key in kind.model_fields:
            taken[key] = value
        elif "additional_kwargs" in kind.model_fields and key in ("top_p", "seed"):
            taken.setdefault("additional_kwargs", {})[key] = value
        else:
            raise AgentConfigError(f"The class {kind.__name__} of LlamaIndex takes no option {key!r}; leave it out.")
    return taken


def chosen(
    config: AgentConfig, model: _Model | str | None, make: Callable[[str, str | None, ModelOptions], _Model]
) -> _Model:
    """Return the model of an agent, or the one the host wants instead.

    Args:
        config: The agent.
        model: A model, ``"provider:name"``, or ``None`` for that of the file.
        make: :func:`langchain_model` or :func:`llama_index_model`.

    Raises:
        AgentConfigError: It cannot be had; of the file's the message has the line.
    """
    if isinstance(model, str):
        provider, name = (OFFLINE, None) if model == OFFLINE else split_model(model)
        return make(provider, name, config.options)
    if model is not None:
        return model
    try:
        return make(config.provider, config.model, config.options)
    except AgentConfigError as error:
        raise refusal([config.problem(("provider",), str(error))]) from error
