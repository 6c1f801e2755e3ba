"""What the tests of configured agents share: a registry with packages, a file that names them, both frameworks.

Packages come from the real registry on loopback; only the model is a fake, so that each request can be looked at.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage

from registry_loopback import Url, running_registry
from skillbelt.agents import AgentConfig, load_agents, parse_agents
from skillbelt.packages import pack
from skillbelt.packages.client import RegistryClient
from skillbelt.testing import ScriptedChatModel, ScriptedLLM

FRAMEWORKS = ["langchain", "llama-index"]
CLERK = "You are a clerk."
KEY = "publish-key"


class Hub(NamedTuple):
    """A registry with four packages, one of them only known by its id."""

    url: Url
    iban: str
    folder: Path


def write_skill(root: Path, name: str, description: str, body: str, **files: str) -> Path:
    head = f"---\nname: {name}\ndescription: {description}\n---\n{body}\n"
    for path, text in {"SKILL.md": head, **files}.items():
        (root / name / path).parent.mkdir(parents=True, exist_ok=True)
        (root / name / path).write_text(text)
    return root / name


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """A registry on loopback: ``acme/pdf`` twice, ``acme/csv`` with files, and a package to be asked for by its id."""
    folder = tmp_path_factory.mktemp("hub")
    with running_registry(folder / "packages", publish_key=KEY) as url:
        client = RegistryClient(url, api_key=KEY, allow_private=True)

        def publish(version: str, name: str, description: str, body: str, **files: str) -> str:
            packed = pack(write_skill(folder / version, name, description, body, **files))
            client.publish(packed.document, namespace="acme", version=version)
            return str(packed.id)

        publish("v1.0.0", "pdf", "Fills PDF forms.", "# Old PDF")
        publish("v1.2.0", "pdf", "Fills PDF forms & merges pages.", "# PDF 1.2\n\n1. Fill it.")
        files = {"references/rules.md": "Commas only.\n" * 100, "scripts/run.py": "raise SystemExit(1)\n"}
        publish("v2.0.0", "csv", "Checks CSV tables.", "# CSV\n\nRead references/rules.md.", **files)
        iban = publish("v0.1.0", "iban", "Checks IBAN numbers.", "# IBAN\n\n1. Modulo 97.")
        yield Hub(url, iban, folder)


def text_of(hub: Hub, *more: str) -> str:
    """A file with one agent that has skills by all schemes; ``more`` are further lines of the agent."""
    return f"""\
registries:
  hub: {{url: '{hub.url}', allow_private: true}}
agents:
  clerk:
    system_prompt: {CLERK}
    skills:
      - local:./skills/mail
      - registry:acme/pdf@v1.x
      - hub:acme/csv
      - ID:{hub.iban}
""" + "".join(f"    {line}\n" for line in more)


@pytest.fixture
def clerk(hub: Hub, tmp_path: Path) -> AgentConfig:
    """That agent, with its file and its folder of skills on disk."""
    write_skill(tmp_path / "skills", "mail", "Sorts mail by sender.", "# Mail\n\n1. Open the inbox.")
    (tmp_path / "agents.yaml").write_text(text_of(hub))
    return load_agents(tmp_path / "agents.yaml")["clerk"]


def beside(clerk: AgentConfig, text: str) -> AgentConfig:
    """The agent of another file in the same folder."""
    return parse_agents(text, path=clerk.folder / "agents.yaml")["clerk"]


def agents_of(registries: str, *references: str) -> AgentConfig:
    """An agent with some references, in a file with some registries."""
    skills = "".join(f"      - {reference}\n" for reference in references)
    return parse_agents(f"registries: {registries}\nagents:\n  clerk:\n    skills:\n{skills}")["clerk"]


# --- both frameworks --------------------------------------------------------------------------------------------------


class Sent(NamedTuple):
    """One request a model received, without the words of its framework."""

    system: str | None
    tools: dict[str, Any]
    results: list[str]
    raw: Any


class Run(NamedTuple):
    answer: str
    requests: list[Sent]
    agent: Any


def scripted(framework: str, steps: list[Any]) -> Any:
    return ScriptedChatModel(steps) if framework == "langchain" else ScriptedLLM(steps)


def build(framework: str, config: AgentConfig, **options: Any) -> Any:
    return config.to_langchain(**options) if framework == "langchain" else config.to_llama_index(**options)


def ask(framework: str, agent: Any, question: str = "Please help.", **options: Any) -> str:
    if framework == "langchain":
        return str(agent.invoke({"messages": [HumanMessage(question, id="q")]}, **options)["messages"][-1].text)

    async def run() -> str:
        return str(await agent.run(question, **options))

    return asyncio.run(run())


def run(framework: str, config: AgentConfig, steps: list[Any], **options: Any) -> Run:
    """Build an agent with a model that says what was written down, and ask it."""
    return run_plain(framework, steps, lambda model: build(framework, config, model=model, **options))


def run_plain(framework: str, steps: list[Any], make: Any) -> Run:
    """The same with an agent that was made in any way."""
    model = scripted(framework, steps)
    agent = make(model)
    answer = ask(framework, agent)
    return Run(answer, [sent(framework, request) for request in model.requests], agent)


def sent(framework: str, request: Any) -> Sent:
    if framework == "langchain":
        system = [m.text for m in request.messages if isinstance(m, SystemMessage)]
        results = [m.text for m in request.messages if isinstance(m, ToolMessage)]
        raw: Any = [m.model_dump(exclude={"id"}) for m in request.messages]
    else:
        system = [m.content for m in request.messages if m.role.value == "system"]
        results = [m.content for m in request.messages if m.role.value == "tool"]
        raw = [m.model_dump() for m in request.messages]
    tools = {tool["function"]["name"]: tool["function"] for tool in request.tools}
    return Sent(system[0] if system else None, tools, results, (raw, request.tools))


def told(error: Any) -> str:
    """A message without the folder of the file."""
    return "\n".join(line[line.find("agents.yaml") :] for line in str(error.value).splitlines())
