"""Keywords for one skill folder: the stateful loader, and its tools in both frameworks.

Nothing here runs a script of the skill; the suite does that by hand, as a user would.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, ToolMessage
from llama_index.core.agent.workflow import FunctionAgent
from robot.api.deco import keyword, library

import skillbelt.langchain
import skillbelt.llama_index
from skillbelt import LENIENT, STRICT, SkillRouter, examples, tool_per_skill
from skillbelt.agent_skills import AgentSkillLoader, AgentSkillToolDescriptor
from skillbelt.langchain.tools import structured_tool
from skillbelt.testing import ScriptedChatModel, ScriptedLLM

PROFILES = {"STRICT": STRICT, "LENIENT": LENIENT}
IDENTITY = ("-c", "user.name=Robot", "-c", "user.email=robot@example.com", "-c", "commit.gpgsign=false")


class _Staging(BaseHTTPRequestHandler):
    """A service that was just deployed: healthy, and able to say which version it is."""

    answers = {  # noqa: RUF012
        "/healthz": (200, b"ok"),
        "/version": (200, b'{"version": "1.4.0"}'),
        "/": (200, b"<html>Shop</html>"),
        "/api/me": (401, b"who are you?"),
    }

    def do_GET(self) -> None:
        """Answer as the table says, 503 for every other path."""
        status, body = self.answers.get(self.path, (503, b"starting"))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing: the output belongs to the suite."""


@library(scope="SUITE", doc_format="ROBOT", auto_keywords=False)
class AgentSkillLibrary:
    """The life of one skill folder."""

    def __init__(self) -> None:
        self._server: ThreadingHTTPServer | None = None

    # --- the loader ---------------------------------------------------------------------------------------------------

    @keyword
    def shipped_skill(self, name: str) -> str:
        """Return the folder of an example skill."""
        return str(examples.path() / name)

    @keyword
    def load_skill_folder(self, folder: str, profile: str) -> AgentSkillLoader:
        """Discover the skill in a folder."""
        return AgentSkillLoader.from_folder(folder, profile=PROFILES[profile])

    @keyword
    def discover(self, loader: AgentSkillLoader) -> AgentSkillToolDescriptor:
        """Return the descriptor without the body."""
        return loader.discover()

    @keyword
    def activate(self, loader: AgentSkillLoader) -> AgentSkillToolDescriptor:
        """Return the descriptor with the body."""
        return loader.activate()

    @keyword
    def deactivate(self, loader: AgentSkillLoader) -> None:
        """Let go of the body."""
        loader.deactivate()

    @keyword
    def tool_descriptor(self, loader: AgentSkillLoader) -> AgentSkillToolDescriptor:
        """Return the descriptor as of now."""
        return loader.to_tool_descriptor()

    @keyword
    def bundled_files(self, loader: AgentSkillLoader) -> list[str]:
        """Return the paths of all bundled files."""
        return [info.path for info in loader.list_resources()]

    @keyword
    def read_bundled_file(self, loader: AgentSkillLoader, path: str) -> str:
        """Return the text of a bundled file."""
        return loader.read(path).text()

    # --- the frameworks -----------------------------------------------------------------------------------------------

    @keyword
    def tool_texts_in_langchain(self, folder: str, calls: list[tuple[str, dict[str, Any]]]) -> list[str]:
        """Make the calls in a LangChain agent over the skill and return what the model was sent for each."""
        router = SkillRouter.from_directory(folder)
        model = ScriptedChatModel(steps=[*([(name, arguments)] for name, arguments in calls), "Done."])
        agent = create_agent(model, tools=skillbelt.langchain.skill_tools(router), system_prompt=router.prompt())
        agent.invoke({"messages": [HumanMessage("Deploy the shop to staging.")]})
        return [m.content for m in model.requests[-1].messages if isinstance(m, ToolMessage)]

    @keyword
    def tool_texts_in_llama_index(self, folder: str, calls: list[tuple[str, dict[str, Any]]]) -> list[str]:
        """Make the calls in a LlamaIndex agent over the skill and return what the model was sent for each."""
        router = SkillRouter.from_directory(folder)
        llm = ScriptedLLM(steps=[*([(name, arguments)] for name, arguments in calls), "Done."])
        agent = FunctionAgent(tools=skillbelt.llama_index.skill_tools(router), system_prompt=router.prompt(), llm=llm)

        async def run() -> None:
            await agent.run("Deploy the shop to staging.")

        asyncio.run(run())
        return [str(m.content) for m in llm.requests[-1].messages if m.role.value == "tool"]

    @keyword
    def tool_of_the_skill(self, folder: str, framework: str) -> tuple[str, str, str]:
        """Return name, description and answer of the skill as a tool of its own."""
        (spec,) = tool_per_skill(SkillRouter.from_directory(folder))
        if framework == "langchain":
            tool = structured_tool(spec)
            message = tool.invoke({"type": "tool_call", "id": "1", "name": tool.name, "args": {}})
            return tool.name, tool.description, message.content
        function = skillbelt.llama_index.SkillFunctionTool(spec)
        return function.metadata.name, function.metadata.description, function.call().content

    # --- what the skill is about --------------------------------------------------------------------------------------

    @keyword
    def installed_python(self) -> str:
        """Return the interpreter of this environment."""
        return sys.executable

    @keyword
    def create_service(self, folder: str, version: str) -> str:
        """Make a small service in a git repository of its own, committed and pushed to a remote beside it."""
        service, remote = Path(folder, "service"), Path(folder, "remote.git")
        service.mkdir(parents=True)
        (service / "pyproject.toml").write_text(f'[project]\nname = "shop"\nversion = "{version}"\n')
        (service / "CHANGELOG.md").write_text(
            f"# Changelog\n\n## {version} - 2025-01-31\n\n- Carts keep their items.\n"
        )
        for arguments in (
            ["init", "--quiet", "--bare", str(remote)],
            ["init", "--quiet", "--initial-branch=main"],
            ["add", "."],
            [*IDENTITY, "commit", "--quiet", "--message", f"Release {version}"],
            ["remote", "add", "origin", str(remote)],
            ["push", "--quiet", "--set-upstream", "origin", "main"],
        ):
            subprocess.run(["git", *arguments], cwd=service, check=True)
        return str(service)

    @keyword
    def start_staging(self) -> str:
        """Start a service on the loopback interface and return its URL."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Staging)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_port}"

    @keyword
    def stop_staging(self) -> None:
        """Stop the service."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
